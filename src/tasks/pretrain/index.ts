/** `layerwise/tasks/pretrain`: pre-training and imported ALBERTs: jobs, runs and what can be done with them. For Node. */

export {
  type ProbeAnalysis,
  type TagAnalysis,
  type TokenDepth,
  type TokenRow,
  type TraceRow,
  traceOf,
} from "../../analysis/depth-analysis.ts";
export { type AlbertConfigSettings, readAlbertConfig } from "./albert-config.ts";
export type { AlbertRun, AlbertRunConfig, TrainedAlbert } from "./albert-run.ts";
export { ALBERT_TASK } from "./albert-run.ts";
export type { ReadableAlbertRun } from "./depths.ts";
export {
  type DepthOptions,
  type DepthsOf,
  depthsByKind,
  depthsByProbe,
  depthsByTag,
  type KindAnalysis,
  type KindOptions,
} from "./depths.ts";
export { type Embeddings, type EmbedOptions, vectorLines, vectorTensors } from "./embed.ts";
export { type FilledMask, guessTable, type MaskGuess } from "./fill.ts";
export type { EncoderFound } from "./found.ts";
export { type ImportedAlbertRun, type ImportRunOptions, importAlbertRun } from "./import.ts";
export { openPretrain, type PretrainGiven, type PretrainParts, type PretrainResult, pretrainJob } from "./job.ts";
export type { TextChoice } from "./masked-texts.ts";
export { type AlbertSource, type Initial, type InitialOptions, initialFrom, initialOf } from "./origin.ts";
export type { MaskedData } from "./parts.ts";
export type { Phase, PhaseTask } from "./phases.ts";
export type { Renamed } from "./pretrain.ts";
export { type PretrainModel, type PretrainOptions, type PretrainPhase, pretrain } from "./pretrain.ts";
export type { PretrainingConfig } from "./settings.ts";
export type { AlbertUses, ImportedRun, MaskedFigures, MaskedOptions, PretrainRun } from "./uses.ts";
export { foundSettings } from "./uses.ts";
