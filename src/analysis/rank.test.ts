import { describe, expect, it } from "vitest";
import { kendall } from "./rank.ts";

describe("Kendall's τ", () => {
  it("is 1 for the same order, −1 for the reverse, and counts pairs between", () => {
    expect(kendall([1, 2, 3, 4], [10, 20, 30, 40])).toBe(1);
    expect(kendall([1, 2, 3, 4], [4, 3, 2, 1])).toBe(-1);
    // One of six pairs is the other way round: (5 − 1) / 6.
    expect(kendall([1, 2, 3, 4], [1, 2, 4, 3])).toBeCloseTo(4 / 6, 12);
  });

  it("leaves ties out, and is not a number without a pair", () => {
    // scipy.stats.kendalltau([1, 2, 2, 3], [1, 2, 3, 4]) = 0.9128709291752769
    expect(kendall([1, 2, 2, 3], [1, 2, 3, 4])).toBeCloseTo(0.9128709291752769, 12);
    expect(kendall([1], [2])).toBeNaN();
  });
});
