/** Batches cut out of whole arrays, and how often a model that chooses is right. */
import { reject } from "../base/errors.ts";
import { check, whole } from "../base/options.ts";
import { type Batches, checkBatches } from "./evaluate.ts";
import type { Batch } from "./step-options.ts";
import type { Metric } from "./train.ts";

/** An array that a batch can be a part of. */
export type Rows = Float32Array | Int32Array;

/** How arrays are cut: `rows` examples lie in each, one after the other, `batch` of them make a batch. */
export interface ArrayBatching {
  readonly rows: number;
  readonly batch: number;
}

/** Batches of named arrays that hold as many examples each; what does not fill a last batch is left out. */
export function arrayBatches(arrays: Readonly<Record<string, Rows>>, { rows, batch }: ArrayBatching): Batches {
  check("arrayBatches / rows", rows, whole(1));
  check("arrayBatches / batch", batch, whole(1));
  const count = Math.floor(rows / batch);
  checkBatches({ count }, "arrayBatches");
  const sizes = Object.entries(arrays).map(([name, values]) => [name, values, sizeOf(name, values, rows)] as const);
  const at = (index: number): Batch => {
    const part = (values: Rows, size: number) => values.subarray(index * batch * size, (index + 1) * batch * size);
    return Object.fromEntries(sizes.map(([name, values, size]) => [name, part(values, size)]));
  };
  return { count, rows: batch, at };
}

/** Numbers of one example. */
function sizeOf(name: string, { length }: Rows, rows: number): number {
  if (length > 0 && length % rows === 0) return length / rows;
  return reject({ who: `arrayBatches / ${name}`, needed: `a multiple of ${rows} numbers`, got: `${length}` }, 2);
}

/** The share of rows whose label has the highest of the scores: `scores` names an output [B, K], `labels` an input [B]. */
export function accuracy(scores: string, labels: string): Metric {
  return (outputs, batch) => {
    const [given, truth] = [named(outputs, scores), Array.from(named(batch, labels))];
    const width = given.data.length / truth.length;
    const right = truth.filter((label, row) => label === highest(given.data, row * width, width));
    return right.length / truth.length;
  };
}

function highest(values: ArrayLike<number>, from: number, count: number): number {
  let best = 0;
  for (let i = 1; i < count; i++) if (values[from + i]! > values[from + best]!) best = i;
  return best;
}

function named<T>(values: Readonly<Record<string, T>>, name: string): T {
  if (Object.hasOwn(values, name)) return values[name]!;
  return reject({ who: "accuracy", needed: `one of ${Object.keys(values).join(", ")}`, got: name }, 2);
}
