/** The few fusions that the runtime does not find by itself: what becomes one ONNX node, and what then is not written on its own. */
import { is, type Tensor } from "../graph/index.ts";
import { int8Product, int8Rows } from "./int8.ts";
import { type Lowering, onnxTypes, reduce } from "./lowering.ts";
import { MICROSOFT } from "./proto.ts";

const reduceSum = reduce("ReduceSum");

/** Rows are added up by a product with ones, which the runtime does faster: 0.08 against 0.11 ms for [1024, 128]. */
export function sum(node: Tensor<"sum">, inputs: readonly string[], to: Lowering): string {
  const [rows, columns] = node.inputs[0]!.shape;
  const addsRows = node.inputs[0]!.shape.length === 2 && String(node.attributes.axes) === "0";
  if (!addsRows || typeof rows !== "number" || typeof columns !== "number" || rows < 64 || columns < 64)
    return reduceSum(node, inputs, to);
  const ones = to.once(`ones ${rows}`, () =>
    to.store(to.fresh("ones"), "float", [1, rows], new Float32Array(rows).fill(1)),
  );
  return to.reshape(to.emit("Gemm", [ones, inputs[0]!]), node.shape);
}

export function matmul(node: Tensor<"matmul">, [a, b]: readonly string[], to: Lowering): string {
  return product(node, [a!, b!], to);
}

/** Gemm for matrices (it takes a bias on the way), FusedMatMul for stacks of them. */
export function product(node: Tensor<"matmul">, inputs: readonly string[], to: Lowering): string {
  if (to.int8.has(node.inputs[1]!)) return int8Product(node, inputs, to);
  const { transposeA, transposeB, scale } = node.attributes;
  const [transA, transB, alpha] = [Number(transposeA), Number(transposeB), { float: scale }];
  if (node.inputs.every((input) => input.shape.length === 2)) {
    return to.emit("Gemm", inputs, { attributes: { transA, transB, alpha } });
  }
  return to.emit("FusedMatMul", inputs, { domain: MICROSOFT, attributes: { transA, transB, alpha } });
}

/** A product that feeds only this sum takes the other addend as Gemm's bias, where that broadcasts as Gemm allows. */
export function add(node: Tensor<"add">, inputs: readonly string[], to: Lowering): string {
  for (const side of [0, 1] as const) {
    const [left, right] = [node.inputs[side]!, node.inputs[1 - side]!];
    if (is(left, "matmul") && fusesBias(left, right, to)) {
      const factors = left.inputs.map((input) => to.names.get(input)!);
      return product(left, [...factors, inputs[1 - side]!], to);
    }
  }
  return to.emit("Add", inputs);
}

function fusesBias(left: Tensor, bias: Tensor, to: Lowering): boolean {
  const isRow = bias.shape.length === 1 && bias.shape[0] === left.shape[1];
  return isRow && to.usedOnce(left) && left.inputs.every((input) => input.shape.length === 2);
}

export const normKey = (x: Tensor, epsilon: number) => `${x.id} ${epsilon}`;

export function layerNorm(node: Tensor<"layerNorm">, inputs: readonly string[], to: Lowering): string {
  const { epsilon } = node.attributes;
  const key = normKey(node.inputs[0]!, epsilon);
  const wanted = to.deviations.has(key) && to.deviations.get(key) === undefined;
  const attributes = { axis: -1, epsilon: { float: epsilon } };
  // A branch may norm the row that is normed outside of it.
  if (!wanted) return to.once(`norm ${inputs} ${epsilon}`, () => to.emit("LayerNormalization", inputs, { attributes }));
  const [y, , deviation] = to.emitAll("LayerNormalization", inputs, { attributes, outputs: 3 });
  to.deviations.set(key, deviation);
  return y!;
}

export function inverseDeviation(node: Tensor<"inverseDeviation">, [x]: readonly string[], to: Lowering): string {
  const { epsilon } = node.attributes;
  const known = to.deviations.get(normKey(node.inputs[0]!, epsilon));
  if (known !== undefined) return known;
  const width = node.inputs[0]!.shape.at(-1)!;
  const ones = to.emit("Expand", [to.scalar(1), to.shape([width])]);
  return to.emitAll("LayerNormalization", [x!, ones], {
    attributes: { axis: -1, epsilon: { float: epsilon } },
    outputs: 3,
  })[2]!;
}

