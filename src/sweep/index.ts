/** `layerwise/sweep`: trials over settings: sweeps of any task, models compared at several seeds, and searches for the settings of a fine-tuning, in processes of their own. For Node. */

export { type Spread, spreadOf } from "../base/spread.ts";
export type { MeasuredNetwork } from "../tasks/papers/networks.ts";
export type { ReportFiles } from "../tasks/papers/report.ts";
export {
  type AnyContestant,
  type CompareOptions,
  type Comparison,
  type Contestant,
  compare,
  comparisonTable,
  contestants,
  contestantsNamed,
  figuresSoFar,
  type Result,
  type ResultFigures,
  type WrittenContestant,
  writtenRows,
} from "./comparison.ts";
export {
  type GlueSearched,
  type GlueSearchOptions,
  type SearchFlags,
  type SearchResult,
  type SearchRow,
  type Setting,
  searchGlue,
  searchSpec,
  searchTable,
} from "./glue-search.ts";
export { eventsHere, hereLauncher } from "./here.ts";
export { type StartedOrder, startOrder, tryOrder } from "./jobs.ts";
export { MANIFEST_FILE } from "./kubernetes.ts";
export type { Launcher, SweepEvent } from "./launcher.ts";
export { type ClusterOptions, launcherNamed } from "./launchers.ts";
export type { CompareOrder, RetrainOrder } from "./order.ts";
export type { Order, OrderSettings, RunOrder, SingleOrder, TaskOrder, TrialOrder } from "./orders.ts";
export {
  type ComparedSet,
  comparisons,
  type Equality,
  type ModelSet,
  type PolicyContestant,
  type PolicyResult,
  policies,
  policyTables,
  policyTablesText,
  writtenSet,
} from "./policies.ts";
export { type TrialReport, TrialTable } from "./processes.ts";
export { serveQueue, type WorkerOptions } from "./queue/worker.ts";
export type { AdaptFigures } from "./reproduce/adapt.ts";
export { type Claim, claimsText, type Measured, type Verdict } from "./reproduce/claims.ts";
export { type PartTime, type ReproducePreset, reproducePresets } from "./reproduce/course.ts";
export {
  durationText,
  estimateReproduction,
  type PaperFigures,
  type PaperName,
  paperNames,
  type ReproduceEstimate,
  type ReproduceOptions,
  type ReproduceResult,
  reproduce,
} from "./reproduce/index.ts";
export type { SearchedNetwork, SearchFigures } from "./reproduce/search.ts";
export type { ShareFigures, SharePart, ShareRow } from "./reproduce/share.ts";
export {
  isSweepFolder,
  openSeedsJob,
  type ResumedSweep,
  type ResumeSweepOptions,
  resumeSweep,
  type SeedSearchOptions,
  searchSeeds,
} from "./seeds.ts";
export { type SweepOptions, type SweepResult, sweep } from "./sweep.ts";
export {
  type LookAtRun,
  readSpec,
  readSpecFile,
  readSweep,
  runTrial,
  type SweepFolder,
  type SweepRow,
  type SweepTable,
  type SweepTrial,
  type TrialOptions,
  type TrialState,
} from "./sweep-folder.ts";
export { type CompleteSpec, planSweep, type Range, type SweepPlan, type SweepSpec, variedKeys } from "./sweep-plan.ts";
export {
  planText,
  settingsRow,
  showSweep,
  sweepCsv,
  sweepPoints,
  sweepText,
  trialName,
  trialText,
} from "./sweep-text.ts";
