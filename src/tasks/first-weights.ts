/** Weights to start from: drawn from a seed, or those of another run. */
import { loadStateDict, type NamedTensor } from "../model/state-dict.ts";
import { initialise, type Parameter } from "../nn/index.ts";
import type { Weights } from "../train/stages.ts";

/** First weights: drawn from the seed, or taken by name. */
export function firstWeights(
  parameters: readonly Parameter[],
  seed: number,
  from?: ReadonlyMap<string, NamedTensor>,
): Weights {
  return from ? loadStateDict(parameters, from) : initialise(parameters, seed);
}
