/** Values of parameters: a map by tensor, and the check that it belongs to the tensors at hand. */
import { rejectData } from "../base/errors.ts";
import type { Tensor } from "./vocabulary.ts";

/** Values of a model's parameters. */
export type Weights = ReadonlyMap<Tensor<"parameter">, Float32Array>;

/** The values of these parameters and of no others; fails where one is missing, of another size, or another model's. */
export function weightsOf(
  parameters: readonly Tensor<"parameter">[],
  weights: ReadonlyMap<Tensor, Float32Array>,
): Map<Tensor<"parameter">, Float32Array> {
  return new Map(parameters.map((tensor) => [tensor, weightOf(tensor, weights)]));
}

/** The values of one parameter; refuses others' and those of another size. */
export function weightOf(
  tensor: Tensor<"parameter">,
  weights: Pick<ReadonlyMap<Tensor, Float32Array>, "get" | "keys">,
): Float32Array {
  const { name, shape } = tensor.attributes;
  const values = weights.get(tensor);
  const count = shape.reduce((a, b) => a * b, 1);
  if (values?.length === count) return values;
  if (!values) refuseForeign(tensor, weights);
  return rejectData({ who: `weight ${name}`, needed: `${count} values`, got: values ? `${values.length}` : "none" });
}

/** Refuses values that were meant for another tensor of this name: the weights of another instance of a model. */
export function refuseForeign(
  { attributes: { name } }: Tensor<"parameter">,
  weights: Pick<ReadonlyMap<Tensor, unknown>, "keys">,
): void {
  for (const { attributes } of weights.keys()) {
    if ((attributes as { name?: string }).name !== name) continue;
    rejectData({
      who: `weight ${name}`,
      needed: "weights of this instance of the model",
      got: "those of another instance",
      remedy: "load them with loadStateDict(model.parameters, stateDict(other.parameters, weights))",
    });
  }
}
