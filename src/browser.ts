/**
 * The library without files and processes: what runs in a browser as it does in Node.
 *
 * The names that programs need most stand here; everything else is in a namespace: `graph` (tensors and gradients), `nn` (layers and
 * blocks), `depth` (plans, patterns, policies), `models`, `text`, `training`, `formats`, `pictures`, `analysis`, `engines`, `base`.
 */
export * as analysis from "./analysis/index.ts";
export { LayerwiseError } from "./base/errors.ts";
export * as base from "./base/index.ts";
export { RandomStream } from "./base/random.ts";

// Depth: which block runs at each depth, which kind it is, how many times a token passes through.
export { exits } from "./depth/exits.ts";
export { fixed } from "./depth/fixed.ts";
export { halting } from "./depth/halting.ts";
export * as depth from "./depth/index.ts";
export { layerDropout } from "./depth/layer-dropout.ts";
export { looped } from "./depth/looped.ts";
export { nested } from "./depth/nested.ts";
export { parsePattern, printPattern } from "./depth/pattern.ts";
export { cycle, cycleReverse, type Plan, parsePlan, printPlan, sequence } from "./depth/plan.ts";
export type { DepthPolicy } from "./depth/policy.ts";
export { relaxed } from "./depth/relaxed.ts";
export { routed } from "./depth/routed.ts";
export { searched } from "./depth/searched.ts";

// Engines and tensors.
export type { Engine, Feed, Program, World } from "./engine/engine.ts";
export * as engines from "./engine/index.ts";
export { type OrtWebEngine, type OrtWebOptions, ortWebEngine } from "./engine/ort-web.ts";
export { referenceEngine } from "./engine/reference.ts";
export { type WebGpuOptions, type WebGpuRuntime, webGpuEngine } from "./engine/web-gpu.ts";
export * as formats from "./format/index.ts";
export { readSafetensors, writeSafetensors } from "./format/safetensors.ts";
export * as graph from "./graph/index.ts";

// Models, and what a trained one does.
export { type Albert, type AlbertOptions, albert } from "./model/albert/albert.ts";
export { blockEncoder } from "./model/albert/block-encoder.ts";
export { generate } from "./model/generation.ts";
export * as models from "./model/index.ts";
export { type LanguageModel, type LanguageModelOptions, languageModel } from "./model/language/language.ts";
export { attention, custom, feedForward, identity } from "./model/par/candidates.ts";
export type { ParOptions } from "./model/par/options.ts";
export { type ParModel, parModel } from "./model/par/par.ts";
export { type ModelReport, reportOn } from "./model/report.ts";
export { EncoderDecoder } from "./model/seq2seq/encoder-decoder.ts";
export {
  EncoderProgram,
  ParameterSharedTransformerEncoder,
  type SharedEncoderOptions,
} from "./model/seq2seq/shared-encoder.ts";
export { TranslationModel, type TranslationOptions } from "./model/seq2seq/translation.ts";
export { loadStateDict, stateDict } from "./model/state-dict.ts";
export type { Weights } from "./model/weights.ts";
export * as nn from "./nn/index.ts";
export { initialise } from "./nn/parameter.ts";
export { type LowerSource, lower as toOnnx, type Target as OnnxTarget } from "./onnx/lower.ts";
export { defaultEngine, type TrainOptions, train } from "./page.ts";
export * as pictures from "./pictures/index.ts";

// Text in memory.
export * as text from "./text/browser.ts";
export {
  type Corpus,
  classification,
  documentCorpus,
  glueTask,
  type LabelledText,
  multiLabel,
  type OpenTokenizer,
  pairsCorpus,
  regression,
  type TextTask,
  type Tokenizer,
  textBatches,
  textCorpus,
  tokenizerFromBytes,
  trainTokenizer,
} from "./text/browser.ts";

// Training: sessions, their events and results.
export { accuracy, arrayBatches } from "./train/arrays.ts";
export { type BrowserCheckpoints, browserCheckpoints } from "./train/browser-checkpoints.ts";
export { Diverged } from "./train/diverged.ts";
export type { Batches } from "./train/evaluate.ts";
export type { TrainEvent, TrainState } from "./train/events.ts";
export * as training from "./train/index.ts";
export { muon } from "./train/muon.ts";
export type { Trainable } from "./train/objective.ts";
export { adam, adamw, lamb, sgd } from "./train/optimiser.ts";
export type { Session } from "./train/session.ts";
export type { Metric, TrainResult } from "./train/train.ts";
