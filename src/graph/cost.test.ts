import { expect, it } from "vitest";
import * as g from "./build.ts";
import { cost, costOf } from "./cost.ts";

const x = g.input("x", [8, 16]);

it("a product costs two operations for each multiplication, transposed or not", () => {
  const w = g.parameter("w", [16, 32]);
  expect(costOf(g.matmul(x, w)).flops).toBe(2 * 8 * 16 * 32);
  expect(costOf(g.matmul(w, x, { transposeA: true, transposeB: true })).flops).toBe(2 * 8 * 16 * 32);
  expect(costOf(g.matmul(g.input("a", [3, 8, 16]), w)).flops).toBe(3 * 2 * 8 * 16 * 32);
});

it("bytes are what is read and what is written; views and leaves move none", () => {
  expect(costOf(g.add(x, x)).bytes).toBe(3 * 4 * 8 * 16);
  expect(costOf(g.greater(x, 0)).bytes).toBe(4 * 8 * 16 + 4 + 8 * 16);
  expect(costOf(g.reshape(x, [128]))).toEqual({ flops: 0, bytes: 0 });
  expect(costOf(x)).toEqual({ flops: 0, bytes: 0 });
});

it("a node that is used twice counts once", () => {
  const y = g.exp(x);
  expect(cost([g.add(y, y), y]).flops).toBe(2 * 8 * 16);
});

it("named dimensions take their size when the cost is asked", () => {
  const y = g.matmul(g.input("rows", ["B*T", 16]), g.parameter("w", [16, 4]));
  const sizes = new Map(Object.entries({ B: 2, T: 5 }));
  expect(cost([y], sizes).flops).toBe(2 * 10 * 16 * 4);
  expect(() => cost([y])).toThrow("dimension B has no size");
});

it("reductions count their input, and indexing is free", () => {
  expect(costOf(g.sum(x)).flops).toBe(8 * 16);
  expect(costOf(g.gather(x, g.input("ids", [5], "int"))).flops).toBe(0);
  expect(costOf(g.scatterAdd(g.input("ids", [8], "int"), x, 100)).flops).toBe(8 * 16);
});
