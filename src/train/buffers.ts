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
    return reject({ who: `batch / ${name}`, needed, got: values ? `${values.length}` : "nothing" });
  }
  if (open) sizes.set(open, size);
  array.set(values);
  return viewOf(buffer, sizes);
}
