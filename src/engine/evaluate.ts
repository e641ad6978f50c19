/** What every operation means, in plain double-precision loops: the oracle that the fast runtime is held to. */
import { advance } from "../base/strides.ts";
import { evaluateDim, evaluateShape, type Sizes } from "../graph/dims.ts";
import type { DType, Op, Tensor } from "../graph/vocabulary.ts";
import { idError } from "./runtime-error.ts";

export interface Value {
  readonly shape: readonly number[];
  readonly data: Float64Array | Int32Array | Uint8Array;
}

type Data = Value["data"];
export type Evaluate<K extends Op> = (node: Tensor<K>, inputs: readonly Value[], sizes: Sizes) => Value;

const count = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

export function allocate(dtype: DType, length: number): Data {
  if (dtype === "float") return new Float64Array(length);
  return dtype === "int" ? new Int32Array(length) : new Uint8Array(length);
}

function stridesOf(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length).fill(1);
  for (let i = shape.length - 2; i >= 0; i--) strides[i] = strides[i + 1]! * shape[i + 1]!;
  return strides;
}

/** Strides of `shape` seen as `target`: 0 along broadcast axes. */
function broadcastStrides(shape: readonly number[], target: readonly number[]): number[] {
  const strides = stridesOf(shape);
  const extra = target.length - shape.length;
  return target.map((_, i) => (i < extra || shape[i - extra] === 1 ? 0 : strides[i - extra]!));
}

/** For each element of `target`, in order, the offset under the given strides. */
function offsets(target: readonly number[], strides: readonly number[], start = 0): Int32Array {
  const result = new Int32Array(count(target));
  const index = new Array<number>(target.length).fill(0);
  let offset = start;
  for (let k = 0; k < result.length; k++) {
    result[k] = offset;
    offset += advance(index, target, strides);
  }
  return result;
}

function elementwise(
  dtype: DType,
  shape: readonly number[],
  inputs: readonly Value[],
  f: (...x: number[]) => number,
): Value {
  const data = allocate(dtype, count(shape));
  const at = inputs.map((input) => offsets(shape, broadcastStrides(input.shape, shape)));
  const arrays = inputs.map((input) => input.data);
  for (let i = 0; i < data.length; i++) data[i] = f(...arrays.map((array, k) => array[at[k]![i]!]!));
  return { shape, data };
}

/** Element-wise with broadcasting, by a function of numbers. */
function map(f: (...x: number[]) => number): Evaluate<Op> {
  return (node, inputs) => {
    const rank = Math.max(...inputs.map((input) => input.shape.length));
    const dimension = (i: number) => {
      const dims = inputs.map((input) => input.shape[i - rank + input.shape.length] ?? 1);
      return dims.find((dim) => dim !== 1) ?? 1;
    };
    return elementwise(
      node.dtype,
      Array.from({ length: rank }, (_, i) => dimension(i)),
      inputs,
      f,
    );
  };
}

/** Copies of the elements at `at`. */
function take(input: Value, shape: readonly number[], at: Int32Array): Value {
  const data = blank(input, at.length);
  for (let i = 0; i < at.length; i++) data[i] = input.data[at[i]!]!;
  return { shape, data };
}

function blank(input: Value, length: number): Data {
  return input.data instanceof Float64Array
    ? new Float64Array(length)
    : input.data instanceof Int32Array
      ? new Int32Array(length)
      : new Uint8Array(length);
}

/** Folds the reduced axes of x, giving each result its elements' running value. */
function reduce(
  node: Tensor<"sum" | "mean" | "max">,
  x: Value,
  start: number,
  fold: (accumulated: number, value: number) => number,
): Value {
  const { axes, keepDims } = node.attributes;
  const kept = x.shape.map((dim, i) => (axes.includes(i) ? 1 : dim));
  const data = new Float64Array(count(kept)).fill(start);
  const strides = broadcastStrides(kept, x.shape);
  const at = offsets(x.shape, strides);
  for (let i = 0; i < at.length; i++) data[at[i]!] = fold(data[at[i]!]!, x.data[i]!);
  return { shape: keepDims ? kept : x.shape.filter((_, i) => !axes.includes(i)), data };
}

/** Applies f to each row of the last axis: (source, start, width, target). */
function eachRow(x: Value, f: (source: Data, start: number, width: number, target: Float64Array) => void): Value {
  const width = x.shape.at(-1)!;
  const data = new Float64Array(x.data.length);
  for (let start = 0; start < data.length; start += width) f(x.data, start, width, data);
  return { shape: x.shape, data };
}

