/** What a person sees of searches and retrainings: π while they run, what they found, how two networks compare. */
import { formatNumber } from "../base/index.ts";
import type { RetrainResult, SearchResult, TaskEvent, training } from "../index.ts";
import { heatMap } from "../pictures/index.ts";
import type { ResumedSweep } from "../sweep/index.ts";
import type { Found } from "../tasks/search/index.ts";
import { commandName } from "./command-name.ts";
import { nextLines } from "./next-lines.ts";
import { print } from "./output.ts";
import { isUnfinished } from "./trials.ts";

/** π as a heat map below its figures, while blocks have a choice. */
export function choicePicture(event: TaskEvent): string | undefined {
  if (event.type !== "evaluation" || !event.choices) return undefined;
  const probabilities = event.choices.map((choice) => choice.probabilities);
  if (probabilities.every((shares) => shares.filter((share) => share > 0).length < 2)) return undefined;
  const { names } = event.choices.reduce((a, b) => (b.names.length > a.names.length ? b : a));
  return `${figuresLine(event)}\n${heatMap(probabilities, names)}`;
}

function figuresLine({ step, perplexity, meanBatchPerplexity, latency, pattern }: training.EvaluationEvent): string {
  const mean = `mean of batches ${formatNumber(meanBatchPerplexity!, 2)}`;
  const cost = latency
    ? `  ${latency.expectedMs.toFixed(2)} ms expected, ${latency.chosenMs.toFixed(2)} ms chosen`
    : "";
  return `step ${formatNumber(step)}  perplexity ${formatNumber(perplexity!, 2)} (${mean})${cost}  ${pattern}`;
}

const goOn = (path: string, steps: number) => `stopped at step ${steps}; go on with: ${commandName()} resume ${path}`;

/** Prints what a search found and what to do next or, where it was stopped, how to go on. */
export async function concludeSearch(path: string, result: SearchResult, json = false): Promise<void> {
  const stopped = result.reason === "stopped";
  const { doubtsOf, foundOf } = await import("../tasks/search/index.ts");
  if (!json)
    return print(stopped ? goOn(path, result.steps) : foundLines(path, result, doubtsOf(result, result.settings)));
  const front = result.front ? { front: result.front } : {};
  print(JSON.stringify({ run: path, ...(stopped ? {} : { ...foundOf(result), ...front }) }));
}

/** The same of a search from several seeds, once all have ended. */
export async function concludeSeeds(result: ResumedSweep, json = false): Promise<void> {
  const { path, reason, found, front, spec } = result;
  if (reason === "stopped") return print(`stopped; go on with: ${commandName()} resume ${path}`);
  if (!found) return void isUnfinished(path, reason);
  const { doubtsOf, searchDefaults } = await import("../tasks/search/index.ts");
  if (json) return print(JSON.stringify({ run: path, ...found, ...(front ? { front } : {}) }));
  print(foundLines(path, found, doubtsOf(found, { ...searchDefaults, ...spec.settings })));
}

function foundLines(path: string, found: Found, doubts: readonly string[]): string {
  const { pattern, steps, elapsedMs, perplexity, meanBatchPerplexity, noisyMeanBatchPerplexity: noisy } = found;
  const time = `${steps} steps in ${(elapsedMs / 1000).toFixed(0)} s`;
  const noise = noisy === null ? "" : `, with noise ${noisy.toFixed(2)}`;
  const figures = `valid perplexity ${perplexity.toFixed(2)} (mean of batches ${meanBatchPerplexity.toFixed(2)}${noise})`;
  const cost = found.latency ? `, ${found.latency.chosenMs.toFixed(2)} ms forward` : "";
  const next = ["retrain RUN", 'generate RUN --prompt "it was"', "runs show RUN"];
  return [`found ${pattern} after ${time}, ${figures}${cost}`, ...doubts, nextLines(path, next)].join("\n");
}

/** Prints how the found network and the baseline compare or, where training was stopped, how to go on. */
export async function concludeRetrain(path: string, result: RetrainResult, json = false): Promise<void> {
  if (result.reason === "stopped") {
    return void process.stderr.write(`stopped; go on with: ${commandName()} resume ${path}\n`);
  }
  const { comparisonText, retrainData } = await import("../tasks/search/index.ts");
  if (json) return print(JSON.stringify(retrainData(result)));
  const next = ['generate RUN --prompt "it was"', "eval RUN --split test", "export RUN --out exported"];
  print(`${comparisonText(result)}\n${nextLines(path, next)}`);
}
