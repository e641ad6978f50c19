import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type IdPair, packBatches, packRows, predictedPieces } from "./packing.ts";

const specials = { padId: 0, bosId: 1, eosId: 2 };
const pair = (source: number[], target: number[]): IdPair => ({
  source: Int32Array.from(source),
  target: Int32Array.from(target),
});

describe("packing", () => {
  it("lays sentences out one after another, each with its own positions", () => {
    const [batch] = packBatches([pair([5, 6, 2], [7])], specials, { rows: 1, length: 4, seed: 1 });
    expect(Object.fromEntries(Object.entries(batch!).map(([name, ids]) => [name, [...ids]]))).toEqual({
      source: [5, 6, 2, 0],
      sourcePositions: [0, 1, 2, 0],
      sourceSegments: [1, 1, 1, 0],
      target: [1, 7, 0, 0],
      targetPositions: [0, 1, 0, 0],
      targetSegments: [1, 1, 0, 0],
      labels: [7, 2, 0, 0],
    });
  });

  it("fills a row while both sides have room", () => {
    const rows = packRows([pair([3, 2], [4]), pair([5, 2], [6]), pair([7, 2], [8])], 4);
    expect(rows.map((row) => row.length)).toEqual([2, 1]);
  });

  it("keeps every sentence that fits, once, and says how many do not", () => {
    const sentence = fc.array(fc.integer({ min: 3, max: 9 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(fc.tuple(sentence, sentence), { minLength: 1 }), (sentences) => {
        const pairs = [...sentences.map(([a, b]) => pair([...a, 2], b)), pair([3, 2], [3])];
        const warnings: string[] = [];
        const batches = packBatches(pairs, specials, {
          rows: 3,
          length: 10,
          seed: 4,
          warn: (text) => warnings.push(text),
        });
        const fitting = pairs.filter(({ source, target }) => source.length <= 10 && target.length < 10);
        expect(predictedPieces(batches)).toBe(fitting.reduce((sum, { target }) => sum + target.length + 1, 0));
        const ends = batches.flatMap(({ labels }) => [...labels]).filter((id) => id === 2).length;
        expect(ends).toBe(fitting.length);
        expect(warnings).toHaveLength(fitting.length < pairs.length ? 1 : 0);
      }),
    );
  });

  it("refuses when nothing fits", () => {
    expect(() => packBatches([pair([3, 4, 5, 2], [3])], specials, { rows: 1, length: 3, seed: 1 })).toThrow(
      "batches: expected a pair of at most 3 pieces, got none; raise length",
    );
  });
});
