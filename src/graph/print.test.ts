import { expect, it } from "vitest";
import * as g from "./build.ts";
import { print } from "./print.ts";
import type { Tensor } from "./vocabulary.ts";

const x = g.input("x", [2, 3]);
const w = g.parameter("w", [4, 3]);

it("a graph prints one line a node, inputs first, and names its outputs", () => {
  const y = g.matmul(x, w, { transposeB: true, scale: 0.5 });
  expect(print({ y, same: y, x })).toBe(
    [
      "%0 = input x [2,3]",
      "%1 = parameter w [4,3]",
      "%2 = matmul %0 %1 {transposeB: true, scale: 0.5} [2,4]",
      "return y: %2, same: %2, x: %0",
    ].join("\n"),
  );
});

it("a list of outputs and a single one are numbered", () => {
  expect(print([x, w])).toMatch(/return 0: %0, 1: %1$/);
  expect(print(x)).toBe("%0 = input x [2,3]\nreturn 0: %0");
});

it("types other than float, axes, named sizes and data are shown", () => {
  const ids = g.argMax(g.sum(g.input("y", ["B", 2, 3]), { axes: [1] }));
  expect(print(g.equal(ids, 1))).toBe(
    [
      "%0 = input y [B,2,3]",
      "%1 = sum %0 {axes: [1]} [B,3]",
      "%2 = argMax %1 int [B]",
      "%3 = constant {data: [1]} int []",
      "%4 = equal %2 %3 bool [B]",
      "return 0: %4",
    ].join("\n"),
  );
});

it("long data is cut, with its length", () => {
  const numbers = g.constant(
    Float32Array.from({ length: 20 }, (_, i) => i),
    [20],
  );
  expect(print(numbers)).toContain("{data: 0 1 2 3 4 5 6 7 … (20)} [20]");
});

it("a graph deeper than the call stack prints", () => {
  let y: Tensor = x;
  for (let i = 0; i < 20_000; i++) y = g.negate(y);
  expect(print(y).split("\n")).toHaveLength(20_002);
});
