import { expect, it } from "vitest";
import { evaluationBatches } from "./evaluate.ts";

const rowsOf = (count: number, rows: number, length: number, asked: number | null) =>
  evaluationBatches({ count, rows, length, tokens: rows * length, at: () => ({}) }, asked).rows;

it.each([
  ["far too large are cut to a thousand tokens", 30, 64, 128, 8],
  ["far too small are joined", 64, 2, 64, 16],
  ["near the best stay as they are", 31, 16, 128, 16],
  ["of long texts have one row", 10, 16, 2048, 1],
  ["of a number that hardly divides stay near what they were", 7, 13, 32, 13],
])("batches of an evaluation that are %s", (_, count, rows, length, expected) => {
  expect(rowsOf(count, rows, length, null)).toBe(expected);
});

it.each([
  [0, 64],
  [64, 64],
  [5, 5],
  [7, 8],
])("asked for %i rows, an evaluation has %i", (asked, expected) => {
  expect(rowsOf(30, 64, 128, asked)).toBe(expected);
});
