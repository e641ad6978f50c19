import { describe, expect, it } from "vitest";
import { spreadDepths } from "./depth-bench.ts";

describe("spread depths", () => {
  it.each([1, 2, 3.8, 5.5, 6])("have the mean %d, and lie between 1 and the cap", (mean) => {
    const depths = spreadDepths(2048, 6, mean);
    expect(depths.reduce((a, b) => a + b) / 2048).toBeCloseTo(mean, 1);
    expect([Math.min(...depths) >= 1, Math.max(...depths) <= 6]).toEqual([true, true]);
    if (mean === 3.8) expect(new Set(depths).size).toBe(6);
  });
});