function logSumExp(source: Data, start: number, width: number): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = start; i < start + width; i++) largest = Math.max(largest, source[i]!);
  let total = 0;
  for (let i = start; i < start + width; i++) total += Math.exp(source[i]! - largest);
  return largest + Math.log(total);
}

function moments(source: Data, start: number, width: number): { mean: number; variance: number } {
  let mean = 0;
  for (let i = start; i < start + width; i++) mean += source[i]! / width;
  let variance = 0;
  for (let i = start; i < start + width; i++) variance += (source[i]! - mean) ** 2 / width;
  return { mean, variance };
}

function matmul(node: Tensor<"matmul">, inputs: readonly Value[]): Value {
  const [a, b] = [inputs[0]!, inputs[1]!];
  const { transposeA, transposeB, scale } = node.attributes;
  const [m, inner] = transposeA ? [a.shape.at(-1)!, a.shape.at(-2)!] : [a.shape.at(-2)!, a.shape.at(-1)!];
  const n = transposeB ? b.shape.at(-2)! : b.shape.at(-1)!;
  const batch = batchShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const atA = offsets(batch, broadcastStrides(a.shape.slice(0, -2), batch));
  const atB = offsets(batch, broadcastStrides(b.shape.slice(0, -2), batch));
  const [rowA, columnA] = transposeA ? [1, m] : [inner, 1];
  const [rowB, columnB] = transposeB ? [1, inner] : [n, 1];
  const data = new Float64Array(atA.length * m * n);
  for (let k = 0; k < atA.length; k++) {
    const startA = atA[k]! * m * inner;
    const startB = atB[k]! * inner * n;
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let total = 0;
        for (let c = 0; c < inner; c++) {
          total += a.data[startA + i * rowA + c * columnA]! * b.data[startB + c * rowB + j * columnB]!;
        }
        data[(k * m + i) * n + j] = total * scale;
      }
    }
  }
  return { shape: [...batch, m, n], data };
}

function batchShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = a[i - rank + a.length] ?? 1;
    const y = b[i - rank + b.length] ?? 1;
    return x === 1 ? y : x;
  });
}

function layerNorm(node: Tensor<"layerNorm">, inputs: readonly Value[]): Value {
  const [x, gain, bias] = [inputs[0]!, inputs[1]!.data, inputs[2]!.data];
  return eachRow(x, (source, start, width, target) => {
    const { mean, variance } = moments(source, start, width);
    const inverse = 1 / Math.sqrt(variance + node.attributes.epsilon);
    for (let i = 0; i < width; i++) target[start + i] = (source[start + i]! - mean) * inverse * gain[i]! + bias[i]!;
  });
}

function cumulativeSum(node: Tensor<"cumulativeSum">, inputs: readonly Value[]): Value {
  const { axis, exclusive, reverse } = node.attributes;
  const x = inputs[0]!;
  const length = x.shape[axis]!;
  const stride = count(x.shape.slice(axis + 1));
  const data = new Float64Array(x.data.length);
  for (let start = 0; start < data.length; start++) {
    if (Math.floor(start / stride) % length !== 0) continue;
    let total = 0;
    for (let k = 0; k < length; k++) {
      const at = start + (reverse ? length - 1 - k : k) * stride;
      if (exclusive) data[at] = total;
      total += x.data[at]!;
      if (!exclusive) data[at] = total;
    }
  }
  return { shape: x.shape, data };
}

function concat(node: Tensor<"concat">, inputs: readonly Value[]): Value {
  const { axis } = node.attributes;
  const shape = [...inputs[0]!.shape];
  shape[axis] = inputs.reduce((total, input) => total + input.shape[axis]!, 0);
  const data = blank(inputs[0]!, count(shape));
  const strides = stridesOf(shape);
  let start = 0;
  for (const input of inputs) {
    const at = offsets(input.shape, strides, start * strides[axis]!);
    at.forEach((target, i) => {
      data[target] = input.data[i]!;
    });
    start += input.shape[axis]!;
  }
  return { shape, data };
}

function slice(node: Tensor<"slice">, inputs: readonly Value[], sizes: Sizes): Value {
  const x = inputs[0]!;
  const { axis } = node.attributes;
  const [start, end] = [evaluateDim(node.attributes.start, sizes), evaluateDim(node.attributes.end, sizes)];
  const shape = x.shape.with(axis, end - start);
  const strides = stridesOf(x.shape);
  return take(x, shape, offsets(shape, strides, start * strides[axis]!));
}

