import { expect, it } from "vitest";
import * as g from "../graph/index.ts";
import { lower, lowerGraph } from "./lower.ts";

const x = g.input("x", [2, 3]);
const w = g.parameter("w", [3, 4]);
const bias = g.parameter("bias", [4]);
const opsOf = (outputs: Record<string, g.Tensor>) =>
  lowerGraph({ outputs })
    .nodes.map(({ op }) => op)
    .filter((op) => op !== "Identity");
/** Text in the bytes: names are stored as they are. */
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

it("lowering gives the same bytes twice, and leaves the graph as it was", () => {
  const loss = g.mean(g.crossEntropy(g.add(g.matmul(x, w), bias), g.input("targets", [2], "int")));
  const outputs = { loss, ...Object.fromEntries(g.gradients(loss, [w, bias]).map((d, i) => [`d${i}`, d])) };
  const printed = g.print(outputs);
  const [first, second] = [lower({ outputs }), lower({ outputs })];
  expect(Buffer.compare(first, second)).toBe(0);
  expect(g.print(outputs)).toBe(printed);
});

it("the same model built again lowers to the same bytes", () => {
  const build = () => {
    const v = g.parameter("v", [3, 3]);
    const y = g.layerNorm(g.matmul(g.input("x", [2, 3]), v), g.full(1, [3]), g.full(0, [3]), 1e-5);
    return { y, ...Object.fromEntries(g.gradients(g.sum(g.tanh(y)), [v]).map((d, i) => [`d${i}`, d])) };
  };
  expect(Buffer.compare(lower({ outputs: build() }), lower({ outputs: build() }))).toBe(0);
});

it("weights that are used at several depths are stored once", () => {
  const v = g.parameter("v", [3, 3]);
  const y = g.matmul(g.tanh(g.matmul(g.tanh(g.matmul(x, v)), v)), v, { transposeB: true });
  const weights = new Map<g.Tensor, Float32Array>([[v, new Float32Array(9).fill(0.5)]]);
  const { tensors, inputs } = lowerGraph({ outputs: { y }, weights });
  expect(tensors.map(({ name }) => name)).toEqual(["v"]);
  expect(inputs.map(({ name }) => name)).toEqual(["x"]);
});

it("equal numbers and shapes are stored once", () => {
  const y = g.add(g.multiply(g.exp(g.multiply(x, 2)), 2), g.sum(g.sum(x, { axes: [0] }), { axes: [0] }));
  const { tensors } = lowerGraph({ outputs: { y } });
  expect(tensors.map(({ type, shape }) => `${type} [${shape}]`)).toEqual(["float []", "int64 [1]"]);
});

it("parameters without a value are inputs under their names", () => {
  const { inputs, tensors } = lowerGraph({ outputs: { y: g.matmul(x, w) } });
  expect(inputs).toEqual([
    { name: "x", type: "float", shape: [2, 3] },
    { name: "w", type: "float", shape: [3, 4] },
  ]);
  expect(tensors).toEqual([]);
});

it("Gemm takes the bias of a product, from either side", () => {
  expect(opsOf({ y: g.add(g.matmul(x, w), bias) })).toEqual(["Gemm"]);
  const { nodes } = lowerGraph({ outputs: { y: g.add(bias, g.matmul(x, w, { scale: 0.5 })) } });
  expect(nodes[0]).toMatchObject({
    op: "Gemm",
    inputs: ["x", "w", "bias"],
    attributes: { alpha: { float: 0.5 }, transA: 0, transB: 0 },
  });
});

it("a product that is wanted elsewhere too keeps its own node", () => {
  const product = g.matmul(x, w);
  expect(opsOf({ y: g.add(product, bias), product })).toEqual(["Gemm", "Add"]);
  expect(opsOf({ y: g.multiply(g.add(product, bias), product) })).toEqual(["Gemm", "Add", "Mul"]);
  expect(opsOf({ y: g.add(product, product) })).toEqual(["Gemm", "Add"]);
});

it("what is not a row of the product's width is added by Add", () => {
  expect(opsOf({ y: g.add(g.matmul(x, w), g.input("m", [2, 4])) })).toEqual(["Gemm", "Add"]);
  expect(opsOf({ y: g.add(g.matmul(x, w), g.input("s", [1])) })).toEqual(["Gemm", "Add"]);
});

it("stacks of matrices go to FusedMatMul, with transposes and scale", () => {
  const [q, k] = [g.input("q", [2, 5, 3]), g.input("k", [2, 5, 3])];
  const { nodes } = lowerGraph({ outputs: { y: g.matmul(q, k, { transposeB: true, scale: 0.25 }) } });
  expect(nodes[0]).toMatchObject({
    op: "FusedMatMul",
    domain: "com.microsoft",
    attributes: { transA: 0, transB: 1, alpha: { float: 0.25 } },
  });
});

it("layer norm gives its deviation to the pull-back", () => {
  const [gain, shift] = [g.parameter("gain", [3]), g.parameter("shift", [3])];
  const y = g.layerNorm(x, gain, shift, 1e-5);
  const { nodes } = lowerGraph({ outputs: { y, deviation: g.inverseDeviation(x, 1e-5) } });
  expect(nodes.filter(({ op }) => op === "LayerNormalization").map(({ outputs }) => outputs.length)).toEqual([3]);
  expect(nodes.at(-1)!.inputs[0]).toBe(nodes[0]!.outputs[2]);
});

