import { expect, it } from "vitest";
import { firstTokens, regrouped } from "./evaluate.ts";

const batches = { count: 10, rows: 4, length: 8, at: (index: number) => ({ x: [index] }) };

it.each([
  [0, 10],
  [320, 10],
  [319, 9],
  [100, 3],
  [1, 1],
])("an evaluation on at most %i tokens has %i batches", (most, count) => {
  const first = firstTokens(batches, most);
  expect([first.count, first.at(0).x]).toEqual([count, [0]]);
});

it.each([1, 2, 3, 4, 5, 10, 20, 60])("batches of %i rows hold the rows of others, in their order", (rows) => {
  const [count, before, length] = [15, 4, 3];
  const numbers = (index: number, each: number) =>
    Array.from({ length: before * each }, (_, i) => index * before * each + i);
  const at = (index: number) => ({ ids: numbers(index, length), order: Float32Array.from(numbers(index, 1)) });
  const others = regrouped({ count, rows: before, length, tokens: before * length, at }, rows);
  expect([others.count, others.rows, others.tokens]).toEqual([60 / rows, rows, rows * length]);
  const all = Array.from({ length: others.count }, (_, i) => others.at(i));
  expect(all.flatMap(({ ids }) => Array.from(ids!))).toEqual(Array.from({ length: 180 }, (_, i) => i));
  expect(all.flatMap(({ order }) => Array.from(order!))).toEqual(Array.from({ length: 60 }, (_, i) => i));
  expect(all[0]!.order).toBeInstanceOf(Float32Array);
});

it("batches of rows that do not divide all of them are refused", () => {
  expect(() => regrouped(batches, 7)).toThrow("batches / rows");
});
