/** Batches of which one process has a part. */
import type { World } from "../engine/engine.ts";
import { is } from "../graph/index.ts";
import { type Batches, tokensIn } from "./evaluate.ts";
import { type Divided, type Divisible, outerOf, type Share, takePart } from "./world.ts";

/** One process's part of every batch. */
export function partOf(batches: Batches, { inputs, sizes = {} }: Divided, { world, axes }: Share): Batches {
  const own = (name: string, values: ArrayLike<number>): ArrayLike<number> => {
    const tensor = inputs[name];
    const axis = axes.get(name);
    if (tensor && axis !== undefined) return takePart(numbers(values), outerOf(tensor.shape, axis), world);
    const rows = tensor && is(tensor, "input") && tensor.attributes.distinct ? sizes[`${tensor.shape[0]}`] : undefined;
    return rows === undefined ? values : ownRows(values, rows, world);
  };
  const { count, fresh, length, rows } = batches;
  return {
    count,
    tokens: tokensIn(batches),
    ...(rows === undefined ? {} : { rows: rows / world.size }),
    ...(length === undefined ? {} : { length }),
    ...(fresh === undefined ? {} : { fresh }),
    at: (index) =>
      Object.fromEntries(Object.entries(batches.at(index)).map(([name, values]) => [name, own(name, values)])),
  };
}

const isArray = (values: ArrayLike<number>): values is Divisible => ArrayBuffer.isView(values);
const numbers = (values: ArrayLike<number>): Divisible => (isArray(values) ? values : Float64Array.from(values));

/** Numbers of rows of the whole batch that are this process's, counted from its first. */
function ownRows(values: ArrayLike<number>, rows: number, { rank }: World): Int32Array {
  const first = rank * rows;
  return Int32Array.from(values)
    .filter((row) => row >= first && row < first + rows)
    .map((row) => row - first);
}