function pad(node: Tensor<"pad">, inputs: readonly Value[], sizes: Sizes): Value {
  const x = inputs[0]!;
  const { axis, value } = node.attributes;
  const [before, after] = [evaluateDim(node.attributes.before, sizes), evaluateDim(node.attributes.after, sizes)];
  const shape = x.shape.with(axis, x.shape[axis]! + before + after);
  const data = new Float64Array(count(shape)).fill(value);
  const strides = stridesOf(shape);
  offsets(x.shape, strides, before * strides[axis]!).forEach((target, i) => {
    data[target] = x.data[i]!;
  });
  return { shape, data };
}

function gather(_: Tensor, inputs: readonly Value[]): Value {
  const [table, ids] = [inputs[0]!, inputs[1]!];
  const rest = table.shape.slice(1);
  const width = count(rest);
  const data = blank(table, ids.data.length * width);
  ids.data.forEach((id, i) => {
    if (!(id >= 0 && id < table.shape[0]!)) throw idError(id, table.shape[0]!);
    data.set(table.data.subarray(id * width, (id + 1) * width), i * width);
  });
  return { shape: [...ids.shape, ...rest], data };
}

function which(_: Tensor, inputs: readonly Value[]): Value {
  const found: number[] = [];
  inputs[0]!.data.forEach((isTrue, i) => {
    if (isTrue) found.push(i);
  });
  return { shape: [found.length], data: Int32Array.from(found) };
}

function replaceRows(_: Tensor, inputs: readonly Value[]): Value {
  const [table, ids, rows] = inputs as [Value, Value, Value];
  const data = blank(table, table.data.length);
  data.set(table.data);
  const width = count(table.shape.slice(1));
  ids.data.forEach((id, i) => {
    data.set(rows.data.subarray(i * width, (i + 1) * width), id * width);
  });
  return { shape: table.shape, data };
}

function scatterAdd(node: Tensor<"scatterAdd">, inputs: readonly Value[], sizes: Sizes): Value {
  const [ids, rows] = [inputs[0]!, inputs[1]!];
  const shape = [evaluateDim(node.attributes.size, sizes), ...rows.shape.slice(ids.shape.length)];
  const width = count(shape.slice(1));
  const data = new Float64Array(count(shape));
  ids.data.forEach((id, i) => {
    for (let c = 0; c < width; c++) data[id * width + c]! += rows.data[i * width + c]!;
  });
  return { shape, data };
}

/** One value a row at `ids`, zero elsewhere. */
function placeAt(ids: Value, size: number, value: (i: number) => number): Value {
  const data = new Float64Array(ids.data.length * size);
  ids.data.forEach((id, i) => {
    data[i * size + id] = value(i);
  });
  return { shape: [...ids.shape, size], data };
}

