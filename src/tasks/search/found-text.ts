/** What a person reads of a search: π while it runs, and what it found. */
import { formatNumber } from "../../base/table.ts";
import { heatMap } from "../../pictures/heat-map.ts";
import type { EvaluationEvent } from "../../train/events.ts";
import type { TaskEvent } from "../job.ts";
import type { Drawing } from "../watch.ts";
import type { Found } from "./result.ts";

/** π as a heat map below its figures, while blocks have a choice; on a screen it fits, and has colours where there are some. */
export function choicePicture(event: TaskEvent, screen?: Drawing): string | undefined {
  if (event.type !== "evaluation" || !event.choices) return undefined;
  const probabilities = event.choices.map((choice) => choice.probabilities);
  if (probabilities.every((shares) => shares.filter((share) => share > 0).length < 2)) return undefined;
  const { names } = event.choices.reduce((a, b) => (b.names.length > a.names.length ? b : a));
  return `${figureLines(event)}\n${heatMap(probabilities, names, screen?.colours, screen?.width)}`;
}

function figureLines({ step, perplexity, meanBatchPerplexity, latency, pattern }: EvaluationEvent): string {
  const mean = meanBatchPerplexity === undefined ? "" : ` (mean of batches ${formatNumber(meanBatchPerplexity, 2)})`;
  const cost = latency
    ? `: ${latency.chosenMs.toFixed(2)} ms forward, ${latency.expectedMs.toFixed(2)} ms expected by π`
    : "";
  return `step ${formatNumber(step)}  perplexity ${formatNumber(perplexity!, 2)}${mean}\nnow ${pattern}${cost}`;
}

/** What was found, with its figures and what they took, in a line. */
export function foundText(found: Found): string {
  const { pattern, steps, elapsedMs, perplexity, meanBatchPerplexity, noisyMeanBatchPerplexity: noisy } = found;
  const time = `${steps} steps in ${(elapsedMs / 1000).toFixed(0)} s`;
  const noise = noisy === null ? "" : `, with noise ${noisy.toFixed(2)}`;
  const figures = `valid perplexity ${perplexity.toFixed(2)} (mean of batches ${meanBatchPerplexity.toFixed(2)}${noise})`;
  const cost = found.latency ? `, ${found.latency.chosenMs.toFixed(2)} ms forward` : "";
  return `found ${pattern} after ${time}, ${figures}${cost}`;
}
