/** Weights by name, as PyTorch's state dicts have them: into a model, and out of it. */
import { reject } from "../base/errors.ts";
import { nearest } from "../base/nearest.ts";
import type { Tensor } from "../graph/index.ts";
import type { Parameter } from "../nn/index.ts";
import type { Weights } from "./language/language.ts";

/** A stored tensor, as safetensors and npy files give it. */
export interface NamedTensor {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number> | BigInt64Array;
}

export interface FloatRecord {
  readonly dtype: "F32";
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** The model's weights under their names, each once, ready for `writeSafetensors`. */
export function stateDict(parameters: readonly Parameter[], weights: Weights): Map<string, FloatRecord> {
  return new Map(
    parameters.map(({ name, tensor }) => {
      const data = weights.get(tensor) ?? reject({ who: `weight ${name}`, needed: "its values", got: "none" });
      return [name, { dtype: "F32", shape: tensor.attributes.shape, data }];
    }),
  );
}

/** Every parameter's values out of a state dict that holds these and no others; `who` names the file. */
export function loadStateDict(
  parameters: readonly Pick<Parameter, "name" | "tensor">[],
  tensors: ReadonlyMap<string, NamedTensor>,
  who = "state dict",
): Map<Tensor<"parameter">, Float32Array> {
  const names = new Set(parameters.map(({ name }) => name));
  const extra = [...tensors.keys()].find((name) => !names.has(name));
  if (extra !== undefined) {
    const guess = nearest(extra, [...names]);
    reject({
      who,
      needed: "only weights of the model",
      got: extra,
      remedy: guess ? `did you mean ${guess}?` : "check the number of layers, the final norm and the prefix",
    });
  }
  return new Map(parameters.map(({ name, tensor }) => [tensor, valuesOf(who, name, tensor, tensors.get(name))]));
}

function valuesOf(who: string, name: string, { attributes }: Tensor<"parameter">, stored?: NamedTensor): Float32Array {
  const needed = `[${attributes.shape}]`;
  if (!stored || `[${stored.shape}]` !== needed || stored.data instanceof BigInt64Array) {
    const got = !stored ? "nothing" : stored.data instanceof BigInt64Array ? "integers" : `[${stored.shape}]`;
    return reject({ who: `${who} / ${name}`, needed: `numbers of shape ${needed}`, got });
  }
  return stored.data instanceof Float32Array ? stored.data : Float32Array.from(stored.data);
}
