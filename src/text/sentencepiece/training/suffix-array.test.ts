import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { suffixArray } from "./suffix-array.ts";

describe("a suffix array", () => {
  it("orders suffixes by their first symbols", () => {
    const symbols = fc.array(fc.nat(3), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(symbols, fc.integer({ min: 1, max: 9 }), (list, depth) => {
        const order = suffixArray(Int32Array.from(list), depth);
        expect([...order].sort((a, b) => a - b)).toEqual(list.map((_, i) => i));
        const heads = [...order].map((start) => list.slice(start, start + depth).join());
        expect(heads).toEqual([...heads].sort());
      }),
    );
  });
});
