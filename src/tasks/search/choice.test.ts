import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import { likeliestWithin } from "./choice.ts";

describe("the likeliest network within a budget", () => {
  const costs = [
    [4, 1, 0],
    [4, 1, 0],
  ];

  it("is the likeliest of all where it is cheap enough, and gives up where least is lost", () => {
    const shares = [
      [0.6, 0.3, 0.1],
      [0.9, 0.06, 0.04],
    ];
    expect(likeliestWithin(shares, costs, 8)).toEqual([0, 0]);
    expect(likeliestWithin(shares, costs, 5)).toEqual([1, 0]);
    expect(likeliestWithin(shares, costs, 4)).toEqual([2, 0]);
  });

  it("has nothing that was cut, and does not exist where all that is left costs too much", () => {
    const shares = [
      [1, 0, 0],
      [0.5, 0.5, 0],
    ];
    expect(likeliestWithin(shares, costs, 5)).toEqual([0, 1]);
    expect(likeliestWithin(shares, costs, 4.5)).toBeUndefined();
  });

  it("is the best of all that could be tried", () => {
    const random = new RandomStream(7, "networks");
    const drawn = () => Array.from({ length: 5 }, () => [0, 1, 2].map(() => random.uniform()));
    for (let trial = 0; trial < 20; trial++) {
      const [shares, prices] = [drawn(), drawn()];
      const all = Array.from({ length: 3 ** 5 }, (_, n) => shares.map((__, i) => Math.floor(n / 3 ** i) % 3));
      const costOf = (chosen: readonly number[]) => chosen.reduce((sum, k, i) => sum + prices[i]![k]!, 0);
      const shareOf = (chosen: readonly number[]) => chosen.reduce((product, k, i) => product * shares[i]![k]!, 1);
      const best = Math.max(0, ...all.filter((each) => costOf(each) <= 1.8).map(shareOf));
      const found = likeliestWithin(shares, prices, 1.8);
      expect(found ? shareOf(found) : 0).toBeCloseTo(best, 12);
    }
  });
});
