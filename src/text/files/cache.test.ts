import { expect, it } from "vitest";
import { keyOf } from "./cache.ts";

it("The cache is keyed by facts, without confusing neighbours", () => {
  expect(keyOf("ab", "c")).not.toBe(keyOf("a", "bc"));
  expect(keyOf("ab", 1)).toBe(keyOf("ab", 1));
});
