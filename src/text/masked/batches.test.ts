import { describe, expect, it } from "vitest";
import { drawnBatches, storedBatches } from "./batches.ts";
import type { Document } from "./documents.ts";
import { PRETRAINING_DEFAULTS, PretrainingStream } from "./examples.ts";
import { numberedPieces } from "./pieces.contract.ts";

const tokenizer = numberedPieces(40);
const documents: Document[] = Array.from({ length: 4 }, (_, d) =>
  Array.from({ length: 12 }, (_, s) => Int32Array.from({ length: 6 }, (_, i) => 5 + ((d * 7 + s * 3 + i) % 30))),
);
const options = { ...PRETRAINING_DEFAULTS, length: 24, maxPredictions: 4, rows: 4 };

describe("drawn batches", () => {
  it("are the same at a place, however one comes there", () => {
    const there = drawnBatches(documents, tokenizer, options);
    const walked = Array.from({ length: 40 }, (_, i) => there.at(i));
    const jumped = drawnBatches(documents, tokenizer, options);
    for (const place of [39, 3, 17, 18, 0]) expect(jumped.at(place)).toEqual(walked[place]);
  });

  it("are new in every pass, or come again after as many passes as asked", () => {
    const count = (distinctPasses?: number) => {
      const batches = drawnBatches(documents, tokenizer, { ...options, shortProbability: 0, distinctPasses });
      const masks = Array.from({ length: 60 }, (_, i) => batches.at(i).inputIds.join());
      return new Set(masks).size;
    };
    expect(count()).toBe(60);
    expect(count(1)).toBeLessThan(60);
  });

  it("count tokens without padding", () => {
    const { tokens, at } = drawnBatches(documents, tokenizer, options);
    expect(tokens).toBeGreaterThan(0.5 * 4 * 24);
    expect(tokens).toBeLessThan(4 * 24 + 1);
    expect(at(0).inputIds).toHaveLength(4 * 24);
  });
});

describe("stored batches", () => {
  const example = (length: number) => new PretrainingStream(documents, tokenizer, { length }).next();

  it("repeat after the last", () => {
    const batches = storedBatches(
      Array.from({ length: 7 }, () => example(16)),
      2,
      "file",
    );
    expect(batches.count).toBe(3);
    expect(batches.at(4)).toEqual(batches.at(1));
  });

  it("must be of one length, and enough for a batch", () => {
    expect(() => storedBatches([example(16), example(20)], 2, "file")).toThrow(/examples of 16 tokens, got one of 20/);
    expect(() => storedBatches([example(16)], 2, "file")).toThrow(/at least 2 examples/);
  });
});
