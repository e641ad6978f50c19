import { describe, expect, it } from "vitest";
import * as g from "./build.ts";
import { gradients } from "./gradients.ts";
import { node, within } from "./tensor.ts";
import type { Tensor } from "./vocabulary.ts";

const x = g.input("x", [2, 3]);
const ids = g.input("ids", [2], "int");
const flags = g.input("flags", [2, 3], "bool");
const row = g.input("row", [3]);
const rest = g.input("rest", ["T", 4]);
const one = g.scalar(1);

/** Every way a graph can be refused: what was tried, and the whole message. */
const mistakes: [string, () => Tensor | Tensor[], string][] = [
  ["too few inputs", () => node("exp", [], {}), "exp: expected 1 inputs, got 0"],
  [
    "a whole number where a real one is needed",
    () => g.exp(ids),
    "exp: expected float as input 0, got int [2]; cast it first",
  ],
  [
    "a real number where a truth value is needed",
    () => g.and(flags, x),
    "and: expected bool as input 1, got float [2,3]; cast it first",
  ],
  ["real ids", () => g.gather(x, row), "gather: expected int as input 1, got float [3]; cast it first"],
  ["two number types", () => g.add(ids, x), "add: expected two inputs of one number type, got int and float; cast one"],
  [
    "arithmetic on truth values",
    () => g.less(flags, flags),
    "less: expected two inputs of one number type, got bool and bool; cast one",
  ],
  [
    "shapes that do not broadcast",
    () => g.multiply(x, realIds()),
    "multiply: expected shapes that broadcast, got [2,3] and [2]; make the differing dimensions equal or 1",
  ],
  [
    "named sizes that may differ",
    () => g.add(rest, g.input("other", ["M", 4])),
    "add: expected shapes that broadcast, got [T,4] and [M,4]; make the differing dimensions equal or 1",
  ],
  [
    "branches of two types",
    () => g.select(flags, x, g.cast(x, "int")),
    "select: expected two branches of one type, got float and int; cast one",
  ],
  ["an input without a name", () => g.input("", [1]), 'input: expected a name, got ""'],
  [
    "an input of negative size",
    () => g.input("y", [-1]),
    "input: expected a whole size from 0, or a named one, got -1",
  ],
  [
    "a size that is no name",
    () => g.input("y", ["B T"]),
    "input: expected a whole size from 0, or a named one, got B T",
  ],
  [
    "a parameter of broken size",
    () => g.parameter("w", [2, 1.5]),
    "parameter: expected whole sizes for w, got [2,1.5]",
  ],
  ["too few constants", () => g.constant([1, 2], [3]), "constant: expected 3 values for [3], got 2"],
  ["counting to a negative number", () => g.iota(-2), "iota: expected a whole size from 0, or a named one, got -2"],
  [
    "a product of vectors",
    () => g.matmul(row, row),
    "matmul: expected two matrices, got [3] · [3]; reshape to at least 2 axes",
  ],
  [
    "inner dimensions that differ",
    () => g.matmul(x, x),
    "matmul: expected equal inner dimensions, got [2,3] · [2,3]; transpose one side or change its width",
  ],
  [
    "a transpose too many",
    () => g.matmul(x, g.input("w", [3, 4]), { transposeA: true }),
    "matmul: expected equal inner dimensions, got [2,3]ᵀ · [3,4]; transpose one side or change its width",
  ],
  [
    "stacks of different height",
    () => g.matmul(g.input("a", [2, 3, 3]), g.input("b", [4, 3, 3])),
    "matmul: expected batch dimensions that broadcast, got [2,3,3] · [4,3,3]",
  ],
  ["an axis beyond the last", () => g.sum(x, { axes: [2] }), "sum: expected an axis from 0 to 1, got 2 of [2,3]"],
  ["an axis twice", () => g.mean(x, { axes: [1, -1] }), "mean: expected distinct axes, got [1,1]"],
  ["softmax of a scalar", () => g.softmax(one), "softmax: expected at least one axis, got a scalar"],
  ["the largest of a scalar", () => g.argMax(one), "argMax: expected at least one axis, got a scalar"],
  ["a look-up in a scalar", () => g.gather(one, ids), "gather: expected at least one axis, got a scalar"],
  [
    "a gain of another width",
    () => g.layerNorm(x, g.input("g", [2]), row, 1e-5),
    "layerNorm: expected gain of shape [3], got [2]",
  ],
  ["a bias of another rank", () => g.layerNorm(x, row, x, 1e-5), "layerNorm: expected bias of shape [3], got [2,3]"],
  ["a sum along no axis", () => g.cumulativeSum(x, 5), "cumulativeSum: expected an axis from 0 to 1, got 5 of [2,3]"],
  ["a reshape that loses elements", () => g.reshape(x, [4]), "reshape: expected 4 elements, got [2,3] = 6 for [4]"],
  [
    "a reshape to negative sizes",
    () => g.reshape(x, [-2, -3]),
    "reshape: expected a whole size from 0, or a named one, got -2",
  ],
  [
    "a reshape to another name",
    () => g.reshape(rest, ["M", 4]),
    "reshape: expected 4*M elements, got [T,4] = 4*T for [M,4]",
  ],
  [
    "a broadcast that does not fit",
    () => g.broadcast(x, [2, 4]),
    "broadcast: expected a shape that broadcasts to [2,4], got [2,3]",
  ],
  [
    "a broadcast to fewer axes",
    () => g.broadcast(x, [3]),
    "broadcast: expected a shape that broadcasts to [3], got [2,3]",
  ],
  ["an axis left out", () => g.transpose(x, [0]), "transpose: expected a permutation of 2 axes, got [0] for [2,3]"],
  [
    "an axis moved twice",
    () => g.transpose(x, [1, 1]),
    "transpose: expected a permutation of 2 axes, got [1,1] for [2,3]",
  ],
  ["a concat of nothing", () => g.concat([], -1), "concat: expected at least one input, got none"],
  ["a concat along no axis", () => g.concat([x, x], 2), "concat: expected an axis from 0 to 1, got 2 of [2,3]"],
  [
    "a concat of unlike tensors",
    () => g.concat([x, g.input("y", [2, 4])], 0),
    "concat: expected inputs alike but for axis 0, got float [2,3], float [2,4]",
  ],
  [
    "a concat of unlike types",
    () => g.concat([x, flags], 0),
    "concat: expected inputs alike but for axis 0, got float [2,3], bool [2,3]",
  ],
  ["a slice beyond the end", () => g.slice(x, 0, 1, 3), "slice: expected a range within 0 … 2, got 1 … 3"],
  ["a slice backwards", () => g.slice(x, 1, 2, 1), "slice: expected a range within 0 … 3, got 2 … 1"],
  ["a slice to a negative end", () => g.slice(x, 1, 0, -1), "slice: expected a range within 0 … 3, got 0 … -1"],
  ["a slice of unknown length", () => g.slice(rest, 0, 1, "T"), "slice: expected a range within 0 … T, got 1 … T"],
  ["a negative padding", () => g.pad(x, 0, -1, 0), "pad: expected a whole size from 0, or a named one, got -1"],
  ["rows without ids", () => g.scatterAdd(ids, row, 5), "scatterAdd: expected ids of shape [3], got [2]"],
  [
    "a table of negative size",
    () => g.scatterAdd(ids, x, -5),
    "scatterAdd: expected a whole size from 0, or a named one, got -5",
  ],
  [
    "a condition of two axes",
    () => g.which(g.input("c", [2, 2], "bool"), "R"),
    "which: expected a condition [N], got [2,2]",
  ],
  [
    "a size without a name",
    () => g.which(g.input("c", [2], "bool"), "2*R"),
    "which: expected a name for its size, got 2*R",
  ],
  [
    "rows that do not fit the ids",
    () => g.replaceRows(x, ids, g.input("rows", [3, 3])),
    "replaceRows: expected ids [I] and rows of [2,3] for them, got ids [2], rows [3,3]",
  ],
  ["one id too few", () => g.pick(g.input("y", [3, 4]), ids), "pick: expected ids of shape [3], got [2]"],
  ["values without ids", () => g.place(x, ids, 4), "place: expected ids of shape [2,3], got [2]"],
  [
    "a place in a broken size",
    () => g.place(g.input("v", [2]), ids, 0.5),
    "place: expected a whole size from 0, or a named one, got 0.5",
  ],
  ["one of a negative number", () => g.oneHot(ids, -1), "oneHot: expected a whole size from 0, or a named one, got -1"],
];

