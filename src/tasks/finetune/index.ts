/** `layerwise/tasks/finetune`: fine-tuning on labelled texts: jobs, runs and what can be done with them. For Node. */
export { type AdaptedAlbert, type AdaptedHead, withAdapter, withHeadAdapter } from "./adapted.ts";
export { type Adapter, type AdapterNotes, readAdapter, writeAdapter } from "./adapter.ts";
export { type AskedTexts, askedTexts } from "./asked-texts.ts";
export type { ClassifierOptions } from "./classifier.ts";
export { type CurvePoint, curveSvg, curveTable, type DepthCurve } from "./depth-curve.ts";
export type { EarlyExit } from "./early-exit.ts";
export type { Examples, GivenExamples } from "./examples.ts";
export { type FinetuneOptions, finetune } from "./finetune.ts";
export { type GlueAllOptions, type GlueAllReport, type GlueAllRow, glueAll, glueTable } from "./glue-all.ts";
export type { Answered, AnsweringHow } from "./head-answers.ts";
export {
  type AnyHeadTask,
  type HeadAnswer,
  type HeadFiles,
  type HeadGiven,
  type HeadInput,
  type HeadKind,
  type HeadParts,
  type HeadResult,
  type HeadSpec,
  headJob,
  headKinds,
  headTaskOf,
  openHead,
  readHeadFile,
} from "./head-job.ts";
export { type Asked, type HeadReport, headInputs, headReport } from "./head-report.ts";
export {
  type AnsweringOptions,
  answering,
  choosing,
  type FramedRow,
  type HeadExample,
  type HeadProbabilities,
  type HeadScores,
  type HeadTask,
  tagging,
} from "./head-tasks.ts";
export { finetuneHead, type HeadTraining, type TunedHead } from "./head-training.ts";
export type { HeadEvaluation, HeadRun } from "./head-uses.ts";
export {
  type FinetuneGiven,
  type FinetuneParts,
  type FinetuneResult,
  finetuneJob,
  openFinetune,
} from "./job.ts";
export type { FinetuneModel, Origin } from "./model.ts";
export {
  type PredictedRow,
  predictedRow,
  predictionLines,
  predictionReport,
  predictionTable,
} from "./prediction-table.ts";
export type { Prediction, PredictOptions, ScoringOptions } from "./predictions.ts";
export { type EpochResult, type TaskResult, taskResult } from "./result.ts";
export type { GlueSettings } from "./settings.ts";
export type { Before, TunedParts, TunedResult } from "./tuned-job.ts";
export type {
  CurveOptions,
  FinetuneEvaluation,
  FinetuneFigures,
  FinetuneResumeOptions,
  FinetuneRun,
  GlueSubmission,
  GlueUses,
} from "./uses.ts";
