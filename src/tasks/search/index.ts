/** `layerwise/tasks/search`: searches over the blocks of a PAR Transformer-XL, and retraining of what they find. For Node. */
import { reject } from "../../base/errors.ts";
import { type Session, startSession } from "../../train/session.ts";
import type { Job, Rehearsed, TaskEvent } from "../job.ts";
import { performed } from "../perform.ts";
import type { RetrainResult } from "./comparison.ts";
import { checkRandom } from "./front/null-test.ts";
import type { AskedNetworks } from "./front/prepared.ts";
import { type RetrainedFront, retrainingFront } from "./front/retrained.ts";
import { searchJob } from "./job.ts";
import {
  type BudgetOption,
  budgetText,
  type RetrainOptions,
  type SearchOptions,
  splitRetrain,
  splitSearch,
} from "./options.ts";
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
export type { BudgetAgreement, FrontAgreement, PairAgreement } from "./front/agreement.ts";
export type { Front, FrontNetwork } from "./front/front.ts";
export { frontTable, pickWithin } from "./front/front.ts";
export type { NullTest } from "./front/null-test.ts";
export type { RacedRow } from "./front/race.ts";
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
 * Trains networks of a search from scratch beside the (sf)-baseline: evenly over its front with the chosen one among them; as a race, the
 * best of the front within a budget, of which only the better ones go on; or the one that was found. `random` ones of no more latency
 * beside them are a null test of the search, which need not be for a front. `into` is a folder for a run each; what it has already goes on.
 */
export function retrainFront(
  source: string,
  { networks, race, random, budget, into, ...options }: Omit<RetrainOptions, "into" | "fromSupernet"> & FrontOptions,
): Session<TaskEvent, RetrainedFront> {
  return startSession(async function* (signal) {
    const asked = { networks, race, random, budget: budgetText(budget ?? null) ?? undefined };
    checkAsked(asked);
    return yield* retrainingFront({ ...requestOf(source, options), path: into }, asked, signal);
  }, options.signal);
}

function checkAsked({ networks, race, random, budget }: AskedNetworks): void {
  const several = networks !== undefined && race !== undefined;
  const none = networks === undefined && race === undefined && random === undefined;
  if (several || none || (budget !== undefined && race === undefined && (random === undefined || networks))) {
    const given = Object.entries({ networks, race, random, budget }).flatMap(([name, value]) => (value ? [name] : []));
    const needed = "networks over it, a race with or without a budget, or random ones beside what was found";
    reject({ who: "front", needed, got: given.join(" and ") || "none of them" }, 2);
  }
  if (random !== undefined) checkRandom(random);
}

/** Which networks of a search are trained, and the folder that their runs are kept in. */
export interface FrontOptions {
  /** So many, evenly over the front. */
  readonly networks?: number | undefined;
  /** So many of the best within the budget, as a race; it needs a folder. */
  readonly race?: number | undefined;
  /** So many random networks of no more latency than the budget, two or more, beside the others; alone, beside the one that was found. */
  readonly random?: number | undefined;
  /** Of the race and of random networks. Default: the search's own. */
  readonly budget?: BudgetOption | undefined;
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
