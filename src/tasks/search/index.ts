/** `layerwise/tasks/search`: searches over the blocks of a PAR Transformer-XL, and retraining of what they find. For Node. */
import { type Session, startSession } from "../../train/session.ts";
import type { Job, Rehearsed, TaskEvent } from "../job.ts";
import { performed } from "../perform.ts";
import type { RetrainResult } from "./comparison.ts";
import { type RetrainedFront, retrainingFront } from "./front/retrained.ts";
import { searchJob } from "./job.ts";
import { type RetrainOptions, type SearchOptions, splitRetrain, splitSearch } from "./options.ts";
import type { RetrainSource } from "./origin.ts";
import type { SearchResult } from "./result.ts";
import { openRetraining, type RetrainRequest, retraining } from "./retrain.ts";
import { searchDefaults } from "./settings.ts";
import { openTimedSearch } from "./timed.ts";

export { latencyTable } from "./budget.ts";
export type { Ratios } from "./comparison.ts";
export {
  comparisonText,
  type NetworkFigures,
  type RetrainedNetwork,
  type RetrainResult,
  retrainData,
} from "./comparison.ts";
export { measureCosts, writeCosts } from "./costs.ts";
export type { Cut } from "./cut.ts";
export { doubtsOf, surenessOf } from "./doubts.ts";
export { foundText } from "./found-text.ts";
export type { Front, FrontNetwork } from "./front/front.ts";
export { frontTable, pickWithin } from "./front/front.ts";
export { type RetrainedFront, type RetrainedRow, retrainedTable } from "./front/retrained.ts";
export { readCosts } from "./known-costs.ts";
export { generateText, type ParNetwork, type ParTextOptions, type SegmentChoices } from "./network.ts";
export type { BudgetOption, RetrainOptions, SearchOptions, SharedOptions } from "./options.ts";
export type { RetrainSource } from "./origin.ts";
export { type Found, foundOf, type LatencyCheck, type SearchResult } from "./result.ts";
export type { RetrainRun } from "./retrain.ts";
export type { Chosen } from "./seeds.ts";
export { agreement, bestOf, parseSeeds, type SeedRow, type SeedsRun } from "./seeds.ts";
export { type NetworkSetting, type SearchConfig, searchDefaults } from "./settings.ts";
export type { SearchFigures } from "./stage.ts";
export type { StoredModel } from "./stored.ts";
export type { ParUses, SearchRun, SegmentFigures } from "./uses.ts";

/** Opens a search without carrying it out, to be described and tried. */
export async function openSearchJob(options: SearchOptions): Promise<Job<SearchResult>> {
  const { settings, given } = splitSearch(options);
  const { blocks = searchDefaults.blocks } = settings;
  const lengths = (settings.minutes ?? null) === null ? {} : { steps: null, epochs: null };
  const costs = options.costs ?? (typeof blocks === "number" ? "measure" : undefined);
  return searchJob(await openTimedSearch({ ...settings, ...lengths }, { ...given, costs }, true));
}

/** Searches which blocks a Transformer-XL wants at each depth. Iterate the session to see π in its evaluations, or await its result. */
export function search(options: SearchOptions): Session<TaskEvent, SearchResult> {
  return startSession(async function* (signal) {
    return yield* performed(await openSearchJob(options), options.into, signal);
  }, options.signal);
}

/**
 * Trains the network that a search found as an ordinary one, beside the (sf)-baseline of as many blocks, and compares them.
 * `source` is the result of a search, its run folder or architecture.json, or a pattern such as `(sff)x2`.
 */
export function retrain(source: RetrainSource, options: RetrainOptions = {}): Session<TaskEvent, RetrainResult> {
  return startSession(async function* (signal) {
    return yield* retraining(requestOf(source, options), options.into, signal);
  }, options.signal);
}

/**
 * Trains networks of a search's front from scratch, evenly over it with the chosen one among them, beside the (sf)-baseline. `into` is
 * a folder for a run each; what it has already goes on.
 */
export function retrainFront(
  source: string,
  { networks, into, ...options }: Omit<RetrainOptions, "into" | "fromSupernet"> & FrontOptions,
): Session<TaskEvent, RetrainedFront> {
  return startSession(async function* (signal) {
    return yield* retrainingFront({ ...requestOf(source, options), path: into }, networks, signal);
  }, options.signal);
}

/** How many networks of a front are trained, and the folder that their runs are kept in. */
export interface FrontOptions {
  readonly networks: number;
  readonly into?: string | undefined;
}

/** Opens a retraining without carrying it out, to be described and tried. */
export async function openRetrainJob(source: RetrainSource, options: RetrainOptions = {}): Promise<Rehearsed> {
  return openRetraining(requestOf(source, options));
}

function requestOf(source: RetrainSource, options: RetrainOptions): RetrainRequest {
  const { baseline = true, fromSupernet = false, into } = options;
  const { settings, given } = splitRetrain(options);
  return { source, changes: settings, fromSupernet, baseline, given, path: into?.path };
}
