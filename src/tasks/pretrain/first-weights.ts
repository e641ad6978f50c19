/** First weights of a pre-training: drawn from the seed, but for the bias of guesses, which may start at how frequent each piece is. */
import type { DescribedAlbert } from "../../model/albert/description.ts";
import { initialise } from "../../nn/index.ts";
import type { MaskedBatches } from "../../text/masked/batches.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import type { PretrainingConfig } from "./settings.ts";

const BIAS = "predictions.bias";
/** Batches to count in: some hundred thousand words. */
const COUNTED = 600;

/**
 * With `frequencyBias` the first guess is how frequent each piece is. Otherwise embeddings learn that first, for it pays most: they all
 * turn into one direction, along which pieces differ by frequency alone, and have to leave it again.
 */
export function firstWeights(
  { seed, frequencyBias }: Pick<PretrainingConfig, "seed" | "frequencyBias">,
  { parameters }: Pick<DescribedAlbert, "parameters">,
  batches: Pick<MaskedBatches, "count" | "at">,
): Map<ParameterTensor, Float32Array> {
  const weights = new Map(initialise(parameters, seed));
  const bias = parameters.find(({ name }) => name === BIAS);
  if (!frequencyBias || !bias) return weights;
  return weights.set(bias.tensor, logShares(batches, weights.get(bias.tensor)!.length));
}

/** Logarithms of the pieces' shares of the words to be guessed; half an occurrence more for each, so that none is impossible. */
function logShares({ count, at }: Pick<MaskedBatches, "count" | "at">, pieces: number): Float32Array {
  const counts = new Float64Array(pieces).fill(0.5);
  for (let i = 0; i < Math.min(COUNTED, count); i++) {
    const { maskedIds, maskedWeights } = at(i);
    for (const [place, id] of maskedIds.entries()) counts[id]! += maskedWeights[place]!;
  }
  const total = counts.reduce((sum, each) => sum + each, 0);
  return Float32Array.from(counts, (each) => Math.log(each / total));
}
