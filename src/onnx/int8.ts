/** Weights as 8-bit integers with a scale per output: which of a graph's, their numbers, and what is computed with them. */
import { is, type Tensor } from "../graph/index.ts";
import { type Lowering, onnxTypes } from "./lowering.ts";
import { MICROSOFT } from "./proto.ts";

/** The axis along which each slice of a matrix has a scale of its own. */
type Axis = 0 | 1;

/** Smaller matrices, such as a halting unit's, gain nothing and stay as they are. */
const LEAST = 16;

type Users = ReadonlyMap<Tensor, readonly Tensor[]>;

/** The axis of the outputs if a user takes rows of a matrix or multiplies by it, or by a part of it, from the right; undefined for anything else. */
function axisFor(user: Tensor, weight: Tensor, users: Users): Axis | undefined {
  const [first, second] = user.inputs;
  if (is(user, "slice")) return int8Axis(user, users);
  if (is(user, "gather")) return first === weight && second !== weight && second!.op !== "which" ? 0 : undefined;
  if (!is(user, "matmul") || second !== weight || first === weight) return undefined;
  const { transposeA, transposeB } = user.attributes;
  return first!.shape.length === 2 && !transposeA ? (transposeB ? 0 : 1) : undefined;
}

/** The axis of a weight's scales if it can be stored as 8-bit integers: a matrix whose uses all agree. */
export function int8Axis(weight: Tensor, users: Users): Axis | undefined {
  const { shape } = weight;
  if (shape.length !== 2 || shape.some((dim) => typeof dim !== "number" || dim < LEAST)) return undefined;
  const [axis, ...others] = (users.get(weight) ?? []).map((user) => axisFor(user, weight, users));
  return others.every((other) => other === axis) ? axis : undefined;
}

/** Numbers from −127 to 127 and a scale for each row (axis 0) or column (axis 1): the largest of a slice is 127. */
export function quantised(
  data: Float32Array,
  [rows, columns]: readonly [number, number],
  axis: Axis,
): { numbers: Int8Array; scales: Float32Array } {
  const scales = new Float32Array(axis === 0 ? rows : columns);
  const numbers = new Int8Array(data.length);
  const each = (visit: (at: number, slice: number) => void) => {
    for (let row = 0, at = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++, at++) visit(at, axis === 0 ? row : column);
    }
  };
  each((at, slice) => {
    const size = Math.abs(data[at]!);
    if (size > scales[slice]!) scales[slice] = size;
  });
  for (let i = 0; i < scales.length; i++) scales[i] = scales[i]! > 0 ? scales[i]! / 127 : 1;
  each((at, slice) => {
    numbers[at] = Math.round(data[at]! / scales[slice]!);
  });
  return { numbers, scales };
}

/**
 * What stands for 0. Numbers are stored without a sign: with signs, processors that lack dot products of bytes (VNNI) add pairs of products
 * in 16 bits, which overflow.
 */
const ZERO = 128;

/** Stores a weight under its name as 8-bit integers, with its scales beside it. */
export function storeInt8(name: string, weight: Tensor, data: Float32Array, axis: Axis, to: Lowering): void {
  const { numbers, scales } = quantised(data, weight.shape as [number, number], axis);
  const unsigned = Uint8Array.from(numbers, (number) => number + ZERO);
  to.store(name, "uint8", weight.shape as readonly number[], unsigned);
  to.int8.set(weight, { scales, axis });
}

/** A part of such a weight is one, too. */
export function int8Part(node: Tensor<"slice">, to: Lowering): void {
  const { axis: along, start, end } = node.attributes;
  const { scales, axis } = to.int8.get(node.inputs[0]!)!;
  to.int8.set(node, { axis, scales: along === axis ? scales.subarray(start as number, end as number) : scales });
}

/** Its scales times a number, stored once for each. */
function storedScales(weight: Tensor, factor: number, to: Lowering): string {
  const scales = to.int8.get(weight)!.scales.map((each) => each * factor);
  return to.once(`scales ${to.names.get(weight)} ${factor}`, () =>
    to.store(to.fresh("scales"), "float", [scales.length], scales),
  );
}

/** As many zeros as it has scales. */
function storedZeros(weight: Tensor, to: Lowering): string {
  const { length } = to.int8.get(weight)!.scales;
  return to.once(`zeros ${length}`, () =>
    to.store(to.fresh("zeros"), "uint8", [length], new Uint8Array(length).fill(ZERO)),
  );
}

/** A product with such a weight: the runtime turns the left factor into 8-bit integers, too, by its own range in each run. */
export function int8Product(node: Tensor<"matmul">, [a, b, bias]: readonly string[], to: Lowering): string {
  const { transposeB, scale } = node.attributes;
  const scales = storedScales(node.inputs[1]!, scale, to);
  const turned = () => to.once(`turned ${b}`, () => to.emit("Transpose", [b!], { attributes: { perm: [1, 0] } }));
  const inputs = [a!, transposeB ? turned() : b!, scales, storedZeros(node.inputs[1]!, to), bias ?? ""];
  return to.emit("DynamicQuantizeMatMul", inputs, { domain: MICROSOFT });
}

/** Rows of such a weight, as floating-point numbers. */
export function int8Rows(node: Tensor<"gather">, [table, ids]: readonly string[], to: Lowering): string {
  const scales = storedScales(node.inputs[0]!, 1, to);
  const rows = to.emit("Cast", [to.emit("Gather", [table!, ids!])], { attributes: { to: onnxTypes.float } });
  const own = to.emit("Unsqueeze", [to.emit("Gather", [scales, ids!]), to.integers([-1])]);
  return to.emit("Mul", [to.emit("Sub", [rows, to.scalar(ZERO)]), own]);
}
