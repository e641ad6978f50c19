/** An ALBERT for another vocabulary: rows of pieces that it knows go to their new places, those of others are drawn. */
import { rejectOption } from "../../base/errors.ts";
import type { Tensor, Weights } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { stateDict } from "../state-dict.ts";
import { type AlbertDescription, type DescribedAlbert, describedAlbert } from "./description.ts";

/** The table of pieces, with which masked words are guessed as well. */
const WORDS = "embeddings.word_embeddings.weight";
/** How likely each piece is before anything is read. */
const BIAS = "predictions.bias";

/** `rows` says of each piece of the new vocabulary which row it had, below 0 where it had none; all other weights stay. */
export function resizedAlbert<T extends DescribedAlbert & { description: AlbertDescription; weights: Weights }>(
  albert: T,
  rows: ArrayLike<number>,
  seed: number,
): T {
  const { model, heads } = albert.description;
  if (model.pairs) {
    const needed = "a model without a table of pairs, which are found by the numbers of their pieces";
    rejectOption({
      who: "resized ALBERT",
      needed,
      got: `${model.pairs} rows of pairs`,
      remedy: "keep its own tokenizer",
    });
  }
  const description = { model: { ...model, vocabulary: rows.length }, heads };
  const described = describedAlbert(description);
  const known = stateDict(albert.parameters, albert.weights);
  const drawn = initialise(described.parameters, seed);
  const weights = new Map<Tensor<"parameter">, Float32Array>();
  for (const { name, tensor } of described.parameters) {
    const { data } = known.get(name)!;
    const isTable = name === WORDS || name === BIAS;
    weights.set(tensor, isTable ? moved(data, drawn.get(tensor)!, rows, name === BIAS) : data);
  }
  return { ...albert, ...described, description, weights };
}

/** Known rows at their new places. New ones are as large as those, or a layer norm would hide them; of biases they are the mean. */
function moved(old: Float32Array, drawn: Float32Array, rows: ArrayLike<number>, isBias: boolean): Float32Array {
  const width = drawn.length / rows.length;
  const places = Array.from(rows, (row, i) => ({ row, i })).filter(({ row }) => row >= 0);
  const rowAt = (row: number) => old.subarray(row * width, (row + 1) * width);
  const kept = new Float32Array(places.length * width);
  for (const [k, { row }] of places.entries()) kept.set(rowAt(row), k * width);
  const found = places.length === 0 ? drawn.slice() : newRows(kept, drawn, isBias);
  for (const { row, i } of places) found.set(rowAt(row), i * width);
  return found;
}

function newRows(kept: Float32Array, drawn: Float32Array, isBias: boolean): Float32Array {
  if (isBias) return drawn.slice().fill(meanOf(kept, (x) => x));
  const sizeOf = (values: Float32Array) => Math.sqrt(meanOf(values, (x) => x * x));
  const factor = sizeOf(kept) / (sizeOf(drawn) || 1);
  return drawn.map((x) => x * factor);
}

const meanOf = (values: Float32Array, of: (x: number) => number) =>
  values.reduce((sum, x) => sum + of(x), 0) / values.length;
