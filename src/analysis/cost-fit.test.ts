import { describe, expect, it } from "vitest";
import { fitNonNegative } from "./cost-fit.ts";

const grid = [1, 4, 16, 64].flatMap((n) => [2, 8, 32].map((m) => [1, m, n, n * m]));
const times = (coefficients: readonly number[]) =>
  grid.map((terms) => ({ terms, value: terms.reduce((sum, term, k) => sum + term * coefficients[k]!, 0) }));

describe("the fit of costs", () => {
  it.each([[[3, 0.5, 0.25, 0.01]], [[1, 0, 0, 2]], [[0, 0, 5, 0]]])(
    "finds coefficients %j from values without noise",
    (coefficients) => {
      const { coefficients: found, error } = fitNonNegative(times(coefficients));
      coefficients.forEach((value, k) => {
        expect(found[k]).toBeCloseTo(value, 8);
      });
      expect(error).toBeLessThan(1e-8); // rounding of the normal equations
    },
  );

  it("never goes below zero, even where that would fit better", () => {
    const { coefficients, error } = fitNonNegative(times([2, -0.02, 1, 1]));
    expect(coefficients.every((value) => value >= 0)).toBe(true);
    expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan(0.5);
  });
});
