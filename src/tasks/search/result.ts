/** What a search ends with: the network it found and how it got there, in memory and in architecture.json. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MeasuredCosts } from "../../analysis/latency.ts";
import { foundNetwork } from "../../model/par/found.ts";
import type { ParModel } from "../../model/par/par.ts";
import { COSTS_FILE } from "../../runs/folder.ts";
import { readSealed } from "../../runs/sealed.ts";
import type { EndReason, EvaluationEvent, Latency } from "../../train/events.ts";
import type { Weights } from "../../train/stages.ts";
import { latencyOf } from "./budget.ts";
import type { Cut } from "./cut.ts";
import type { Front } from "./front/front.ts";
import type { ParNetwork } from "./network.ts";
import type { SearchParts } from "./parts.ts";
import type { SearchConfig } from "./settings.ts";
import { measureSearch, noisyFigure, patternOf } from "./stage.ts";

/** The file of a run folder that holds what was found. */
export const ARCHITECTURE_FILE = "architecture.json";

/** What a search found; plain data, kept as architecture.json. */
export interface Found {
  readonly pattern: string;
  /** π of everything each block could be; 0 for what was cut. */
  readonly probabilities: readonly (readonly number[])[];
  readonly steps: number;
  readonly elapsedMs: number;
  /** exp(mean loss) per piece; NaN where a search was stopped before its first evaluation. */
  readonly perplexity: number;
  /** The original's figure: the mean of exp(batch loss). */
  readonly meanBatchPerplexity: number;
  /** The same with Gumbel noise at the last temperature, as the original evaluates; null where nothing was to be drawn. */
  readonly noisyMeanBatchPerplexity: number | null;
  readonly cuts: readonly Cut[];
  /** By measured costs, where they were measured. */
  readonly latency: Latency | null;
  /** What the network was to cost at most, in ms. */
  readonly targetMs: number | null;
  readonly costs: MeasuredCosts | null;
  /** The chosen network of a front, timed whole at the end beside what its pieces say. */
  readonly latencyCheck?: LatencyCheck | undefined;
}

/** A network's latency as measured costs say, and as it was timed whole, as a ratio to the (sf)-baseline timed with it. */
export interface LatencyCheck {
  readonly predictedMs: number;
  readonly measuredMs: number;
  readonly predictedRatio: number;
  readonly measuredRatio: number;
}

/** What a search ends with: what it found, and that network with its weights out of the search. Everything in it is a copy. */
export interface SearchResult extends Found, ParNetwork {
  readonly reason: EndReason;
  readonly settings: SearchConfig;
  /** Every budget's best network, where the search was for a front (front.json). */
  readonly front?: Front | undefined;
}

/** How training ended. */
export interface Ending {
  readonly model: ParModel;
  readonly weights: Weights;
  readonly reason: EndReason;
  readonly steps: number;
  readonly elapsedMs: number;
  readonly cuts: readonly Cut[];
  /** The last evaluation, where there was one. */
  readonly evaluation: Pick<EvaluationEvent, "perplexity" | "meanBatchPerplexity"> | undefined;
}

/** The figures of a result. */
export type FoundFigures = Pick<Found, "perplexity" | "meanBatchPerplexity" | "noisyMeanBatchPerplexity">;

/** What a search chose, where π did not. */
export type Choice = Pick<
  SearchResult,
  "pattern" | "probabilities" | "latency" | "targetMs" | "latencyCheck" | "front"
>;

/** The result of a search that ended so, with these figures. */
export function resultOf(parts: SearchParts, ending: Ending, figures: FoundFigures, choice?: Choice): SearchResult {
  const { model, weights, reason, steps, elapsedMs, cuts } = ending;
  const { costs, settings, tokenizer, ranks } = parts;
  const pattern = choice?.pattern ?? patternOf(model, weights);
  return {
    pattern,
    probabilities: model.probabilities(weights),
    steps,
    elapsedMs,
    perplexity: figures.perplexity,
    meanBatchPerplexity: figures.meanBatchPerplexity,
    noisyMeanBatchPerplexity: figures.noisyMeanBatchPerplexity,
    cuts: [...cuts],
    latency: costs ? latencyOf(model, costs, weights) : null,
    targetMs: parts.model.options.budget?.target ?? null,
    costs,
    ...choice,
    reason,
    settings: { ...settings },
    tokenizer,
    ranks: ranks.slice(),
    ...foundNetwork(model, weights, pattern),
  };
}

/** Figures at the end, measured as far as they are missing; a search that was stopped has those of its last evaluation. */
export async function figuresOf(parts: SearchParts, ending: Ending): Promise<FoundFigures> {
  const { model, weights, evaluation, reason } = ending;
  if (reason === "stopped") {
    const { perplexity = Number.NaN, meanBatchPerplexity = Number.NaN } = evaluation ?? {};
    return { perplexity, meanBatchPerplexity, noisyMeanBatchPerplexity: null };
  }
  const noiseless = parts.settings.noisyEvaluation ? undefined : evaluation;
  const last = noiseless ?? (await measureSearch(parts, model, weights));
  const noisy = await noisyFigure(parts, model, weights);
  const searched = parts.model.policy.architecture.length > 0;
  return {
    perplexity: last.perplexity!,
    meanBatchPerplexity: last.meanBatchPerplexity!,
    noisyMeanBatchPerplexity: noisy ?? (searched ? last.meanBatchPerplexity! : null),
  };
}

/** The plain data of a result. */
export function foundOf(result: SearchResult): Found {
  const { reason, settings, model, weights, tokenizer, ranks, front, ...found } = result;
  return found;
}

/** What a search of this folder found; undefined while it has not ended. */
export const keptResult = (path: string): Promise<Found | undefined> =>
  readKept(join(path, ARCHITECTURE_FILE), `delete it: \`layerwise resume ${path}\` works it out again`);

/** The costs that a run measured when it began. */
export const keptCosts = (path: string): Promise<MeasuredCosts | undefined> =>
  readKept(join(path, COSTS_FILE), "put back a copy of it: what was measured cannot be measured again");

async function readKept<T>(file: string, remedy: string): Promise<T | undefined> {
  return existsSync(file) ? (readSealed(await readFile(file, "utf8"), file, remedy).value as T) : undefined;
}
