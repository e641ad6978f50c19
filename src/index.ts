/**
 * The library: everything a program needs, and everything the command line is made of.
 *
 * Tasks are functions that give a session: iterate it to see its events, or await its result. `Run` makes, opens and resumes the folders
 * that sessions fill. What needs no file or process is in `browser.ts`, with the same names in a browser.
 */
export * from "./browser.ts";

// The runtime.
export { type Device, defaultThreads, type OrtOptions, ortEngine, presentDevices } from "./engine/ort.ts";

// Runs: folders that sessions fill, opened by kind.
export * as runs from "./runs/index.ts";
export type { RunSummary } from "./runs/summary.ts";
// Tasks: what people do.
export { type CompareOptions, type Comparison, compare } from "./sweep/comparison.ts";
export * as sweep from "./sweep/index.ts";
export { type ReproduceOptions, type ReproduceResult, reproduce } from "./sweep/reproduce/index.ts";
export { type TrainOptions, train } from "./tasks/custom/job.ts";
export { depthsOf } from "./tasks/depths.ts";
export { defaultEngine } from "./tasks/engine.ts";
export { exportAlbertOnnx, exportOnnx, exportParOnnx, exportSafetensors } from "./tasks/exports.ts";
export {
  answering,
  choosing,
  type FinetuneOptions,
  type FinetuneResult,
  type FinetuneRun,
  finetune,
  finetuneHead,
  type HeadTask,
  type Prediction,
  type TunedHead,
  tagging,
} from "./tasks/finetune/index.ts";
export { type AnyTokenizer, type GenerateOptions, generate } from "./tasks/generate.ts";
export * as tasks from "./tasks/index.ts";
export type { TaskEvent } from "./tasks/job.ts";
export type { NewRun } from "./tasks/new-run.ts";
export {
  type ImportedRun,
  importAlbertRun,
  type PretrainOptions,
  type PretrainResult,
  type PretrainRun,
  pretrain,
  type TokenDepth,
  type TrainedAlbert,
} from "./tasks/pretrain/index.ts";
export { type AnyRun, Run, type RunKind, type RunKinds } from "./tasks/run.ts";
export {
  type RetrainOptions,
  type RetrainResult,
  retrain,
  type SearchOptions,
  type SearchResult,
  search,
} from "./tasks/search/index.ts";
export {
  type AdaptResult,
  type SearchedResult,
  type ShareResult,
  type TourEvent,
  type TourOptions,
  type TourResult,
  tour,
} from "./tasks/tour/index.ts";

// Text in files.
export * as text from "./text/index.ts";
export { chooseTokenizer, openBatches, openCorpus, openTokenizer } from "./text/index.ts";
