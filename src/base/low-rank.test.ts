import { describe, expect, it } from "vitest";
import { lowRank } from "./low-rank.ts";
import { RandomStream } from "./random.ts";

const product = (left: ArrayLike<number>, right: ArrayLike<number>, rows: number, rank: number, columns: number) =>
  Array.from({ length: rows * columns }, (_, at) => {
    const [i, j] = [Math.floor(at / columns), at % columns];
    return Array.from({ length: rank }, (_, k) => left[i * rank + k]! * right[k * columns + j]!).reduce(
      (a, b) => a + b,
      0,
    );
  });
const distance = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Math.sqrt(Array.from(a, (value, i) => (value - b[i]!) ** 2).reduce((x, y) => x + y));

/** U·diag(values)·Vᵀ, with reflections as U [5, 5] and V [7, 7]. */
function known(values: readonly number[]): number[] {
  const reflection = (n: number, seed: number) => {
    const v = Array.from({ length: n }, (_, i) => Math.sin(seed + 2.3 * i));
    const square = v.reduce((total, each) => total + each * each, 0);
    return Array.from({ length: n * n }, (_, at) => {
      const [i, j] = [Math.floor(at / n), at % n];
      return (i === j ? 1 : 0) - (2 * v[i]! * v[j]!) / square;
    });
  };
  const [u, v] = [reflection(5, 1), reflection(7, 2)];
  const scaled = Array.from(
    { length: 35 },
    (_, at) => v[(at % 7) * 7 + Math.floor(at / 7)]! * values[Math.floor(at / 7)]!,
  );
  return product(u, scaled, 5, 5, 7);
}

describe("the nearest matrix of low rank", () => {
  it.each([1, 2, 3, 5])("misses what singular values are left out, at rank %d", (rank) => {
    const values = [4, 3, 1, 0.5, 0.25];
    const { left, right } = lowRank(known(values), 5, 7, rank);
    const missed = Math.sqrt(values.slice(rank).reduce((total, value) => total + value ** 2, 0));
    expect(distance(product(left, right, 5, rank, 7), known(values))).toBeCloseTo(missed, 9);
  });

  it("is exact for a matrix of that rank, and 0 for nothing", () => {
    const random = new RandomStream(3, "test");
    const [a, b] = [12, 18].map((count) => Array.from({ length: count }, () => random.normal())) as [
      number[],
      number[],
    ];
    const matrix = product(a, b, 6, 2, 9);
    const { left, right } = lowRank(matrix, 6, 9, 4);
    expect(distance(product(left, right, 6, 4, 9), matrix)).toBeLessThan(1e-12);
    expect(lowRank(new Float64Array(6), 2, 3, 2).left).toEqual(new Float64Array(4));
  });
});