/** Rows at places, or those where a condition is true, whose numbers then are never written. */
export function gather(node: Tensor<"gather">, [table, ids]: readonly string[], to: Lowering): string {
  if (to.int8.has(node.inputs[0]!)) return int8Rows(node, [table!, ids!], to);
  const condition = takenWhere(node, to);
  if (condition === undefined) return to.emit("Gather", [table!, ids!]);
  const rows = compress(to, table!, condition);
  to.learnDims(node, rows);
  return rows;
}

/** The condition of the rows that are taken, where their numbers are not written. */
function takenWhere(node: Tensor<"gather">, to: Lowering): string | undefined {
  const places = node.inputs[1]!;
  return to.names.has(places) ? undefined : to.names.get(places.inputs[0]!);
}

const compress = (to: Lowering, rows: string, condition: string) =>
  to.emit("Compress", [rows, condition], { attributes: { axis: 0 } });

/** Ids [I] as ScatterND wants them, int64 [I, 1]. */
export function column(to: Lowering, ids: Tensor): string {
  return to.once(`column ${ids.id}`, () => {
    const condition = is(ids, "gather") ? takenWhere(ids, to) : undefined;
    if (condition !== undefined) return compress(to, column(to, ids.inputs[0]!), condition);
    const wide = to.emit("Cast", [to.names.get(ids)!], { attributes: { to: onnxTypes.int64 } });
    return to.reshape(wide, [...ids.shape, 1]);
  });
}

const isZero = (tensor: Tensor) =>
  is(tensor, "constant") && tensor.attributes.data.length === 1 && tensor.attributes.data[0] === 0;

/** 1 where something that is never negative is above 0, otherwise 0: the slope of ReLU. */
function isStep(node: Tensor): boolean {
  const [condition] = node.inputs;
  if (!is(node, "cast") || node.attributes.to !== "float" || condition!.op !== "greater") return false;
  return condition!.inputs[0]!.op === "relu" && isZero(condition!.inputs[1]!);
}

/** A step in one pass: 10³⁸ · x, cut off at 0 and 1, which is 1 for all but subnormal numbers. */
export function cast(node: Tensor<"cast">, inputs: readonly string[], to: Lowering): string {
  if (!isStep(node)) return to.emit("Cast", inputs, { attributes: { to: onnxTypes[node.attributes.to] } });
  const x = to.names.get(node.inputs[0]!.inputs[0]!)!;
  return to.emit("HardSigmoid", [x], { attributes: { alpha: { float: 1e38 }, beta: { float: 0 } } });
}

type Users = ReadonlyMap<Tensor, readonly Tensor[]>;

/** A fused add is lowered with its product: the product itself must not be lowered before. */
function absorbed(node: Tensor, outputs: ReadonlySet<Tensor>, users: Users, to: Lowering): boolean {
  const user = users.get(node)?.[0];
  if (!is(node, "matmul") || outputs.has(node) || !user || !is(user, "add") || !to.usedOnce(node)) return false;
  const [first, second] = [user.inputs[0]!, user.inputs[1]!];
  const chosen = is(first, "matmul") && fusesBias(first, second, to) ? first : second;
  return chosen === node && fusesBias(node, node === first ? second : first, to);
}

/** True when rows are taken at the condition's places and nothing else is done with their numbers. */
function onlyTakes(node: Tensor, outputs: ReadonlySet<Tensor>, users: Users): boolean {
  const takes = (user: Tensor) => is(user, "gather") && user.inputs[1] === node && user.inputs[0] !== node;
  return is(node, "which") && !outputs.has(node) && users.get(node)!.every(takes);
}

/** True when the condition is wanted for steps only, which are lowered without it. */
function onlySteps(node: Tensor, outputs: ReadonlySet<Tensor>, users: Users): boolean {
  return is(node, "greater") && !outputs.has(node) && users.get(node)!.every(isStep);
}

/** True when a node is lowered with those that use it, so that it needs no value of its own. */
export function isFused(node: Tensor, outputs: ReadonlySet<Tensor>, users: Users, to: Lowering): boolean {
  return absorbed(node, outputs, users, to) || onlyTakes(node, outputs, users) || onlySteps(node, outputs, users);
}