it("a deviation of another epsilon is computed by itself", () => {
  const y = g.layerNorm(x, g.parameter("gain", [3]), g.parameter("shift", [3]), 1e-5);
  const ops = opsOf({ y, deviation: g.inverseDeviation(x, 1e-3) });
  expect(ops.filter((op) => op === "LayerNormalization")).toHaveLength(2);
});

it("named dimensions are named in the model, and computed where a shape needs them", () => {
  const rows = g.reshape(g.input("batch", ["B", "T", 4]), ["B*T", 2, 2]);
  const counted = g.broadcast(g.cast(g.iota("T"), "float"), ["B", "T"]);
  const { inputs, outputs, nodes } = lowerGraph({ outputs: { rows, counted } });
  expect(inputs[0]!.shape).toEqual(["B", "T", 4]);
  expect(outputs.map(({ shape }) => shape)).toEqual([
    ["B*T", 2, 2],
    ["B", "T"],
  ]);
  expect(nodes.filter(({ op }) => op === "Shape")).toHaveLength(2);
  const text = textOf(lower({ outputs: { rows } }));
  // dim_param is field 2 of a dimension: tag 0x12, length, text.
  for (const name of ["\x12\x01B", "\x12\x01T", "\x12\x03B*T"]) expect(text).toContain(name);
});

it("a sum of sizes is read off the value that has it", () => {
  const [a, b] = [g.input("a", ["M", 2]), g.input("b", ["T", 2])];
  const joined = g.concat([a, b], 0);
  const ops = opsOf({ y: g.multiply(joined, g.full(2, joined.shape)) });
  expect(ops).toEqual(["Concat", "Shape", "Concat", "Expand", "Mul"]);
});

it("rows that a condition names are taken without writing their numbers, unless those are wanted", () => {
  const condition = g.input("condition", [5], "bool");
  const ids = g.which(condition, "R");
  const taken = g.gather(g.input("table", [5, 3]), ids);
  expect(opsOf({ taken })).toEqual(["Compress"]);
  expect(opsOf({ taken, ids })).toEqual(["NonZero", "Squeeze", "Reshape", "Cast", "Gather"]);
  expect(opsOf({ put: g.replaceRows(g.input("all", [9, 3]), g.gather(g.iota(5), ids), taken) })).not.toContain(
    "NonZero",
  );
});

it("many rows are added up by a product with ones, few or of unknown number by a reduction", () => {
  const sumOf = (rows: g.Dim, axes = [0]) => opsOf({ y: g.sum(g.input("x", [rows, 64]), { axes }) });
  expect(sumOf(64)).toEqual(["Gemm", "Reshape"]);
  for (const ops of [sumOf(63), sumOf("N"), sumOf(64, [1])]) expect(ops).toEqual(["ReduceSum"]);
});

it("the slope of a ReLU is one step, and the condition is written only where it is wanted", () => {
  const y = g.relu(x);
  const positive = g.greater(y, 0);
  const slope = g.cast(positive, "float");
  expect(opsOf({ slope })).toEqual(["Relu", "HardSigmoid"]);
  expect(opsOf({ slope, positive })).toEqual(["Relu", "Greater", "HardSigmoid"]);
  expect(opsOf({ slope: g.cast(g.greater(x, 0), "float") })).toEqual(["Greater", "Cast"]);
});

it("a result leaves where it is made, whoever else wants it", () => {
  const y = g.exp(x);
  const { nodes } = lowerGraph({ outputs: { y, z: g.tanh(y) } });
  expect(nodes.map(({ op }) => op)).toEqual(["Exp", "Identity", "Tanh", "Identity"]);
});

it("a dimension that no input has cannot be lowered", () => {
  const counted = g.iota("T");
  expect(() => lower({ outputs: { counted } })).toThrow("dimension T is not a dimension of any input");
});

it("tensors of a scatter are added by ScatterElements, never by ScatterND, which puts those of distinct ids in place", () => {
  const ops = opsOf({ y: g.scatterAdd(g.input("ids", [5], "int"), g.input("rows", [5, 3]), 7) });
  expect(ops).toContain("ScatterElements");
  expect(ops).not.toContain("ScatterND");
  const distinct = opsOf({ y: g.scatterAdd(g.distinctIds("ids", [5]), g.input("rows", [5, 3]), 7) });
  expect(distinct).toContain("ScatterND");
  expect(distinct).not.toContain("ScatterElements");
});

it("one tensor may leave under two names, and an input may leave as it came", () => {
  const y = g.exp(x);
  const { nodes, outputs } = lowerGraph({ outputs: { a: y, b: y, same: x } });
  expect(nodes.map(({ op }) => op)).toEqual(["Exp", "Identity", "Identity", "Identity"]);
  expect(outputs.map(({ name }) => name)).toEqual(["a", "b", "same"]);
});

it("what is emitted never takes the name of an input or an output", () => {
  const y = g.tanh(g.exp(g.input("Exp_0", [2])));
  const { nodes } = lowerGraph({ outputs: { Tanh_2: y } });
  expect(nodes.map(({ outputs }) => outputs[0])).toEqual(["Exp_1", "Tanh_3", "Tanh_2"]);
});
