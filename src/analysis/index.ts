/** Looking at models: depth by kind of token, tag and probe; what candidates and softmax clusters cost on this machine. */

export { type Attentions, attentionsOf } from "./attentions.ts";
export type { OnText } from "./depth-analysis.ts";
export {
  type Analysis,
  depthByKind,
  depthByProbe,
  depthByTag,
  type Framing,
  type KindsAnalysis,
  type ProbeAnalysis,
  type TagAnalysis,
  type TokenRow,
  type TraceRow,
  traceOf,
} from "./depth-analysis.ts";
export {
  type DepthBenchOptions,
  type DepthMeasurement,
  depthBenchText,
  measureDepth,
  spreadDepths,
} from "./depth-bench.ts";
export type { ReadableAlbert } from "./depth-reader.ts";
export { DepthReader, type TextIds, type TokenDepths } from "./depth-reader.ts";
export { depthsOfLanguage, type ReadableLanguage } from "./language-depths.ts";
export {
  baselineCost,
  type CandidateCost,
  costOfCandidate,
  costOfNetwork,
  type LatencyShape,
  type MeasuredCosts,
  measureCandidates,
  type NetworkCost,
  type NetworkSizes,
  networkFlops,
  networkLatencies,
} from "./latency.ts";
export {
  type ChosenFit,
  fitChosen,
  fitLinear,
  type LinearData,
  type LinearKind,
  type LinearMap,
  scoresOf,
} from "./linear-fit.ts";
export { type MatrixSpeed, matrixSpeeds } from "./matrix-speed.ts";
export { type MeasuredCutoffs, measureCutoffs, measuredCutoffsText } from "./measured-cutoffs.ts";
export {
  type ProbeAccuracy,
  type ProbeClassification,
  type ProbeClassifierOptions,
  type Probed,
  probeByDepth,
} from "./probe-classifier.ts";
export { kendall } from "./rank.ts";
export { type MeasuredCosts as SoftmaxCosts, measureSoftmax, type SoftmaxShape } from "./softmax-cost.ts";
export { depthByWord, WORD_KINDS, type WordAnalysis, type WordKind, wordKind } from "./word-depths.ts";
