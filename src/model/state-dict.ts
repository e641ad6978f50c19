/** Weights by name, as PyTorch's state dicts have them: into a model, and out of it. */
import { rejectData } from "../base/errors.ts";
import { nearest } from "../base/nearest.ts";
import type { Tensor } from "../graph/index.ts";
import { boundWeights, type Named, type Weights } from "./weights.ts";

export { boundWeights, type Weights } from "./weights.ts";

/** A tensor as files hold it, in row-major order: what `readSafetensors` and `readTorch` give. */
export interface NamedTensor {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number> | BigInt64Array;
}

/** Tensors by name. */
export type NamedTensors = ReadonlyMap<string, NamedTensor>;

/** A tensor of single precision, as `writeSafetensors` takes it. */
export interface FloatRecord {
  readonly dtype: "F32";
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** A copy of the model's weights under their names, each once, ready for `writeSafetensors`. */
export function stateDict(parameters: readonly Named[], weights: Weights): Map<string, FloatRecord> {
  const own = boundWeights({ parameters }, weights);
  return new Map(
    parameters.map(({ name, tensor }) => {
      return [name, { dtype: "F32", shape: tensor.attributes.shape, data: own.get(tensor)!.slice() }];
    }),
  );
}

/** A copy of every parameter's values out of a state dict that holds these and no others; `who` names the file. */
export function loadStateDict(
  parameters: readonly Named[],
  tensors: NamedTensors,
  who = "state dict",
): Map<Tensor<"parameter">, Float32Array> {
  const names = new Set(parameters.map(({ name }) => name));
  const extra = [...tensors.keys()].find((name) => !names.has(name));
  if (extra !== undefined) {
    const guess = nearest(extra, [...names]);
    rejectData({
      who,
      needed: "only weights of the model",
      got: extra,
      remedy: guess ? `did you mean ${guess}?` : "check the number of layers, the final norm and the prefix",
    });
  }
  return new Map(
    parameters.map(({ name, tensor }) => {
      return [tensor, floatsOf(`${who} / ${name}`, tensor.attributes.shape, tensors.get(name))];
    }),
  );
}

/** A copy of a stored tensor's values, which must be numbers of the given shape. */
export function floatsOf(who: string, shape: readonly number[], stored: NamedTensor | undefined): Float32Array {
  if (stored && `${stored.shape}` === `${shape}` && !(stored.data instanceof BigInt64Array)) {
    return new Float32Array(stored.data);
  }
  const got = !stored ? "nothing" : stored.data instanceof BigInt64Array ? "64-bit integers" : `[${stored.shape}]`;
  return rejectData({ who, needed: `numbers of shape [${shape}]`, got });
}
