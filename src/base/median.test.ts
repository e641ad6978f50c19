import { expect, it } from "vitest";
import { median } from "./median.ts";

it("takes the middle by size and leaves the values as they are", () => {
  const values = [10, 9, 100];
  expect(median(values)).toBe(10);
  expect(values).toEqual([10, 9, 100]);
  expect(median([1, 2, 3, 4])).toBe(3);
  expect(median([])).toBeNaN();
});
