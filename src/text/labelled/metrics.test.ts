import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { figuresOf, type MetricName, metrics, ranks } from "./metrics.ts";

interface Case extends Partial<Record<MetricName, number | null>> {
  name: string;
  truth: number[];
  guess: number[];
}

const stored = JSON.parse(readFileSync(new URL("../../../fixtures/metrics.json", import.meta.url), "utf8")) as {
  classes: Case[];
  numbers: Case[];
};
const cases = [...stored.classes, ...stored.numbers];
const names = Object.keys(metrics) as MetricName[];
const rows = cases.flatMap((each) => names.map((metric) => ({ ...each, metric, expected: each[metric] })));

describe("metrics", () => {
  // A few roundings of doubles; an offset of 1e6 costs Pearson's sums six digits.
  it.each(rows.filter(({ expected }) => typeof expected === "number"))(
    "$metric is scikit-learn's or SciPy's: $name",
    ({ truth, guess, metric, name, expected }) => {
      expect(metrics[metric](truth, guess)).toBeCloseTo(expected!, name === "a large offset" ? 9 : 14);
    },
  );

  it("R² is what is left of the spread: 1 for perfect guesses, 0 for the mean, less for a wrong scale", () => {
    expect(
      [
        [1, 2, 3],
        [1, 2, 4],
        [2, 2, 2],
        [10, 20, 30],
      ].map((guess) => metrics.r2([1, 2, 3], guess)),
    ).toEqual([1, 0.5, 0, -566]);
    expect(metrics.r2([1, 1], [0, 1])).toBe(0);
  });

  it("share ranks among equal values", () => {
    expect([...ranks([3, 1, 3, 2, 3])]).toEqual([4, 1, 4, 2, 4]);
  });

  it("know nothing where a side is constant", () => {
    expect([metrics.pearson([1, 1], [0, 1]), metrics.spearman([0, 1], [2, 2])]).toEqual([0, 0]);
  });

  it("refuse guesses of another number", () => {
    expect(() => figuresOf(["accuracy"], [1, 0], [1])).toThrow("metrics: expected one guess an example, got 1 for 2");
  });
});
