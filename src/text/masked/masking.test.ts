import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import { drawNgram, type MaskingOptions, maskWords, predictionBudget, wordsOf } from "./masking.ts";

const options: MaskingOptions = {
  maxPredictions: 20,
  probability: 0.15,
  maxNgram: 3,
  favourShorter: true,
  wholeWord: true,
};
const SIZE = 1000;
const MASK = 4;
/** Even ids begin words. */
const vocabulary = { size: SIZE, mask: MASK, starts: Uint8Array.from({ length: SIZE }, (_, id) => 1 - (id % 2)) };
const framed = (ids: number[]) => ({
  ids: Int32Array.from([2, ...ids, 3]),
  special: Uint8Array.from([1, ...ids.map(() => 0), 1]),
});
function expectShare(hits: number, tries: number, share: number): void {
  // 5 standard errors of a counted share
  expect(Math.abs(hits / tries - share)).toBeLessThan(5 * Math.sqrt((share * (1 - share)) / tries));
}
const sentence = fc.array(fc.integer({ min: 5, max: SIZE - 1 }), { minLength: 3, maxLength: 200 });

describe("masking", () => {
  it("has a budget of 15 %, at least 1 and at most 20, halves rounded to even", () => {
    expect([1, 10, 20, 30, 128, 512].map((length) => predictionBudget(length, options))).toEqual([1, 2, 3, 4, 19, 20]);
  });

  it("keeps to the budget, never touches frames, and remembers what stood there", () => {
    fc.assert(
      fc.property(sentence, fc.nat(), (tokens, seed) => {
        const { ids, special } = framed(tokens);
        const masked = maskWords(ids, special, vocabulary, new RandomStream(seed, "mask"), options);
        expect(masked.positions.length).toBeLessThanOrEqual(predictionBudget(ids.length, options));
        expect(masked.positions).toEqual([...new Set(masked.positions)].sort((a, b) => a - b));
        expect(masked.labels).toEqual(masked.positions.map((at) => ids[at]));
        for (const [i, id] of ids.entries()) if (!masked.positions.includes(i)) expect(masked.ids[i]).toBe(id);
        expect(masked.positions.some((at) => special[at])).toBe(false);
      }),
    );
  });

  it("covers whole words only", () => {
    fc.assert(
      fc.property(sentence, fc.nat(), (tokens, seed) => {
        const { ids, special } = framed(tokens);
        const { positions } = maskWords(ids, special, vocabulary, new RandomStream(seed, "mask"), options);
        for (const word of wordsOf(ids, special, vocabulary.starts)) {
          expect([0, word.length]).toContain(word.filter((at) => positions.includes(at)).length);
        }
      }),
    );
  });

  it("uses the whole budget when words are single pieces", () => {
    const { ids, special } = framed(Array.from({ length: 98 }, (_, i) => 6 + 2 * i));
    for (let seed = 0; seed < 100; seed++) {
      expect(maskWords(ids, special, vocabulary, new RandomStream(seed, "mask"), options).positions).toHaveLength(15);
    }
  });

  it("starts words at marked pieces and after a frame", () => {
    const ids = [2, 7, 8, 9, 11, 3, 13, 10];
    expect(wordsOf(ids, [1, 0, 0, 0, 0, 1, 0, 0], vocabulary.starts)).toEqual([[1], [2, 3, 4], [6], [7]]);
    expect(wordsOf([8, 9], [0, 0], vocabulary.starts, false)).toEqual([[0], [1]]);
  });

  it("draws runs of n words with P(n) ∝ 1/n, over those that remain", () => {
    const random = new RandomStream(3, "ngram");
    const counts = (left: number, how = options) => {
      const drawn = Array.from({ length: 11_000 }, () => drawNgram(left, random, how));
      return [1, 2, 3].map((n) => drawn.filter((value) => value === n).length);
    };
    for (const [i, hits] of counts(9).entries()) expectShare(hits, 11_000, [6, 3, 2][i]! / 11);
    const reversed = counts(9, { ...options, favourShorter: false });
    for (const [i, hits] of reversed.entries()) expectShare(hits, 11_000, [2, 3, 6][i]! / 11);
    expectShare(counts(2)[0]!, 11_000, 2 / 3);
    expect(counts(1)).toEqual([11_000, 0, 0]);
  });

  it("replaces 80 % by the mask, keeps 10 %, and draws 10 % from the whole vocabulary", () => {
    const { ids, special } = framed(Array.from({ length: 126 }, (_, i) => 6 + 2 * i));
    const tally = { mask: 0, same: 0, other: 0 };
    for (let seed = 0; seed < 600; seed++) {
      const { ids: out, positions } = maskWords(ids, special, vocabulary, new RandomStream(seed, "mask"), options);
      for (const at of positions) tally[out[at] === MASK ? "mask" : out[at] === ids[at] ? "same" : "other"]++;
    }
    const all = tally.mask + tally.same + tally.other;
    expect(all).toBe(600 * 19);
    expectShare(tally.mask, all, 0.8 + 0.1 / SIZE);
    expectShare(tally.same, all, 0.1 + 0.1 / SIZE);
    expectShare(tally.other, all, 0.1 - 0.2 / SIZE);
  });
});
