/** Graph → ONNX: one row an operation. */
import { rejectOption } from "../base/errors.ts";
import { check, oneOf } from "../base/options.ts";
import { type Dim, is, type Op, type Shape, sizeOf, type Tensor, topological } from "../graph/index.ts";
import { usersOf } from "../graph/order.ts";
import { isDistinct } from "../graph/rewrite/row-rules.ts";
import { branchesIn, orderAround, writeBranch } from "./branches.ts";
import { add, cast, column, gather, inverseDeviation, isFused, layerNorm, matmul, normKey, sum } from "./fusions.ts";
import { gpuLowering } from "./gpu.ts";
import { int8Axis, int8Part, storeInt8 } from "./int8.ts";
import { type Lower, Lowering, onnxTypes, range, reduce } from "./lowering.ts";
import { encodeModel, MICROSOFT, type OnnxGraph, type OnnxValue } from "./proto.ts";

const simple =
  (op: string, domain?: string): Lower<Op> =>
  (_, inputs, to) =>
    to.emit(op, inputs, domain ? { domain } : {});

const bound: Lower<"input" | "parameter"> = (node) => {
  throw new Error(`${node.op} ${node.attributes.name} was not bound`);
};

const zeros = (to: Lowering, shape: Shape) => to.emit("Expand", [to.scalar(0), to.shape(shape)]);

/** [I…, size] with `updates` [I…] at ids along the last axis. */
function scatterLast(to: Lowering, shape: Shape, ids: string, updates: string, size: Dim): string {
  const column = [...shape, 1];
  const inputs = [zeros(to, [...shape, size]), to.reshape(ids, column), to.reshape(updates, column)];
  return to.emit("ScatterElements", inputs, { attributes: { axis: shape.length } });
}

/** Rows of equal id are added: ScatterElements, since ScatterND's addition races between threads. Distinct rows are only put in their places. */
function scatterAdd(node: Tensor<"scatterAdd">, [ids, rows]: readonly string[], to: Lowering): string {
  const at = node.inputs[0]!;
  const { shape } = at;
  if (shape.length === 1 && isDistinct(at)) return to.emit("ScatterND", [zeros(to, node.shape), column(to, at), rows!]);
  const count = sizeOf(shape);
  const width = sizeOf(node.inputs[1]!.shape.slice(shape.length));
  const index = to.emit("Expand", [to.reshape(ids!, [count, 1]), to.shape([count, width])]);
  const inputs = [zeros(to, [node.attributes.size, width]), index, to.reshape(rows!, [count, width])];
  const flat = to.emit("ScatterElements", inputs, { attributes: { axis: 0, reduction: "add" } });
  return to.reshape(flat, node.shape);
}

/**
 * The runtime orders nodes by what they need: x is put before nothing at all of the others, no rows of each. One copy of x; an addition of
 * zeros would turn other numbers' NaN into its own.
 */
function after(node: Tensor<"after">, [x, ...others]: readonly string[], to: Lowering): string {
  const isNumber = node.shape.length === 0;
  const nothing = others.map((name, i) => {
    const from = node.inputs[i + 1]!.shape.length === 0 ? to.reshape(name, [1]) : name;
    const rows = to.emit("Slice", [from, to.integers([0]), to.integers([0]), to.integers([0])]);
    return to.reshape(rows, [0, ...node.shape.slice(1)]);
  });
  const joined = to.emit("Concat", [isNumber ? to.reshape(x!, [1]) : x!, ...nothing], { attributes: { axis: 0 } });
  return isNumber ? to.reshape(joined, []) : joined;
}

function constant(node: Tensor<"constant">, _: readonly string[], to: Lowering): string {
  const { data, dtype, shape } = node.attributes;
  if (shape.length === 0) return to.scalar(data[0]!, dtype);
  return to.store(to.fresh("constant"), dtype, shape, data);
}

