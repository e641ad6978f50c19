/** The scale of embedding tables, which a model's function does not depend on but its learning does. */
import type { DescribedAlbert } from "../../model/albert/description.ts";
import { PAIR_WEIGHT } from "../../nn/index.ts";
import type { Weights } from "../../train/stages.ts";

const WORDS = "embeddings.word_embeddings.weight";

/**
 * Brings the tables to a deviation of their words. A layer norm takes the factor, common to all of them, out again; but AdamW's steps have
 * one length, so that large tables learn slowly. Masked words make them large: their scores are products with the same table.
 */
export function withEmbeddingsOf(deviation: number, { parameters }: DescribedAlbert, weights: Weights): Weights {
  const words = parameters.find(({ name }) => name === WORDS)!;
  const factor = deviation / deviationOf(weights.get(words.tensor)!);
  const tables = new Set(
    parameters.flatMap(({ name, role, tensor }) => (role === "table" && name !== PAIR_WEIGHT ? [tensor] : [])),
  );
  return new Map(
    [...weights].map(([tensor, values]) => [tensor, tables.has(tensor) ? scaled(values, factor) : values]),
  );
}

const deviationOf = (values: Float32Array) => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);
const scaled = (values: Float32Array, factor: number) => values.map((x) => x * factor);
