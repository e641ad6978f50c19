/**
 * `layerwise/tasks`: what tasks are made of: settings by name, jobs, how they are performed into run folders, runs by kind, the machine
 * they ran on. The code of a task is loaded when it is asked for. For Node.
 */

export { openRunWith, type RunUse, type RunWith, refuseOptions } from "./able.ts";
export { attentionsFile } from "./attentions-file.ts";
export type { ResumeChanges } from "./changes.ts";
export type { Outcome } from "./concluded.ts";
export type { CustomResumeOptions, CustomRun } from "./custom/uses.ts";
export {
  type AlbertDepthRun,
  classifyReport,
  continuedReport,
  type DepthQuestion,
  type DepthReading,
  type DepthReport,
  type DepthRun,
  type DepthText,
  depthReport,
  kindReport,
  type MaskedReading,
  probeReport,
  tagReport,
  textReport,
  wordReport,
} from "./depth-report.ts";
export { checkDepthUse } from "./depth-use.ts";
export type { ReadableDepths, ReadableLanguageModel } from "./depths.ts";
export { type Diagnosis, diagnose, diagnosisText } from "./diagnosis.ts";
export { type Trained, trainingDoubts } from "./doubts.ts";
export { dryRun } from "./dry-run.ts";
export { type Ended, endingData, endingText, figuresOfKind, sampleOf } from "./ending.ts";
export { defaultEngine, type EngineSettings, usualThreads } from "./engine.ts";
export { type Environment, environment, instructionSets, packageVersion, processor } from "./environment.ts";
export type { EvaluateOptions, MeanDepths } from "./evaluate.ts";
export { type ExportFormat, type Exporting, type ExportOptions, exportFormats } from "./exporting.ts";
export type { ExportedFiles, ExportHow } from "./exports.ts";
export { type AnyTokenizer, type GenerateOptions, generate } from "./generate.ts";
export type { HuggingFaceNotes } from "./huggingface.ts";
export {
  huggingFaceNotes,
  type ImportedModel,
  type ImportModelOptions,
  type ImportReport,
  importModel,
  importRun,
} from "./import.ts";
export type {
  BeginEvent,
  Fact,
  Handed,
  Job,
  NoteEvent,
  Observer,
  Rehearsal,
  Rehearsed,
  Say,
  Start,
  TaskEvent,
} from "./job.ts";
export { openJob } from "./jobs.ts";
export type { LanguageConfig } from "./language/settings.ts";
export type { LanguageRun, WordDepthOptions } from "./language/uses.ts";
export { worldRank, worldSize } from "./mpi.ts";
export { type NewRun, newRun } from "./new-run.ts";
export { nextWords, nextWordsOf } from "./next-words.ts";
export type { OpenOptions, OpenRun, ResumeOptions, StoredRun } from "./open-run.ts";
export { importInherited, importModules, type ModuleLibrary } from "./own-modules.ts";
export { type Performing, perform } from "./perform.ts";

export { openRaster, type Raster, type RasterOptions } from "./raster.ts";
export { type AnyRun, kindIn, kindOf, Run, type RunKind, type RunKinds } from "./run.ts";
export { choicePicture } from "./search/found-text.ts";
export { isSeedFolder } from "./search/seed-folder.ts";
export { settingsNamed, type TaskName, taskNames, taskSettings } from "./settings/index.ts";

export { type SignalOptions, stopOnSignals } from "./signals.ts";
export { type StoredReport, storedReport } from "./stored-report.ts";

export type { Given, GivenText } from "./text-data.ts";
export type { TrainableModel, TrainConfig, TrainedModel } from "./trained-job.ts";
export type { TranslateConfig } from "./translate/settings.ts";
export type { TranslateOptions, TranslateRun, TranslationScore } from "./translate/uses.ts";
export { type DeviceTrial, trialDevices } from "./trial.ts";
export { type Drawing, type Expected, type Showing, Watch, type WatchOutput, watchSession } from "./watch.ts";