/** The page of ONNX. */
const lowering: { readonly [K in Op]: Lower<K> } = {
  input: bound,
  parameter: bound,
  constant,
  iota: (node, _, to) => range(to, node.attributes.size),

  add,
  subtract: simple("Sub"),
  multiply: simple("Mul"),
  divide: simple("Div"),
  maximum: simple("Max"),
  minimum: simple("Min"),
  negate: simple("Neg"),
  abs: simple("Abs"),
  exp: simple("Exp"),
  log: simple("Log"),
  sqrt: simple("Sqrt"),
  erf: simple("Erf"),
  tanh: simple("Tanh"),
  sigmoid: simple("Sigmoid"),
  relu: simple("Relu"),
  silu: (_, inputs, to) => to.emit("QuickGelu", inputs, { domain: MICROSOFT, attributes: { alpha: { float: 1 } } }),
  gelu: (node, inputs, to) => {
    return to.emit("Gelu", inputs, { attributes: { approximate: node.attributes.form === "erf" ? "none" : "tanh" } });
  },
  equal: simple("Equal"),
  less: simple("Less"),
  greater: simple("Greater"),
  not: simple("Not"),
  and: simple("And"),
  or: simple("Or"),
  select: simple("Where"),
  cast,
  stopGradient: (_, [x]) => x!,
  after,

  matmul,
  sum,
  mean: reduce("ReduceMean"),
  max: reduce("ReduceMax"),
  argMax: (node, inputs, to) => {
    const index = to.emit("ArgMax", inputs, { attributes: { axis: -1, keepdims: 0 } });
    // Of no rows at all, the runtime keeps the reduced axis: the reshape takes it off.
    return to.emit("Cast", [to.reshape(index, node.shape)], { attributes: { to: onnxTypes.int } });
  },
  softmax: (_, inputs, to) => to.emit("Softmax", inputs, { attributes: { axis: -1 } }),
  logSoftmax: (_, inputs, to) => to.emit("LogSoftmax", inputs, { attributes: { axis: -1 } }),
  layerNorm,
  inverseDeviation,
  cumulativeSum: (node, [x], to) => {
    const { axis, exclusive, reverse } = node.attributes;
    const attributes = { exclusive: Number(exclusive), reverse: Number(reverse) };
    return to.emit("CumSum", [x!, to.scalar(axis, "int")], { attributes });
  },

  reshape: (node, [x], to) => to.reshape(x!, node.attributes.shape),
  broadcast: (node, [x], to) => to.emit("Expand", [x!, to.shape(node.attributes.shape)]),
  transpose: (node, inputs, to) => to.emit("Transpose", inputs, { attributes: { perm: node.attributes.permutation } }),
  concat: (node, inputs, to) => {
    const joined = to.emit("Concat", inputs, { attributes: { axis: node.attributes.axis } });
    to.learnDims(node, joined);
    return joined;
  },
  slice: (node, [x], to) => {
    const { axis, start, end } = node.attributes;
    if (to.int8.has(node.inputs[0]!)) int8Part(node, to);
    return to.emit("Slice", [x!, to.dim(start), to.dim(end), to.integers([axis])]);
  },
  pad: (node, [x], to) => {
    const { axis, before, after, value } = node.attributes;
    return to.emit("Pad", [x!, to.shape([before, after]), to.scalar(value), to.integers([axis])]);
  },

  gather,
  which: (node, inputs, to) => {
    const found = to.emit("Squeeze", [to.emit("NonZero", inputs), to.integers([0])]);
    to.learnDims(node, found);
    to.once(`column ${node.id}`, () => to.reshape(found, [...node.shape, 1]));
    return to.emit("Cast", [found], { attributes: { to: onnxTypes.int } });
  },
  replaceRows: (node, [table, , rows], to) => to.emit("ScatterND", [table!, column(to, node.inputs[1]!), rows!]),
  scatterAdd,
  pick: (node, [x, ids], to) => {
    const column = to.reshape(ids!, [...node.shape, 1]);
    const picked = to.emit("GatherElements", [x!, column], { attributes: { axis: node.shape.length } });
    return to.reshape(picked, node.shape);
  },
  place: (node, [values, ids], to) => scatterLast(to, node.inputs[0]!.shape, ids!, values!, node.attributes.size),
  oneHot: (node, [ids], to) => {
    const column = to.reshape(ids!, [...node.inputs[0]!.shape, 1]);
    const hits = to.emit("Equal", [column, range(to, node.attributes.size)]);
    return to.emit("Cast", [hits], { attributes: { to: onnxTypes.float } });
  },
};

