import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { choices, likeliest, type SamplingOptions, sample } from "./sampling.ts";

/** Logits of the probabilities 0.1, 0.4, 0.2, 0.3. */
const logits = Float32Array.from([0.1, 0.4, 0.2, 0.3], Math.log);

function kept(options: SamplingOptions): Record<number, number> {
  const { ids, probabilities } = choices(logits, options);
  return Object.fromEntries(Array.from(ids, (id, i) => [id, Number(probabilities[i]!.toFixed(6))]));
}

describe("choices", () => {
  it("are the softmax of the logits by default", () => {
    expect(kept({})).toEqual({ 0: 0.1, 1: 0.4, 2: 0.2, 3: 0.3 });
  });

  it("are sharpened by a low temperature", () => {
    // Squares of the probabilities, normalised by 0.3.
    expect(kept({ temperature: 0.5 })).toEqual({ 0: 0.033333, 1: 0.533333, 2: 0.133333, 3: 0.3 });
  });

  it("are the likeliest token alone at temperature 0", () => {
    expect(kept({ temperature: 0, topK: 3 })).toEqual({ 1: 1 });
  });

  it("are the k likeliest", () => {
    expect(kept({ topK: 2 })).toEqual({ 1: 0.571429, 3: 0.428571 });
    expect(kept({ topK: 9 })).toEqual(kept({}));
  });

  it("are the fewest that reach p, at least one", () => {
    expect(kept({ topP: 0.75 })).toEqual({ 1: 0.444444, 2: 0.222222, 3: 0.333333 });
    expect(kept({ topP: 0.6 })).toEqual({ 1: 0.571429, 3: 0.428571 });
    expect(kept({ topP: 1e-9 })).toEqual({ 1: 1 });
  });

  it("apply p to what k left", () => {
    // Of 0.571 and 0.429, the first alone reaches 0.5.
    expect(kept({ topK: 2, topP: 0.5 })).toEqual({ 1: 1 });
  });

  it("prefer lower ids among equals", () => {
    expect([...choices(Float32Array.of(1, 2, 1, 2, 1), { topK: 3 }).ids]).toEqual([0, 1, 3]);
    expect(likeliest([3, 5, 5])).toBe(1);
  });

  it("stand huge logits", () => {
    expect([...choices(Float32Array.of(1e30, -1e30, 1e30)).probabilities]).toEqual([0.5, 0, 0.5]);
  });

  it("name options and logits that make no sense", () => {
    expect(() => choices(logits, { temperature: -1 })).toThrow("temperature: expected a number from 0, got -1");
    expect(() => choices(logits, { topK: 0 })).toThrow("top-k: expected a whole number from 1, got 0");
    expect(() => choices(logits, { topP: 1.5 })).toThrow("top-p: expected a number above 0, at most 1, got 1.5");
    expect(() => choices(Float32Array.of(Number.NaN))).toThrow("sampling: expected finite logits, got NaN");
  });
});

describe("sample", () => {
  it("draws each token as often as it should", () => {
    const random = new RandomStream(7, "sampling");
    const counts = [0, 0, 0, 0];
    const draws = 20_000;
    for (let i = 0; i < draws; i++) counts[sample(logits, { topP: 0.75 }, random)]!++;
    [0, 4 / 9, 2 / 9, 3 / 9].forEach((share, id) => {
      // Five standard deviations: a right sampler fails once in a million seeds, and this seed is fixed.
      const allowed = 5 * Math.sqrt((share * (1 - share)) / draws);
      expect(Math.abs(counts[id]! / draws - share)).toBeLessThanOrEqual(allowed);
    });
  });

  it("repeats itself for a seed", () => {
    const draw = () => {
      const random = new RandomStream(3, "sampling");
      return Array.from({ length: 20 }, () => sample(logits, {}, random));
    };
    expect(draw()).toEqual(draw());
    expect(new Set(draw()).size).toBeGreaterThan(1);
  });
});
