/** The library without files and processes: what runs in a browser as it does in Node. */
export { UserError } from "./base/errors.ts";
export { RandomStream, type StreamState } from "./base/random.ts";
export { fixed } from "./depth/fixed.ts";
export {
  compat as haltingCompat,
  type HaltingOptions,
  type HaltingPolicy,
  halting,
  ponderScale,
} from "./depth/halting.ts";
export { nested, type Outer } from "./depth/nested.ts";
export {
  type PatternBlock,
  parsePattern,
  patternBlocks,
  printPattern,
  publishedPatterns,
  scalePattern,
} from "./depth/pattern.ts";
export {
  cycle,
  cycleReverse,
  middleCycle,
  middleSequence,
  type Plan,
  parsePlan,
  partsOf,
  printPlan,
  type Sharing,
  sequence,
  shareModes,
} from "./depth/plan.ts";
export type { Course, Deepened, DepthPolicy, TrainingScalar, TrainingScalars } from "./depth/policy.ts";
export { annealedTemperature, type SearchedOptions, searched } from "./depth/searched.ts";
export { type DepthRow, DepthTally } from "./depth/tally.ts";
export type { Engine, Feed, Feeds, Program, ProgramSource } from "./engine/engine.ts";
export { referenceEngine } from "./engine/reference.ts";
export { encodeGif, type Frame } from "./format/gif.ts";
export { encodePng, type Picture } from "./format/png.ts";
export { int32Of, readSafetensors, type StoredTensor, writeSafetensors } from "./format/safetensors.ts";
export { readTorch } from "./format/torch.ts";
export * as graph from "./graph/index.ts";
export { type Albert, type AlbertInputs, type AlbertOptions, albert, type Encoded } from "./model/albert/albert.ts";
export { depthTensor, encodeByDepth, similarityTrace } from "./model/albert/depth.ts";
export { type AlbertDescription, describedAlbert, type HeadOptions } from "./model/albert/description.ts";
export { albertProgram } from "./model/albert/export.ts";
export {
  type AlbertObjective,
  albertObjective,
  classificationHead,
  type Head,
  maskedLanguageHead,
  multipleChoiceHead,
  questionAnsweringHead,
  sentenceOrderHead,
  type Tensors,
  textInputs,
  tokenClassificationHead,
} from "./model/albert/heads.ts";
export { type ImportedAlbert, importAlbert } from "./model/albert/import.ts";
export { SteppedAlbert, type SteppedResult, type TextBatch } from "./model/albert/stepped.ts";
export { albertOptionsFrom, huggingFaceConfig, loadAlbert, ownName, saveAlbert } from "./model/albert/weights.ts";
export { averageCheckpoints } from "./model/averaging.ts";
export type { CausalModel, Decoder, ForwardPass, Objective } from "./model/causal.ts";
export {
  type GenerationOptions,
  generate,
  generateIds,
  generateWith,
  type TextCoder,
  type TextGenerationOptions,
  type TextOptions,
  type Trained,
} from "./model/generation.ts";
export { exportConfig, languageProgram } from "./model/language/export.ts";
export {
  type LanguageModel,
  type LanguageModelOptions,
  languageModel,
  type OwnDepth,
  type PlannedBlocks,
  type TextSizes,
} from "./model/language/language.ts";
export {
  attention,
  type CandidateChoice,
  candidateName,
  custom,
  feedForward,
  identity,
  type MakeCandidate,
} from "./model/par/candidates.ts";
export { type ParProgramShape, parProgram } from "./model/par/export.ts";
export { type FoundNetwork, foundNetwork } from "./model/par/found.ts";
export {
  type Carried,
  type MemoryReading,
  type ParModel,
  type ParObjective,
  type ParOptions,
  parModel,
} from "./model/par/par.ts";
export { type ModelReport, reportOn } from "./model/report.ts";
export { Beam, type BeamOptions, Translator } from "./model/seq2seq/beam.ts";
export { EncoderDecoder, type EncoderDecoderOptions } from "./model/seq2seq/encoder-decoder.ts";
export {
  EncoderProgram,
  type ForwardOptions,
  ParameterSharedTransformerEncoder,
  type SharedEncoderOptions,
} from "./model/seq2seq/shared-encoder.ts";
export { TranslationModel, type TranslationOptions } from "./model/seq2seq/translation.ts";
export { loadStateDict, type NamedTensor, stateDict } from "./model/state-dict.ts";
export type { Weights } from "./model/weights.ts";
export * as nn from "./nn/index.ts";
export { initialise } from "./nn/index.ts";
export { lower as toOnnx } from "./onnx/lower.ts";
export { drawPlan, planSvg } from "./pictures/plan-picture.ts";
export {
  type AlignedPieces,
  alignWords,
  type BatchSource,
  type Bleu,
  bleu,
  type Corpus,
  type Cutoffs,
  classification,
  contextBatches,
  countTokens,
  documentCorpus,
  documentsOf,
  drawnBatches,
  eachToken,
  encodePairs,
  frequencyRanks,
  type GlueExample,
  type GlueTask,
  glueTask,
  glueTasks,
  kindsOf,
  type LabelledText,
  loadTokenizer,
  type MaskedBatches,
  type MetricName,
  metrics,
  type OpenTokenizer,
  optimalCutoffs,
  type PackedBatch,
  PRETRAINING_DEFAULTS,
  type PretrainingBatch,
  type PretrainingOptions,
  type ProbeSentence,
  packBatches,
  parseAgreement,
  parseConllu,
  parseCounts,
  parseGlue,
  parseProbe,
  planContext,
  pretrainingFeeds,
  regression,
  type Split,
  shardLines,
  specialIds,
  streamBatches,
  type TextBatching,
  type TextLines,
  type TextParts,
  type TextTask,
  TOKEN_KINDS,
  type TokenBatch,
  type Tokenizer,
  type TokenKind,
  type TreebankSentence,
  textBatches,
  textCorpus,
  tokenise13a,
  tokenizerFromBytes,
  trainTokenizer,
  type VocabularyOptions,
} from "./text/browser.ts";
export { Evaluator, figures } from "./train/evaluate.ts";
export type { TrainEvent, TrainState } from "./train/events.ts";
export {
  type GroupedParameter,
  type GroupOptions,
  type OptimiserName,
  type OptimiserSettings,
  type OwnGroup,
  optimiserGroups,
} from "./train/groups.ts";
export { LoneTensor } from "./train/lone.ts";
export { type LoopOptions, trainLoop } from "./train/loop.ts";
export type { Group } from "./train/memory.ts";
export { muon } from "./train/muon.ts";
export { adam, adamw, lamb, type Optimiser, sgd } from "./train/optimiser.ts";
export { alternation } from "./train/phases.ts";
export { RecurrentEvaluator } from "./train/recurrent.ts";
export { parSchedule, polynomialSchedule, type Schedule, schedule, transformerSchedule } from "./train/schedule.ts";
export { type Session, startSession } from "./train/session.ts";
export { TrainingStep } from "./train/step.ts";
export { type Trainable, type TrainOptions, type TrainResult, train } from "./train/train.ts";
