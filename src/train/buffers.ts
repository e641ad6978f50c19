/** Arrays for tensors whose named dimensions differ from run to run: room for the largest, and views of what is in use. */
import { rejectData, rejectShape } from "../base/errors.ts";
import { didYouMean, printed } from "../base/options.ts";
import type { Feed } from "../engine/engine.ts";
import { type DType, evaluateShape, printShape, type Shape, type Tensor } from "../graph/index.ts";

export interface Buffer {
  /** As long as the largest tensor. */
  readonly array: Float32Array | Int32Array;
  readonly shape: Shape;
}

export const newBuffer = (array: Float32Array | Int32Array, shape: Shape): Buffer => ({ array, shape });

/** The part in use, once the named dimensions are known. */
export function viewOf({ array, shape }: Buffer, sizes: ReadonlyMap<string, number>): Feed {
  const known = evaluateShape(shape, sizes);
  const length = known.reduce((a, b) => a * b, 1);
  return { data: length === array.length ? array : array.subarray(0, length), shape: known };
}

/** The name of the last dimension, where it has one, and how many rows of that size there are. */
function openEnd(shape: Shape): { open: string | undefined; rows: number } {
  const [last, before] = [shape.at(-1), shape.slice(0, -1)];
  const open = typeof last === "string" && before.every((dim) => typeof dim === "number") ? last : undefined;
  return { open, rows: open ? before.reduce<number>((a, b) => a * Number(b), 1) : 1 };
}

/** Copies values in; an input whose last dimension is a name, the only one, says by its length how large that is. */
export function fill(
  name: string,
  buffer: Buffer,
  values: ArrayLike<number> | undefined,
  sizes: Map<string, number>,
): Feed {
  const { array, shape } = buffer;
  const { open, rows } = openEnd(shape);
  const size = (values?.length ?? 0) / rows;
  const fits =
    values && (open ? Number.isInteger(size) && values.length <= array.length : values.length === array.length);
  if (!fits) {
    const needed = `${open ? "at most " : ""}${array.length} numbers${rows > 1 ? ` in ${rows} rows` : ""}`;
    return rejectShape({ who: `batch / ${name}`, needed, got: values ? `${values.length}` : "nothing" });
  }
  if (array instanceof Int32Array) checkWhole(name, values);
  if (open) sizes.set(open, size);
  array.set(values);
  return viewOf(buffer, sizes);
}

/** Numbers of a batch as a program takes them: as they are where the type is right, else converted without loss. */
function numbersFor(name: string, dtype: DType, values: ArrayLike<number>): Float32Array | Int32Array | Uint8Array {
  if (typeof values?.length !== "number") {
    return rejectShape({ who: `batch / ${name}`, needed: "an array of numbers", got: printed(values) });
  }
  if (dtype === "float") return values instanceof Float32Array ? values : Float32Array.from(values);
  if (dtype === "bool")
    return values instanceof Uint8Array ? values : Uint8Array.from(values, (each) => Number(each !== 0));
  checkWhole(name, values);
  return values instanceof Int32Array ? values : Int32Array.from(values);
}

/** Ids are whole numbers: arrays of floats are refused, and plain arrays that hold one. */
function checkWhole(name: string, values: ArrayLike<number>): void {
  if (values instanceof Int32Array) return;
  const needed = "whole numbers, as an Int32Array";
  if (values instanceof Float32Array || values instanceof Float64Array) {
    rejectData({ who: `batch / ${name}`, needed, got: values.constructor.name });
  }
  for (let i = 0; i < values.length; i++) {
    if (Number.isInteger(values[i])) continue;
    rejectData({ who: `batch / ${name}`, needed, got: `${values[i]} at index ${i}` });
  }
}

/** A batch holds nothing that the model does not ask for. */
export function refuseExtras(batch: object, known: Readonly<Record<string, unknown>>): void {
  for (const name in batch) {
    if (Object.hasOwn(known, name)) continue;
    const names = Object.keys(known);
    const remedy = didYouMean(name, names) ?? "leave it out";
    rejectData({
      who: `batch / ${name}`,
      needed: `an input of the model (${names.join(", ")})`,
      got: "none of that name",
      remedy,
    });
  }
}

/** Values with their shape; a named first dimension is as long as they are. */
export function feedOf(name: string, { shape, dtype }: Tensor, values: ArrayLike<number> | undefined): Feed {
  if (!values) return rejectShape({ who: `batch / ${name}`, needed: `${dtype} ${printShape(shape)}`, got: "nothing" });
  const data = numbersFor(name, dtype, values);
  return { data, shape: shape.map((dim) => (typeof dim === "number" ? dim : values.length)) };
}
