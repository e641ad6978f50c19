/** First values of parameters, made when they are asked for: so they never stand in memory all at once. */
import { RandomStream } from "../base/random.ts";
import type { Weights } from "../graph/index.ts";
import type { ParameterTensor } from "./memory.ts";
import type { TrainableParameter } from "./objective.ts";

/** First values by parameter: a map, or what makes them. */
export type FirstValues = Pick<Weights, "size" | "get" | "keys">;

/** Each from a stream named after its parameter. */
export function firstValues(parameters: readonly TrainableParameter[], seed: number): FirstValues {
  const known = new Map(parameters.map((each) => [each.tensor, each]));
  const get = (tensor: ParameterTensor) => {
    const each = known.get(tensor);
    return each?.initial(tensor.attributes.shape, new RandomStream(seed, `initial ${each.name}`));
  };
  return { size: known.size, get, keys: () => known.keys() };
}