/** What is written as ONNX: outputs by name, and the weights that become part of the file. */
export interface LowerSource {
  readonly outputs: Readonly<Record<string, Tensor>>;
  /** Parameters whose values are stored in the model; each once, however often it is used. */
  readonly weights?: ReadonlyMap<Tensor, Float32Array>;
  /** What it is to run on: `gpu` takes operations that have a WebGPU kernel, where there are such. Default: cpu. */
  readonly target?: Target | undefined;
  /** Matrices among them are stored as 8-bit integers, and multiplied in them. Default: false. */
  readonly int8?: boolean | undefined;
}

/** What a graph is written for. */
export type Target = "cpu" | "gpu";

/** The ONNX graph of the named outputs. Inputs and parameters without a value keep their names. */
export function lowerGraph({ outputs, weights, target = "cpu", int8 = false }: LowerSource): OnnxGraph {
  check("target", target, oneOf(["cpu", "gpu"]));
  if (int8 && target === "gpu")
    rejectOption({ who: "target", needed: "cpu for weights in 8 bits", got: target, remedy: "leave one of them out" });
  const page = target === "gpu" ? { ...lowering, ...gpuLowering } : lowering;
  const wanted = Object.values(outputs);
  const order = topological(wanted);
  const leaves = order.filter((node) => is(node, "input") || is(node, "parameter"));
  const to = new Lowering(wanted, [...Object.keys(outputs), ...leaves.map(({ attributes }) => attributes.name)]);
  const users = usersOf(order);
  const results = new Set(wanted);
  const axisOf = (leaf: Tensor) => (int8 && !results.has(leaf) ? int8Axis(leaf, users) : undefined);
  const inputs = bindLeaves(order, weights, axisOf, to);
  for (const node of order) {
    if (is(node, "inverseDeviation")) to.deviations.set(normKey(node.inputs[0]!, node.attributes.epsilon), undefined);
  }
  const write = (node: Tensor) => {
    if (to.names.has(node) || isFused(node, results, users, to)) return;
    const sources = node.inputs.map((input) => to.names.get(input) ?? "");
    to.names.set(node, (page[node.op] as Lower<Op>)(node, sources, to));
  };
  // Pull-backs look at what normalisations leave behind, wherever those are: they want no branches.
  const isPlain = target === "cpu" && to.deviations.size === 0;
  const branches = isPlain ? branchesIn(order, results, users) : [];
  for (const each of branches.length > 0 ? orderAround(order, branches, results, users) : order) {
    if ("ends" in each) writeBranch(each, to, write);
    else write(each);
    for (const node of "ends" in each ? each.ends : [each]) {
      if (results.has(node) && !is(node, "input") && !is(node, "parameter")) release(node, outputs, to);
    }
  }
  for (const leaf of leaves) if (results.has(leaf)) release(leaf, outputs, to);
  const named = Object.entries(outputs).map(([name, { dtype, shape }]) => ({ name, type: dtype, shape }));
  return { nodes: to.nodes, tensors: to.tensors, inputs, outputs: named };
}

/**
 * Gives a value the names under which it leaves, right where it is made: the runtime runs what leads to the last of the results
 * first, so where results stand decides whether gradients of weights are worked out while what they are made of is in the cache.
 */
function release(node: Tensor, outputs: LowerSource["outputs"], to: Lowering): void {
  for (const [name, wanted] of Object.entries(outputs)) {
    if (wanted !== node) continue;
    to.nodes.push({ op: "Identity", inputs: [to.names.get(node)!], outputs: [name], attributes: {} });
  }
}

/** Inputs of the model; values of weights are stored, as 8-bit integers where `axisOf` gives the axis of their scales. */
function bindLeaves(
  order: readonly Tensor[],
  weights: LowerSource["weights"],
  axisOf: (leaf: Tensor) => 0 | 1 | undefined,
  to: Lowering,
): OnnxValue[] {
  const inputs: OnnxValue[] = [];
  for (const node of order) {
    if (!is(node, "input") && !is(node, "parameter")) continue;
    const { name } = node.attributes;
    const value = weights?.get(node);
    to.names.set(node, name);
    const axis = value && axisOf(node);
    if (value && axis !== undefined) storeInt8(name, node, value, axis, to);
    else if (value) to.store(name, "float", node.shape as readonly number[], value);
    else {
      inputs.push({ name, type: node.dtype, shape: node.shape });
      to.learnDims(node, name);
    }
  }
  return inputs;
}

/** The bytes of an ONNX model of the named outputs. */
export function lower(source: LowerSource): Uint8Array<ArrayBuffer> {
  return encodeModel(lowerGraph(source));
}
