import { describe, expect, it } from "vitest";
import { checkRandom, nullTestOf, nullTestText } from "./null-test.ts";

const found = (perplexity: number) => ({ name: "found", pattern: "(sf)x2", perplexity });
const random = [50, 52, 54].map((perplexity) => ({ perplexity }));

describe("a null test", () => {
  it("asks for more than the deviation of random networks, 2 about 52", () => {
    expect(nullTestOf(found(49.9), random, 3)).toMatchObject({ isBetter: true, random: { mean: 52, deviation: 2 } });
    expect(nullTestOf(found(50), random, 3).isBetter).toBe(false);
  });

  it("answers in a sentence", () => {
    expect(nullTestText(nullTestOf(found(49), random, 3))).toBe(
      "null test: found, (sf)x2, is better than the mean random network by more than its deviation: perplexity 49.00 against 52.00 ± 2.00 of 3 networks within 3.00 ms",
    );
    expect(nullTestText(nullTestOf(found(51), random, 3))).toContain("is not better than the mean random network");
  });

  it("needs two random networks for a deviation", () => {
    for (const count of [1, 0, 2.5]) expect(() => checkRandom(count)).toThrow("random: expected at least 2 networks");
  });
});
