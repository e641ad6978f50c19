import { describe, expect, it } from "vitest";
import { type EncodedExample, epochBatches, evaluationBatches, framed, layOut } from "./glue-batches.ts";

const special = { pad: 0, cls: 2, sep: 3, mask: 4 };
const text = (length: number, from = 10) => Array.from({ length }, (_, i) => from + i);
const examples: EncodedExample[] = Array.from({ length: 103 }, (_, i) => {
  return { ...framed([text((i * 37) % 29)], special, 64), label: i };
});

describe("GLUE batches", () => {
  it("frame one text or two, and say where the second begins", () => {
    expect(framed([[7, 8]], special, 16)).toEqual({ ids: Int32Array.of(2, 7, 8, 3), second: 4 });
    expect(framed([[7, 8], [9]], special, 16)).toEqual({ ids: Int32Array.of(2, 7, 8, 3, 9, 3), second: 4 });
  });

  it("cut pairs from the longer text, from the second where both are equal", () => {
    const { ids } = framed([text(6, 10), text(4, 30)], special, 10);
    expect([...ids]).toEqual([2, 10, 11, 12, 13, 3, 30, 31, 32, 3]);
    expect(framed([text(90)], special, 12).ids).toHaveLength(12);
  });

  it("hold every example once an epoch but for what fills no batch, in an order of the seed and epoch", () => {
    const labels = (seed: number, epoch: number) =>
      epochBatches(examples, 8, seed, epoch)
        .flat()
        .map(({ label }) => label);
    expect(new Set(labels(1, 0)).size).toBe(96);
    expect(labels(1, 0)).toEqual(labels(1, 0));
    expect(labels(1, 0)).not.toEqual(labels(1, 1));
    expect(labels(1, 0)).not.toEqual(labels(2, 0));
  });

  it("hold texts of about one length", () => {
    const padding = (batches: readonly (readonly EncodedExample[])[]) =>
      batches.reduce((total, batch) => {
        const longest = Math.max(...batch.map(({ ids }) => ids.length));
        return total + batch.reduce((sum, { ids }) => sum + longest - ids.length, 0);
      }, 0);
    const plain = Array.from({ length: 12 }, (_, i) => examples.slice(8 * i, 8 * i + 8));
    expect(padding(epochBatches(examples, 8, 1, 0))).toBeLessThan(0.25 * padding(plain));
  });

  it("fill a batch from too few examples", () => {
    expect(epochBatches(examples.slice(0, 3), 8, 1, 0).map((batch) => batch.length)).toEqual([8]);
  });

  it("name each example once in evaluation", () => {
    const places = evaluationBatches(examples, 8);
    expect(places.flat().sort((a, b) => a - b)).toEqual(examples.map((_, i) => i));
    expect(places.at(-1)).toHaveLength(7);
  });

  it("are padded to the longest, rounded up, and no further than the model reaches", () => {
    const options = { rows: 3, length: 64, pad: 0, regression: false };
    const pair = { ...framed([[7], [8, 9]], special, 64), label: 1 };
    const { ids, mask, types, labels, length } = layOut([pair, pair], options);
    expect([length, ids.length, labels]).toEqual([8, 24, Int32Array.of(1, 1, 1)]);
    expect([...mask.subarray(0, 8)]).toEqual([1, 1, 1, 1, 1, 1, 0, 0]);
    expect([...types.subarray(0, 8)]).toEqual([0, 0, 0, 1, 1, 1, 0, 0]);
    expect(layOut([pair], { ...options, length: 6 }).length).toBe(6);
  });
});
