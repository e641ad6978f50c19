/** Values of a model's parameters, and the check that they are this model's. */
import { type Tensor, type Weights, weightsOf } from "../graph/index.ts";
import type { Parameter } from "../nn/index.ts";

export type { Weights } from "../graph/index.ts";

/** What weights need to know of a parameter. */
export type Named = Pick<Parameter, "name" | "tensor">;

/** The weights of all parameters of a model and of no others; fails where one is missing, of another size, or another instance's. */
export function boundWeights(
  { parameters }: { readonly parameters: readonly Named[] },
  weights: Weights,
): Map<Tensor<"parameter">, Float32Array> {
  return weightsOf(
    parameters.map(({ tensor }) => tensor),
    weights,
  );
}