function realIds(): Tensor {
  return g.cast(ids, "float");
}

/** The ways a gradient can be refused; the whole message, after the scope of the node that has no gradient. */
const withoutGradient: [string, () => Tensor[], string][] = [
  [
    "a mean over an unknown number",
    () => gradients(g.sum(g.mean(rest, { axes: [0] })), [rest]),
    "gradient of blocks.2 / mean: expected an axis of known size, got [T,4]; divide a sum by the count instead",
  ],
  [
    "a deviation over an unknown number",
    () => {
      const y = g.transpose(rest, [1, 0]);
      return gradients(g.sum(g.inverseDeviation(y, 1e-5)), [rest]);
    },
    "gradient of blocks.2 / mean: expected an axis of known size, got [4,T]; divide a sum by the count instead",
  ],
  [
    "a slice that leaves an unknown rest",
    () => gradients(g.sum(g.slice(rest, 0, 0, 2)), [rest]),
    "gradient of blocks.2 / slice: expected a slice that leaves a known rest of the axis, got … 2 of T",
  ],
];

describe("a bad graph", () => {
  it.each(mistakes)("is refused when built: %s", (_, build, message) => {
    expect(messageOf(() => within("blocks.2", build))).toBe(`blocks.2 / ${message}`);
  });

  it.each(withoutGradient)("is refused when differentiated: %s", (_, build, message) => {
    expect(messageOf(() => within("blocks.2", build))).toBe(`blocks.2 / ${message}`);
  });

  it("is refused as a loss when it is a whole number", () => {
    expect(messageOf(() => gradients(ids, [x]))).toBe("gradients: expected a float loss, got int");
  });

  it("is refused without a scope too, and scopes nest", () => {
    expect(messageOf(() => g.exp(ids))).toMatch(/^exp: expected/);
    const nested = () => within("blocks.2 at depth 7", () => within("attention", () => g.exp(ids)));
    expect(messageOf(nested)).toMatch(/^blocks\.2 at depth 7 \/ attention \/ exp: expected/);
  });

  it("leaves no scope behind", () => {
    expect(() => within("blocks.2", () => g.exp(ids))).toThrow("blocks.2 / exp");
    expect(g.exp(x).scope).toBe("");
  });
});

describe("shapes", () => {
  it("keep the names of dimensions", () => {
    const rows = g.reshape(g.input("y", ["B", "T", 4]), ["B*T", 4]);
    expect(g.matmul(rows, g.input("w", [4, 8])).shape).toEqual(["B*T", 8]);
    expect(g.concat([rest, g.input("m", ["M", 4])], 0).shape).toEqual(["M+T", 4]);
    expect(g.slice(g.input("all", ["M+T+1"]), 0, "M+T", "M+T+1").shape).toEqual([1]);
    expect(g.pad(rest, 0, 1, "T").shape).toEqual(["2*T+1", 4]);
  });

  it("may be empty", () => {
    expect(g.concat([g.input("a", [0, 3]), x], 0).shape).toEqual([2, 3]);
    expect(g.slice(x, 1, 3, 3).shape).toEqual([2, 0]);
    expect(g.reshape(g.input("a", [0, 3]), [5, 0]).shape).toEqual([5, 0]);
  });
});

function messageOf(build: () => unknown): string {
  try {
    build();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}
