/** How a search ends, in words. */
import { commandName } from "../command-name.ts";
import type { Found } from "./search.ts";

/** What was found and what to do next; where nothing was, how to go on. */
export function conclusion(path: string, found: Found | undefined): string {
  if (!found) return `stopped; go on with: ${commandName()} resume ${path}`;
  const { pattern, steps, elapsedMs, perplexity, meanBatchPerplexity, noisyMeanBatchPerplexity: noisy } = found;
  const time = `${steps} steps in ${(elapsedMs / 1000).toFixed(0)} s`;
  const noise = noisy === null ? "" : `, with noise ${noisy.toFixed(2)}`;
  const figures = `valid perplexity ${perplexity.toFixed(2)} (mean of batches ${meanBatchPerplexity.toFixed(2)}${noise})`;
  const cost = found.latency ? `, ${found.latency.chosenMs.toFixed(2)} ms forward` : "";
  return `found ${pattern} after ${time}, ${figures}${cost}; next: ${commandName()} retrain ${path}`;
}
