import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addDims,
  broadcastShapes,
  type Dim,
  evaluateDim,
  evaluateShape,
  multiplyDims,
  namesIn,
  printShape,
  sizeOf,
  subtractDims,
} from "./dims.ts";

/** Polynomials over B, T and M with coefficients up to 4, built only by the operations under test. */
const { dims } = fc.letrec<{ dims: Dim }>((tie) => ({
  dims: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Dim>("B", "T", "M"),
    fc.nat(4),
    fc.tuple(tie("dims"), tie("dims")).map(([a, b]) => addDims(a, b)),
    fc.tuple(tie("dims"), tie("dims")).map(([a, b]) => multiplyDims(a, b)),
  ),
}));
const sizes = fc.tuple(fc.nat(5), fc.nat(5), fc.nat(5)).map(([B, T, M]) => new Map(Object.entries({ B, T, M })));

describe("dimensions", () => {
  it("are written in one way: names in order, the constant last", () => {
    expect(multiplyDims("T", "B")).toBe("B*T");
    expect(addDims(1, addDims("T", "M"))).toBe("M+T+1");
    expect(addDims("T", multiplyDims(2, "T"))).toBe("3*T");
    expect(multiplyDims(addDims("M", "T"), "B")).toBe("B*M+B*T");
    expect(multiplyDims("T", 0)).toBe(0);
    expect(printShape([2, "B*T"])).toBe("[2,B*T]");
  });

  it("add and multiply in any order", () => {
    fc.assert(
      fc.property(dims, dims, (a, b) => {
        expect(addDims(a, b)).toBe(addDims(b, a));
        expect(multiplyDims(a, b)).toBe(multiplyDims(b, a));
      }),
    );
  });

  it("add and multiply in any grouping", () => {
    fc.assert(
      fc.property(dims, dims, dims, (a, b, c) => {
        expect(addDims(addDims(a, b), c)).toBe(addDims(a, addDims(b, c)));
        expect(multiplyDims(multiplyDims(a, b), c)).toBe(multiplyDims(a, multiplyDims(b, c)));
      }),
    );
  });

  it("distribute products over sums, and leave 0 and 1 neutral", () => {
    fc.assert(
      fc.property(dims, dims, dims, (a, b, c) => {
        expect(multiplyDims(a, addDims(b, c))).toBe(addDims(multiplyDims(a, b), multiplyDims(a, c)));
        expect([addDims(a, 0), multiplyDims(a, 1), multiplyDims(a, 0)]).toEqual([a, a, 0]);
      }),
    );
  });

  it("evaluate to the sum and the product of what their parts evaluate to", () => {
    fc.assert(
      fc.property(dims, dims, sizes, (a, b, at) => {
        const [x, y] = [evaluateDim(a, at), evaluateDim(b, at)];
        expect(evaluateDim(addDims(a, b), at)).toBe(x + y);
        expect(evaluateDim(multiplyDims(a, b), at)).toBe(x * y);
      }),
    );
  });

  it("subtract what was added, and nothing that is not there", () => {
    fc.assert(fc.property(dims, dims, (a, b) => subtractDims(addDims(a, b), b) === a));
    expect(subtractDims("M+T+1", "M+T")).toBe(1);
    expect(subtractDims("T", 1)).toBeUndefined();
    expect(subtractDims("T", "M")).toBeUndefined();
    expect(subtractDims(2, 3)).toBeUndefined();
  });

  it("name the sizes they need, and ask for the one that is missing", () => {
    expect(namesIn("2*B*T+M+1")).toEqual(["B", "T", "M"]);
    expect(evaluateShape(["B*T", 3], new Map(Object.entries({ B: 2, T: 5 })))).toEqual([10, 3]);
    expect(() => evaluateDim("B*T", new Map([["B", 2]]))).toThrow("dimension T has no size; known: B");
  });

  it("multiply to the number of elements", () => {
    expect(sizeOf([2, "T", 3, "B"])).toBe("6*B*T");
    expect(sizeOf([])).toBe(1);
    expect(sizeOf(["B", 0])).toBe(0);
  });

  it("broadcast where they are equal or 1", () => {
    expect(broadcastShapes(["B", 1, 4], ["T", 4])).toEqual(["B", "T", 4]);
    expect(broadcastShapes([0, 3], [1])).toEqual([0, 3]);
    expect(broadcastShapes(["B"], ["T"])).toBeUndefined();
    expect(broadcastShapes(["T"], [4])).toBeUndefined();
  });
});
