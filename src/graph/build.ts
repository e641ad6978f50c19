/** The functions with which models are written: one an operation, and the few compositions everybody needs. */
import { type Dim, type Shape, sameShape, sizeOf } from "./dims.ts";
import { node } from "./tensor.ts";
import type { DType, Tensor } from "./vocabulary.ts";

/** A tensor, or a number that stands for a scalar constant. */
export type Operand = Tensor | number;

/** A value that is fed at each run, under a name; a dimension may be named instead of numbered. */
export function input(name: string, shape: Shape, dtype: DType = "float"): Tensor<"input"> {
  return node("input", [], { name, shape, dtype });
}

/** Ids of rows, none of which comes twice. */
export function distinctIds(name: string, shape: Shape): Tensor<"input"> {
  return node("input", [], { name, shape, dtype: "int", distinct: true });
}

/** Weights under a name. Used twice, it is the same weights twice: this is how layers are shared. */
export function parameter(name: string, shape: readonly number[]): Tensor<"parameter"> {
  return node("parameter", [], { name, shape });
}

/** Numbers that are part of the graph. */
export function constant(
  data: ArrayLike<number>,
  shape: readonly number[],
  dtype: DType = "float",
): Tensor<"constant"> {
  return node("constant", [], { data, shape, dtype });
}

/** One number, as a constant that broadcasts. */
export function scalar(value: number, dtype: DType = "float"): Tensor<"constant"> {
  return constant([value], [], dtype);
}

/** The same number everywhere, as a scalar that broadcasts. */
export function full(value: number, shape: Shape): Tensor {
  return broadcast(scalar(value), shape);
}

/** 0, 1, 2 … below a size, as integers. */
export const iota = (size: Dim) => node("iota", [], { size });

function pair(a: Operand, b: Operand): [Tensor, Tensor] {
  const dtype = typeof a === "object" ? a.dtype : typeof b === "object" ? b.dtype : "float";
  const lift = (x: Operand) => (typeof x === "number" ? scalar(x, dtype) : x);
  return [lift(a), lift(b)];
}

/** a + b, broadcast. */
export const add = (a: Operand, b: Operand) => node("add", pair(a, b), {});
/** a − b, broadcast. */
export const subtract = (a: Operand, b: Operand) => node("subtract", pair(a, b), {});
/** a · b by element, broadcast. */
export const multiply = (a: Operand, b: Operand) => node("multiply", pair(a, b), {});
/** a / b by element, broadcast. */
export const divide = (a: Operand, b: Operand) => node("divide", pair(a, b), {});
/** The larger of a and b by element. */
export const maximum = (a: Operand, b: Operand) => node("maximum", pair(a, b), {});
/** The smaller of a and b by element. */
export const minimum = (a: Operand, b: Operand) => node("minimum", pair(a, b), {});
/** Whether a = b, by element. */
export const equal = (a: Operand, b: Operand) => node("equal", pair(a, b), {});
/** Whether a < b, by element. */
export const less = (a: Operand, b: Operand) => node("less", pair(a, b), {});
/** Whether a > b, by element. */
export const greater = (a: Operand, b: Operand) => node("greater", pair(a, b), {});

/** −x. */
export const negate = (x: Tensor) => node("negate", [x], {});
/** |x|. */
export const abs = (x: Tensor) => node("abs", [x], {});
/** eˣ. */
export const exp = (x: Tensor) => node("exp", [x], {});
/** The natural logarithm. */
export const log = (x: Tensor) => node("log", [x], {});
/** √x. */
export const sqrt = (x: Tensor) => node("sqrt", [x], {});
/** The error function. */
export const erf = (x: Tensor) => node("erf", [x], {});
/** The hyperbolic tangent. */
export const tanh = (x: Tensor) => node("tanh", [x], {});
/** 1 / (1 + e⁻ˣ). */
export const sigmoid = (x: Tensor) => node("sigmoid", [x], {});
/** max(x, 0). */
export const relu = (x: Tensor) => node("relu", [x], {});
/** x · sigmoid(x). */
export const silu = (x: Tensor) => node("silu", [x], {});
/** x · Φ(x), exactly or by the approximation with tanh. */
export const gelu = (x: Tensor, form: "erf" | "tanh" = "erf") => node("gelu", [x], { form });
/** Whether x is false. */
export const not = (x: Tensor) => node("not", [x], {});
/** Whether both are true. */
export const and = (a: Tensor, b: Tensor) => node("and", [a, b], {});
/** Whether one of them is true. */
export const or = (a: Tensor, b: Tensor) => node("or", [a, b], {});
/** The same values as another type. */
export const cast = (x: Tensor, to: DType) => node("cast", [x], { to });
/** x itself, through which no gradient flows. */
export const stopGradient = (x: Tensor) => node("stopGradient", [x], {});
/** x itself, once the others are known: whatever is made of it is computed after them, and apart from what is made of x. */
export const after = (x: Tensor, others: readonly Tensor[]): Tensor =>
  others.length === 0 ? x : node("after", [x, ...others], {});

/** a where the condition holds, b elsewhere. */
export function select(condition: Tensor, a: Operand, b: Operand): Tensor<"select"> {
  return node("select", [condition, ...pair(a, b)], {});
}

/** Which sides of a product are transposed in their last two axes, and a factor. */
export interface MatmulOptions {
  transposeA?: boolean;
  transposeB?: boolean;
  scale?: number;
}

/** Matrix product over the last two axes; the axes before them broadcast. */
export function matmul(a: Tensor, b: Tensor, options: MatmulOptions = {}): Tensor<"matmul"> {
  const { transposeA = false, transposeB = false, scale = 1 } = options;
  return node("matmul", [a, b], { transposeA, transposeB, scale });
}

