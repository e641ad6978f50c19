/** First weights of a pre-training: drawn from the seed, but for the bias of guesses and for layers that are not to blur what tables learn first. */
import type { DescribedAlbert } from "../../model/albert/description.ts";
import { initialise } from "../../nn/index.ts";
import type { MaskedBatches } from "../../text/masked/batches.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import type { PretrainingConfig } from "./settings.ts";

const BIAS = "predictions.bias";
/** Batches to count in: some hundred thousand words. */
const COUNTED = 600;

/** What layers add to their input, by the names of shared layers and of blocks. */
const ADDED = /(attention\.dense|ffn_output|attention\.out|\.down)\.weight$/;
const MAPPING = "encoder.embedding_hidden_mapping_in.weight";

/** Settings that say how a pre-training begins. */
type Beginning = Pick<PretrainingConfig, "seed" | "frequencyBias" | "documentShare">;

/**
 * With `frequencyBias` the first guess is how frequent each piece is. Otherwise embeddings learn that first, for it pays most: they all
 * turn into one direction, along which pieces differ by frequency alone, and have to leave it again. Where words of documents come first,
 * layers add nothing at first, so that what the tables have learnt then goes through them as it is.
 */
export function firstWeights(
  { seed, frequencyBias, documentShare }: Beginning,
  { parameters }: Pick<DescribedAlbert, "parameters">,
  batches: Pick<MaskedBatches, "count" | "at">,
): Map<ParameterTensor, Float32Array> {
  const weights = new Map(initialise(parameters, seed));
  if (documentShare > 0) silence(parameters, weights);
  const bias = parameters.find(({ name }) => name === BIAS);
  if (!frequencyBias || !bias) return weights;
  return weights.set(bias.tensor, logShares(batches, weights.get(bias.tensor)!.length));
}

function silence(parameters: DescribedAlbert["parameters"], weights: Map<ParameterTensor, Float32Array>): void {
  for (const { name, tensor } of parameters) {
    const [rows, columns] = tensor.shape as [number, number];
    if (ADDED.test(name)) weights.set(tensor, new Float32Array(rows * columns));
    if (name !== MAPPING || rows !== columns) continue;
    weights.set(
      tensor,
      Float32Array.from({ length: rows * columns }, (_, i) => Number(i % (columns + 1) === 0)),
    );
  }
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
