/** Batches in parts: of processes that share them, or one after another. */
import { is } from "../graph/index.ts";
import { type Batches, tokensIn } from "./evaluate.ts";
import { type Divisible, outerOf, takePart } from "./parts.ts";
import type { Batch } from "./step-options.ts";
import type { Divided, Place, Share } from "./world.ts";

/** One part of a batch, for an objective that is built for as many rows as a part has. */
export function partOfBatch(
  batch: Batch,
  { inputs, sizes = {} }: Pick<Divided, "inputs" | "sizes">,
  { place, axes }: { readonly place: Place; readonly axes: ReadonlyMap<string, number> },
): Batch {
  const own = (name: string, values: ArrayLike<number>): ArrayLike<number> => {
    const tensor = inputs[name];
    const axis = axes.get(name);
    if (tensor && axis !== undefined) return takePart(numbers(values), outerOf(tensor.shape, axis), place);
    const rows = tensor && is(tensor, "input") && tensor.attributes.distinct ? sizes[`${tensor.shape[0]}`] : undefined;
    return rows === undefined ? values : ownRows(values, rows, place);
  };
  return Object.fromEntries(Object.entries(batch).map(([name, values]) => [name, own(name, values)]));
}

/** One process's part of every batch. */
export function partOf(batches: Batches, objective: Divided, { world, axes }: Share): Batches {
  const { count, fresh, length, rows } = batches;
  return {
    count,
    tokens: tokensIn(batches),
    ...(rows === undefined ? {} : { rows: rows / world.size }),
    ...(length === undefined ? {} : { length }),
    ...(fresh === undefined ? {} : { fresh }),
    at: (index) => partOfBatch(batches.at(index), objective, { place: world, axes }),
  };
}

const isArray = (values: ArrayLike<number>): values is Divisible => ArrayBuffer.isView(values);
const numbers = (values: ArrayLike<number>): Divisible => (isArray(values) ? values : Float64Array.from(values));

/** Numbers of rows of the whole batch that are this part's, counted from its first. */
function ownRows(values: ArrayLike<number>, rows: number, { rank }: Place): Int32Array {
  const first = rank * rows;
  return Int32Array.from(values)
    .filter((row) => row >= first && row < first + rows)
    .map((row) => row - first);
}