/** Over which axes to reduce, and whether they stay with size 1. */
export interface ReduceOptions {
  /** Axes to reduce; negative ones count from the end. Default: all. */
  axes?: readonly number[];
  keepDims?: boolean;
}

function reduction(x: Tensor, { axes, keepDims = false }: ReduceOptions) {
  const all = x.shape.map((_, i) => i);
  return { axes: axes ? axes.map((axis) => axisFrom(x, axis)).sort((a, b) => a - b) : all, keepDims };
}

function axisFrom(x: Tensor, axis: number): number {
  return axis < 0 ? axis + x.shape.length : axis;
}

/** Sum over axes. */
export const sum = (x: Tensor, options: ReduceOptions = {}) => node("sum", [x], reduction(x, options));
/** Mean over axes. */
export const mean = (x: Tensor, options: ReduceOptions = {}) => node("mean", [x], reduction(x, options));
/** Largest value over axes. */
export const max = (x: Tensor, options: ReduceOptions = {}) => node("max", [x], reduction(x, options));
/** Place of the largest value along the last axis. */
export const argMax = (x: Tensor) => node("argMax", [x], {});
/** Softmax along the last axis. */
export const softmax = (x: Tensor) => node("softmax", [x], {});
/** Logarithm of the softmax along the last axis. */
export const logSoftmax = (x: Tensor) => node("logSoftmax", [x], {});
/** 1 / √(variance + epsilon) along the last axis, which stays with size 1. */
export const inverseDeviation = (x: Tensor, epsilon: number) => node("inverseDeviation", [x], { epsilon });

/** (x − mean) / deviation along the last axis, times a gain, plus a bias. */
export function layerNorm(x: Tensor, gain: Tensor, bias: Tensor, epsilon: number): Tensor<"layerNorm"> {
  return node("layerNorm", [x, gain, bias], { epsilon });
}

/** Running sum along an axis, with or without the element itself, from either end. */
export function cumulativeSum(
  x: Tensor,
  axis: number,
  options: { exclusive?: boolean; reverse?: boolean } = {},
): Tensor<"cumulativeSum"> {
  const { exclusive = false, reverse = false } = options;
  return node("cumulativeSum", [x], { axis: axisFrom(x, axis), exclusive, reverse });
}

/** The same values in another shape. */
export function reshape(x: Tensor, shape: Shape): Tensor {
  return sameShape(x.shape, shape) ? x : node("reshape", [x], { shape });
}

/** x repeated along axes of size 1 or missing ones in front. */
export function broadcast(x: Tensor, shape: Shape): Tensor {
  return sameShape(x.shape, shape) ? x : node("broadcast", [x], { shape });
}

/** Axes in another order. */
export const transpose = (x: Tensor, permutation: readonly number[]) => node("transpose", [x], { permutation });

/** Tensors one after the other along an axis. */
export function concat(inputs: readonly Tensor[], axis: number): Tensor {
  const [first] = inputs;
  return first && inputs.length === 1 ? first : node("concat", inputs, { axis: first ? axisFrom(first, axis) : axis });
}

/** x[start … end) along an axis. */
export function slice(x: Tensor, axis: number, start: Dim, end: Dim): Tensor<"slice"> {
  return node("slice", [x], { axis: axisFrom(x, axis), start, end });
}

/** A value before and after x along an axis. */
export function pad(x: Tensor, axis: number, before: Dim, after: Dim, value = 0): Tensor<"pad"> {
  return node("pad", [x], { axis: axisFrom(x, axis), before, after, value });
}

/** Consecutive pieces of the given sizes along an axis. */
export function split(x: Tensor, axis: number, sizes: readonly number[]): Tensor[] {
  let start = 0;
  return sizes.map((size) => {
    const piece = slice(x, axis, start, start + size);
    start += size;
    return piece;
  });
}

/** Rows of a table by id. */
export const gather = (table: Tensor, ids: Tensor) => node("gather", [table, ids], {});
/** Places where a condition [N] holds, in order; their number is a named size. */
export const which = (condition: Tensor, size: string) => node("which", [condition], { size });
/** A table in which the rows of these ids are others. */
export const replaceRows = (table: Tensor, ids: Tensor, rows: Tensor) => node("replaceRows", [table, ids, rows], {});
/** Rows summed by id into a table of `size` rows; the pull-back of `gather`. */
export const scatterAdd = (ids: Tensor, rows: Tensor, size: Dim) => node("scatterAdd", [ids, rows], { size });
/** The element of each row at its id. */
export const pick = (x: Tensor, ids: Tensor) => node("pick", [x, ids], {});
/** Rows of zeros with a value at each id; the pull-back of `pick`. */
export const place = (values: Tensor, ids: Tensor, size: Dim) => node("place", [values, ids], { size });
/** Rows of zeros with a one at each id. */
export const oneHot = (ids: Tensor, size: Dim) => node("oneHot", [ids], { size });

/** x · x. */
export const square = (x: Tensor) => multiply(x, x);

/** All axes but the last as one: [B, T, C] → [B·T, C]. */
export function flattenRows(x: Tensor): Tensor {
  return reshape(x, [sizeOf(x.shape.slice(0, -1)), x.shape.at(-1)!]);
}

/** Adds an axis of size 1 at `axis`. */
export function expandDims(x: Tensor, axis: number): Tensor {
  const at = axis < 0 ? axis + x.shape.length + 1 : axis;
  return reshape(x, x.shape.toSpliced(at, 0, 1));
}

/** −log softmax(logits)[target], one value a row. */
export function crossEntropy(logits: Tensor, targets: Tensor): Tensor {
  return negate(pick(logSoftmax(logits), targets));
}
