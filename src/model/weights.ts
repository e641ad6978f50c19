/** The values of a model's parameters. */
import { reject } from "../base/errors.ts";
import type { Tensor } from "../graph/index.ts";
import type { Parameter } from "../nn/index.ts";

/** Values of a model's parameters. */
export type Weights = ReadonlyMap<Tensor<"parameter">, Float32Array>;

/** The weights of all parameters of the model, and of no others; fails where one is missing or of another size. */
export function boundWeights(
  { parameters }: { readonly parameters: readonly Parameter[] },
  weights: Weights,
): Map<Tensor<"parameter">, Float32Array> {
  return new Map(
    parameters.map(({ name, tensor }) => {
      const value = weights.get(tensor);
      const count = tensor.attributes.shape.reduce((a, b) => a * b, 1);
      if (value?.length !== count) refuse(name, count, value, weights);
      return [tensor, value];
    }),
  );
}

function refuse(name: string, count: number, value: Float32Array | undefined, weights: Weights): never {
  const who = `weight ${name}`;
  const needed = `${count} values`;
  if (value) return reject({ who, needed, got: `${value.length}` });
  const foreign = [...weights.keys()].some(({ attributes }) => attributes.name === name);
  if (!foreign) return reject({ who, needed, got: "none" });
  const remedy = "bring them over by name: loadStateDict(model.parameters, stateDict(other.parameters, weights))";
  return reject({ who, needed, got: "those of another model with the same names", remedy });
}
