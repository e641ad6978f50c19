import { expect, it } from "vitest";
import { firstTokens } from "./evaluate.ts";

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
