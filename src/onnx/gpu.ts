/** What is written otherwise for graphics processors: rows of the page of ONNX that have no WebGPU kernel, as operations that have one. */
import type { Op, Tensor } from "../graph/index.ts";
import { product } from "./fusions.ts";
import { type Lower, type Lowering, onnxTypes, range, reduce } from "./lowering.ts";

/** A stack of products by MatMul, with transposes and scale as operations of their own; matrices go to Gemm as everywhere. */
function matmul(node: Tensor<"matmul">, inputs: readonly string[], to: Lowering): string {
  if (node.inputs.every(({ shape }) => shape.length === 2)) return product(node, inputs, to);
  const { transposeA, transposeB, scale } = node.attributes;
  const turns = [transposeA, transposeB];
  const factors = inputs.map((name, i) => (turns[i] ? transposed(name, node.inputs[i]!, to) : name));
  const found = to.emit("MatMul", factors);
  return scale === 1 ? found : to.emit("Mul", [found, to.scalar(scale)]);
}

function transposed(name: string, { shape }: Tensor, to: Lowering): string {
  const order = shape.map((_, i) => i);
  const perm = [...order.slice(0, -2), order.at(-1)!, order.at(-2)!];
  return to.emit("Transpose", [name], { attributes: { perm } });
}

/** A reduction over the last axis, which stays with one element. */
const overLast = (op: string, name: string, to: Lowering) =>
  to.emit(op, [name, to.integers([-1])], { attributes: { keepdims: 1 } });

/** With d = x − max x: d − log Σ exp d. */
const logSoftmax: Lower<"logSoftmax"> = (_, [x], to) => {
  const below = to.emit("Sub", [x!, overLast("ReduceMax", x!, to)]);
  return to.emit("Sub", [below, to.emit("Log", [overLast("ReduceSum", to.emit("Exp", [below]), to)])]);
};

/** a or b = not (not a and not b). */
const or: Lower<"or"> = (_, inputs, to) => {
  const neither = to.emit(
    "And",
    inputs.map((name) => to.emit("Not", [name])),
  );
  return to.emit("Not", [neither]);
};

/** The lowest place of the largest value: what ArgMax gives, int64, no kernel takes. */
const argMax: Lower<"argMax"> = (node, [x], to) => {
  const size = node.inputs[0]!.shape.at(-1)!;
  const asFloat = (name: string) => to.emit("Cast", [name], { attributes: { to: onnxTypes.float } });
  const isLargest = to.emit("Equal", [x!, overLast("ReduceMax", x!, to)]);
  const places = to.emit("Where", [isLargest, asFloat(range(to, size)), to.scalar(Number.POSITIVE_INFINITY)]);
  const first = to.emit("Cast", [overLast("ReduceMin", places, to)], { attributes: { to: onnxTypes.int } });
  return to.reshape(first, node.shape);
};

/** Rows of the page that differ. */
export const gpuLowering: { readonly [K in Op]?: Lower<K> } = {
  matmul,
  logSoftmax,
  or,
  argMax,
  sum: reduce("ReduceSum"),
};
