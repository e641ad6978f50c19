/** What the search of an encoder found, out of its run folder: the pattern, and the network with the weights it has in the supernet. */
import type { AlbertDescription } from "../../model/albert/description.ts";
import { EncoderSupernet, type FoundEncoder } from "../../model/albert/supernet.ts";
import { loadAlbert } from "../../model/albert/weights.ts";
import type { StoredRun } from "../open-run.ts";
import { modelAt } from "../search/parts.ts";
import { type Found, keptResult } from "../search/result.ts";
import { patternOf } from "../search/stage.ts";

/** What was found and how; plain data, kept as architecture.json. */
export interface EncoderFound
  extends Pick<Found, "pattern" | "probabilities" | "steps" | "elapsedMs" | "cuts" | "latency" | "targetMs" | "costs"> {
  /** Of the supernet's masked words at its end; NaN where it was stopped before its first evaluation. */
  readonly perplexity: number;
  readonly maskedAccuracy: number;
}

/** What the search of this folder found; undefined while it has not ended. */
export const keptEncoder = async (path: string): Promise<EncoderFound | undefined> =>
  (await keptResult(path)) as EncoderFound | undefined;

/** The network that a stored search found or, before its end, the likeliest one. */
export async function foundIn(
  { path, state, step }: Pick<StoredRun, "path" | "state" | "step">,
  description: AlbertDescription,
): Promise<FoundEncoder> {
  const supernet = modelAt(new EncoderSupernet(description), state);
  const { weights } = loadAlbert(supernet.parameters, state.weights, `${path}, step ${step}`);
  const pattern = (await keptEncoder(path))?.pattern ?? patternOf(supernet, weights);
  return supernet.found(weights, pattern);
}
