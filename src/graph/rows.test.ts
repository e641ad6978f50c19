import { expect, it } from "vitest";
import * as g from "./build.ts";
import { gradients } from "./gradients.ts";
import { print } from "./print.ts";
import { simplify } from "./rewrite/simplify.ts";
import { splitRows } from "./rows.ts";
import type { Tensor } from "./vocabulary.ts";

const table = g.parameter("table", [10, 4]);
const ids = g.input("ids", [2, 3], "int");
const gradientOf = (loss: Tensor) => simplify(gradients(loss, [table]))[0]!;

it("rows of a look-up leave the gradient, with their ids", () => {
  const { dense, rows } = splitRows(gradientOf(g.sum(g.gather(table, ids))));
  expect(dense).toBeUndefined();
  expect(rows.map((each) => [each.ids, each.rows.shape, each.sign])).toEqual([[ids, [2, 3, 4], 1]]);
});

it("a tied head leaves its dense part, and the rows of its loss come with a sign", () => {
  const x = g.reshape(g.gather(table, ids), [6, 4]);
  const logits = g.matmul(x, table, { transposeB: true });
  const loss = g.mean(g.crossEntropy(logits, g.input("targets", [6], "int")));
  const { dense, rows } = splitRows(gradientOf(loss));
  expect(dense!.shape).toEqual([10, 4]);
  expect(print(dense!)).not.toContain("scatterAdd");
  expect(rows.map(({ rows: { shape } }) => shape)).toEqual([
    [6, 4],
    [2, 3, 4],
  ]);
});

it("two look-ups give two lists of rows, a subtracted one with sign −1", () => {
  const loss = g.subtract(g.sum(g.gather(table, ids)), g.sum(g.gather(table, g.input("other", [5], "int"))));
  const shapes = splitRows(gradientOf(loss)).rows.map(({ rows }) => rows.shape.length);
  expect(shapes.sort()).toEqual([2, 3]);
  const [a, b] = [g.scatterAdd(ids, g.input("a", [2, 3, 4]), 10), g.scatterAdd(ids, g.input("b", [2, 3, 4]), 10)];
  expect(splitRows(g.subtract(g.negate(a), g.subtract(b, a))).rows.map(({ sign }) => sign)).toEqual([-1, -1, 1]);
});

it("a dense part that the rows had broadcast comes back in the table's shape", () => {
  const loss = g.add(g.sum(g.gather(table, ids)), g.multiply(g.sum(table), 0.5));
  const { dense, rows } = splitRows(gradientOf(loss));
  expect(rows).toHaveLength(1);
  expect(dense!.shape).toEqual([10, 4]);
});

it("a gradient without rows stays what it is", () => {
  const gradient = gradientOf(g.sum(g.square(table)));
  expect(splitRows(gradient)).toEqual({ dense: gradient, rows: [] });
});
