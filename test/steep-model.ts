/** A small language model whose first weights are large, and texts for it. */
import { RandomStream } from "../src/base/random.ts";
import type { Tensor } from "../src/graph/index.ts";
import { initialise, type Parameter } from "../src/nn/index.ts";

/** Its sizes, but for the plan. */
export const base = { vocabulary: 23, width: 16, heads: 4, length: 70 };

/** First weights, made so large that attention is far from uniform and ties are out of the question. */
export function weightsOf(model: {
  readonly parameters: readonly Parameter[];
}): Map<Tensor<"parameter">, Float32Array> {
  const entries = [...initialise(model.parameters, 5)];
  return new Map(
    entries.map(([tensor, values]) => [tensor, tensor.shape.length > 1 ? values.map((x) => 15 * x) : values]),
  );
}

/** So many ids. */
export function tokens(count: number): number[] {
  const random = new RandomStream(2, "tokens");
  return Array.from({ length: count }, () => random.integer(base.vocabulary));
}