/** erf to double precision: Taylor series near 0, continued fraction for erfc beyond. */
export function erf(x: number): number {
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  if (a < 3) {
    let term = a;
    let total = a;
    for (let n = 1; Math.abs(term) > 1e-17 * total; n++) {
      term *= (-a * a) / n;
      total += term / (2 * n + 1);
    }
    return Math.sign(x) * (2 / Math.sqrt(Math.PI)) * total;
  }
  let fraction = a;
  for (let n = 60; n > 0; n--) fraction = a + n / 2 / fraction;
  return Math.sign(x) * (1 - Math.exp(-a * a) / (Math.sqrt(Math.PI) * fraction));
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const geluErf = (x: number) => 0.5 * x * (1 + erf(x * Math.SQRT1_2));
const geluTanh = (x: number) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

/** The meaning of each operation. Leaves are bound by the engine before evaluation. */
export const evaluation: { readonly [K in Op]: Evaluate<K> } = {
  input: (node) => unbound(node),
  parameter: (node) => unbound(node),
  constant: (node) => {
    const { data, dtype, shape } = node.attributes;
    const copy = allocate(dtype, data.length);
    copy.set(Array.from(data));
    return { shape, data: copy };
  },
  iota: (node, _, sizes) => {
    const size = evaluateDim(node.attributes.size, sizes);
    return { shape: [size], data: Int32Array.from({ length: size }, (_, i) => i) };
  },

  add: map((a, b) => a! + b!),
  subtract: map((a, b) => a! - b!),
  multiply: map((a, b) => a! * b!),
  divide: (node, inputs, sizes) =>
    map((a, b) => (node.dtype === "int" ? Math.trunc(a! / b!) : a! / b!))(node, inputs, sizes),
  maximum: map((a, b) => Math.max(a!, b!)),
  minimum: map((a, b) => Math.min(a!, b!)),
  negate: map((x) => -x!),
  abs: map((x) => Math.abs(x!)),
  exp: map((x) => Math.exp(x!)),
  log: map((x) => Math.log(x!)),
  sqrt: map((x) => Math.sqrt(x!)),
  erf: map((x) => erf(x!)),
  tanh: map((x) => Math.tanh(x!)),
  sigmoid: map((x) => sigmoid(x!)),
  relu: map((x) => Math.max(x!, 0)),
  silu: map((x) => x! * sigmoid(x!)),
  gelu: (node, inputs, sizes) => map(node.attributes.form === "erf" ? geluErf : geluTanh)(node, inputs, sizes),
  equal: map((a, b) => Number(a! === b!)),
  less: map((a, b) => Number(a! < b!)),
  greater: map((a, b) => Number(a! > b!)),
  not: map((x) => 1 - x!),
  and: map((a, b) => a! & b!),
  or: map((a, b) => a! | b!),
  select: map((condition, a, b) => (condition! ? a! : b!)),
  cast: (node, inputs, sizes) =>
    map((x) => (node.attributes.to === "bool" ? Number(x! !== 0) : x!))(node, inputs, sizes),
  stopGradient: (_, inputs) => inputs[0]!,
  after: (_, inputs) => inputs[0]!,

  matmul,
  sum: (node, inputs) => reduce(node, inputs[0]!, 0, (a, b) => a + b),
  mean: (node, inputs) => {
    const total = reduce(node, inputs[0]!, 0, (a, b) => a + b);
    const each = count(inputs[0]!.shape) / Math.max(1, count(total.shape));
    return { shape: total.shape, data: total.data.map((x) => (each === 0 ? 0 : x / each)) };
  },
  max: (node, inputs) => reduce(node, inputs[0]!, Number.NEGATIVE_INFINITY, Math.max),
  argMax: (_, inputs) => {
    const x = inputs[0]!;
    const width = x.shape.at(-1)!;
    const best = new Int32Array(count(x.shape.slice(0, -1)));
    for (let i = 0; i < x.data.length; i++) {
      const row = Math.floor(i / width);
      if (x.data[i]! > x.data[row * width + best[row]!]!) best[row] = i % width;
    }
    return { shape: x.shape.slice(0, -1), data: best };
  },
  softmax: (_, inputs) =>
    eachRow(inputs[0]!, (source, start, width, target) => {
      const total = logSumExp(source, start, width);
      for (let i = start; i < start + width; i++) target[i] = Math.exp(source[i]! - total);
    }),
  logSoftmax: (_, inputs) =>
    eachRow(inputs[0]!, (source, start, width, target) => {
      const total = logSumExp(source, start, width);
      for (let i = start; i < start + width; i++) target[i] = source[i]! - total;
    }),
  layerNorm,
  inverseDeviation: (node, inputs) => {
    const x = inputs[0]!;
    const width = x.shape.at(-1)!;
    const data = Float64Array.from({ length: count(x.shape.slice(0, -1)) }, (_, row) => {
      return 1 / Math.sqrt(moments(x.data, row * width, width).variance + node.attributes.epsilon);
    });
    return { shape: [...x.shape.slice(0, -1), 1], data };
  },
  cumulativeSum,

  reshape: (node, inputs, sizes) => ({ shape: evaluateShape(node.attributes.shape, sizes), data: inputs[0]!.data }),
  broadcast: (node, inputs, sizes) => {
    const shape = evaluateShape(node.attributes.shape, sizes);
    return take(inputs[0]!, shape, offsets(shape, broadcastStrides(inputs[0]!.shape, shape)));
  },
  transpose: (node, inputs) => {
    const x = inputs[0]!;
    const { permutation } = node.attributes;
    const strides = stridesOf(x.shape);
    const shape = permutation.map((axis) => x.shape[axis]!);
    return take(
      x,
      shape,
      offsets(
        shape,
        permutation.map((axis) => strides[axis]!),
      ),
    );
  },
  concat,
  slice,
  pad,

  gather,
  which,
  replaceRows,
  scatterAdd,
  pick: (_, inputs) => {
    const [x, ids] = [inputs[0]!, inputs[1]!];
    const width = x.shape.at(-1)!;
    const valueAt = (id: number, i: number) => {
      if (!(id >= 0 && id < width)) throw idError(id, width);
      return x.data[i * width + id]!;
    };
    return { shape: ids.shape, data: Float64Array.from(ids.data, valueAt) };
  },
  place: (node, inputs, sizes) =>
    placeAt(inputs[1]!, evaluateDim(node.attributes.size, sizes), (i) => inputs[0]!.data[i]!),
  oneHot: (node, inputs, sizes) => placeAt(inputs[0]!, evaluateDim(node.attributes.size, sizes), () => 1),
};

function unbound(node: Tensor<"input" | "parameter">): never {
  throw new Error(`${node.op} ${node.attributes.name} has no value`);
}
