/** Pre-training and imported ALBERTs: jobs, runs and what can be done with them. */
export type { ProbeAnalysis, TagAnalysis, TokenDepth, TokenRow, TraceRow } from "../../analysis/depth-analysis.ts";
export { traceOf } from "../../analysis/depth-analysis.ts";
export type { TrainedAlbert } from "./albert-run.ts";
export type { KindAnalysis, KindOptions } from "./depths.ts";
export { type DepthOptions, depthsByKind, depthsByProbe, depthsByTag, depthsOf } from "./depths.ts";
export { type ImportedAlbertRun, type ImportRunOptions, importAlbertRun } from "./import.ts";
export { openPretrain, type PretrainParts, type PretrainResult, pretrainJob } from "./job.ts";
export { type AlbertSource, initialFrom } from "./origin.ts";
export { type PretrainModel, type PretrainOptions, type PretrainPhase, pretrain } from "./pretrain.ts";
export type { ImportedRun, MaskedFigures, MaskedOptions, PretrainRun } from "./uses.ts";
