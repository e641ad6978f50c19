import { expect, it } from "vitest";
import * as g from "./build.ts";
import { gradients } from "./gradients.ts";
import { print } from "./print.ts";
import { simplify } from "./rewrite/simplify.ts";
import { is, within } from "./tensor.ts";

const x = g.input("x", [2, 3]);

it("a tensor used twice gets the sum of both gradients", () => {
  const [d] = simplify(gradients(g.sum(g.add(g.multiply(x, 2), g.multiply(x, 3))), [x]));
  expect(print(d!)).toBe("%0 = constant {data: [5]} []\n%1 = broadcast %0 [2,3]\nreturn 0: %1");
});

it("what the loss does not depend on gets zeros of its shape", () => {
  const [d] = gradients(g.sum(x), [g.parameter("unused", [4, 5])]);
  expect(print(d!)).toBe("%0 = constant {data: [0]} []\n%1 = broadcast %0 [4,5]\nreturn 0: %1");
});

it("nothing flows through stopGradient, casts and comparisons", () => {
  const hard = g.cast(g.greater(x, 0), "float");
  const [d] = simplify(gradients(g.sum(g.multiply(g.stopGradient(x), hard)), [x]));
  expect(print(d!)).toContain("data: [0]");
});

it("a broadcast value gets the sum over the axes along which it was broadcast", () => {
  const [column, row] = [g.input("column", [2, 1]), g.input("row", [3])];
  const [dColumn, dRow] = gradients(g.sum(g.multiply(g.multiply(x, column), row)), [column, row]);
  expect([dColumn!.shape, dRow!.shape]).toEqual([[2, 1], [3]]);
});

it("the gradients of slices that tile a tensor become one concat, in any order of use", () => {
  const [a, b, c] = g.split(x, 1, [1, 1, 1]).map((piece, i) => g.exp(g.multiply(piece, i + 1)));
  const [d] = gradients(g.sum(g.multiply(g.multiply(c!, a!), b!)), [x]);
  expect(is(d!, "concat")).toBe(true);
  expect(d!.shape).toEqual([2, 3]);
});

it("slices that overlap or leave a gap are padded and added", () => {
  for (const end of [1, 3]) {
    const loss = g.add(g.sum(g.exp(g.slice(x, 1, 0, end))), g.sum(g.exp(g.slice(x, 1, 2, 3))));
    expect(is(gradients(loss, [x])[0]!, "add")).toBe(true);
  }
});

it("the parts of a concat of named sizes get slices of its gradient", () => {
  const parts = ["M", "T", 1].map((size) => g.input(`${size}`, [size]));
  const loss = g.sum(g.exp(g.concat(parts, 0)));
  expect(gradients(loss, parts).map(({ shape }) => shape)).toEqual([["M"], ["T"], [1]]);
});

it("the gradient of a slice of a named axis is padded by what is left of it", () => {
  const all = g.input("all", ["M+T", 4]);
  const [d] = gradients(g.sum(g.exp(g.slice(all, 0, 0, "M"))), [all]);
  expect(d!.shape).toEqual(["M+T", 4]);
});

it("a seed replaces the 1 that starts the pull-back", () => {
  const y = g.exp(x);
  const seed = g.input("seed", [2, 3]);
  expect(gradients(y, [y], seed)).toEqual([seed]);
});

it("nodes of a pull-back carry the scope of the node they belong to", () => {
  const y = within("blocks.2", () => g.tanh(x));
  const [d] = gradients(g.sum(y), [x]);
  expect(d!.scope).toBe("gradient of blocks.2");
});

it("gradients can be differentiated again", () => {
  const [first] = gradients(g.sum(g.multiply(g.multiply(x, x), x)), [x]);
  const [second] = simplify(gradients(g.sum(first!), [x]));
  expect(second!.shape).toEqual([2, 3]);
});
