/** Arrays for tensors whose named dimensions differ from run to run: room for the largest, and views of what is in use. */
import { reject } from "../base/errors.ts";
import type { Feed } from "../engine/engine.ts";
import { evaluateShape, type Shape } from "../graph/index.ts";

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

/** Copies values in; an input with one named dimension says by its length how large that is. */
export function fill(
  name: string,
  buffer: Buffer,
  values: ArrayLike<number> | undefined,
  sizes: Map<string, number>,
): Feed {
  const { array, shape } = buffer;
  const open = shape.length === 1 && typeof shape[0] === "string" ? shape[0] : undefined;
  const fits = values && (open ? values.length <= array.length : values.length === array.length);
  if (!fits) {
    const needed = `${open ? "at most " : ""}${array.length} numbers`;
    return reject({ who: `batch / ${name}`, needed, got: values ? `${values.length}` : "nothing" });
  }
  if (open) sizes.set(open, values.length);
  array.set(values);
  return viewOf(buffer, sizes);
}
