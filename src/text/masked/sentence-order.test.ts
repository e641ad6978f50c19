import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import type { Document } from "./documents.ts";
import { documentPairs, type PairOptions, truncatePair } from "./sentence-order.ts";

const options: PairOptions = { length: 20, shortProbability: 0.1, randomNext: false };
/** A document of `sentences` sentences of `size` tokens; all ids differ, and tell the document. */
const document = (index: number, sentences: number, size: number): Document =>
  Array.from({ length: sentences }, (_, s) =>
    Int32Array.from({ length: size }, (_, i) => index * 10_000 + s * size + i),
  );
const random = (seed = 1) => new RandomStream(seed, "pairs");
/** Fails unless a share is within 5 standard errors of what it should be: one failure in two million runs of a right program. */
function expectShare(hits: number, tries: number, share: number): void {
  expect(Math.abs(hits / tries - share)).toBeLessThan(5 * Math.sqrt((share * (1 - share)) / tries));
}

describe("sentence pairs", () => {
  it("keep every token of a document, in order, when nothing has to be cut", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 40 }), fc.nat(), (sentences, seed) => {
        const documents = [document(0, sentences * 2, 1), document(1, 3, 1)];
        const pairs = documentPairs(documents, 0, random(seed), { ...options, shortProbability: 0 });
        const inOrder = pairs.map(({ a, b, swapped }) => (swapped && b[0]! < 10_000 ? [...b, ...a] : [...a, ...b]));
        expect(inOrder.flat().filter((id) => id < 10_000)).toEqual(documents[0]!.flatMap((ids) => [...ids]));
      }),
    );
  });

  it("fit the length and have two sides, whatever the document", () => {
    const shape = fc.record({
      sentences: fc.integer({ min: 1, max: 12 }),
      size: fc.integer({ min: 1, max: 40 }),
      seed: fc.nat(),
    });
    fc.assert(
      fc.property(shape, fc.boolean(), ({ sentences, size, seed }, randomNext) => {
        const documents = [document(0, sentences, size), document(1, 2, 5)];
        for (const { a, b } of documentPairs(documents, 0, random(seed), { ...options, randomNext })) {
          expect(Math.min(a.length, b.length)).toBeGreaterThan(0);
          expect(a.length + b.length).toBeLessThanOrEqual(options.length - 3);
        }
      }),
    );
  });

  it("stay in order where that is asked for", () => {
    const pairs = Array.from({ length: 200 }, (_, i) =>
      documentPairs([document(0, 4, 4)], 0, random(i), { ...options, shortProbability: 0, ordered: true }),
    );
    for (const { a, b, swapped } of pairs.flat()) expect([swapped, a[0]! < b[0]!]).toEqual([0, true]);
  });

  it("are swapped half of the time", () => {
    const stream = random();
    let swapped = 0;
    for (let i = 0; i < 4000; i++) swapped += documentPairs([document(0, 4, 4)], 0, stream, options)[0]!.swapped;
    expectShare(swapped, 4000, 0.5);
  });

  it("aim shorter for a tenth of the passes", () => {
    const stream = random();
    let short = 0;
    // 17 sentences of one token fill a chunk exactly; a target of 2 … 16 (of 2 … 17) gives more than one.
    for (let i = 0; i < 4000; i++) if (documentPairs([document(0, 17, 1)], 0, stream, options).length > 1) short++;
    expectShare(short, 4000, 0.1 * (15 / 16));
  });

  it("of a single sentence take B from another document, labelled 1", () => {
    const documents = [document(0, 1, 5), document(1, 3, 2), document(2, 3, 2)];
    for (let seed = 0; seed < 50; seed++) {
      const [pair] = documentPairs(documents, 0, random(seed), options);
      expect(pair!.swapped).toBe(1);
      expect(pair!.b[0]).toBeGreaterThanOrEqual(10_000);
    }
  });

  it("with random next sentences put unused ones back", () => {
    const documents = [document(0, 12, 3), document(1, 9, 3)];
    for (let seed = 0; seed < 50; seed++) {
      const pairs = documentPairs(documents, 0, random(seed), { ...options, length: 100, randomNext: true });
      const own = new Set(pairs.flatMap(({ a, b }) => [...a, ...b]).filter((id) => id < 10_000));
      expect(own.size).toBe(36);
    }
  });

  it("lose tokens from the longer side, at both ends", () => {
    const pair = { a: Array.from({ length: 100 }, (_, i) => i), b: [200, 201], swapped: 0 as const };
    truncatePair(pair, 50, random());
    expect(pair.b).toEqual([200, 201]);
    expect(pair.a).toHaveLength(48);
    expect(pair.a).toEqual(Array.from({ length: 48 }, (_, i) => pair.a[0]! + i));
    expect(pair.a[0]).toBeGreaterThan(0);
    expect(pair.a.at(-1)).toBeLessThan(99);
  });
});
