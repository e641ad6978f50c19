/** The library: everything a program of its own needs. The command line is built from the same parts. */
export * from "./browser.ts";

// What needs Node: its runtime, files and processes. Its `train` chooses the engine and fills run folders.

export { type Device, defaultThreads, type OrtOptions, ortEngine, presentDevices } from "./engine/ort.ts";
export { type TrainOptions, train } from "./tasks/custom/job.ts";
export { exportAlbertOnnx, exportOnnx, exportParOnnx, exportSafetensors } from "./tasks/exports.ts";
export {
  type FinetuneOptions,
  type FinetuneResult,
  type FinetuneRun,
  finetune,
  type Prediction,
} from "./tasks/finetune/index.ts";
export type { TaskEvent } from "./tasks/job.ts";
export {
  depthsOf,
  type ImportedRun,
  importAlbertRun,
  type PretrainOptions,
  type PretrainResult,
  type PretrainRun,
  pretrain,
  type TokenDepth,
  type TrainedAlbert,
} from "./tasks/pretrain/index.ts";
export { type AnyRun, Run, type RunKinds } from "./tasks/run.ts";
export {
  type CorpusOptions,
  chooseTokenizer,
  jointTokenizer,
  openBatches,
  openCorpus,
  openPairs,
  openTokenizer,
  type PairsCorpus,
  pairsOf,
  readAgreement,
  readConllu,
  readGlue,
  readProbe,
  type TokenizerChoice,
  type TokenizerFile,
} from "./text/index.ts";
