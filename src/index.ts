/** The library: everything a program of its own needs. The command line is built from the same parts. */
export { UserError } from "./base/errors.ts";
export { RandomStream, type StreamState } from "./base/random.ts";
export { exportConfig, exportOnnx, exportSafetensors } from "./cli/export.ts";
export { exportParOnnx, type ParProgramShape } from "./cli/parexport.ts";
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
export { drawPlan, planSvg } from "./depth/planpicture.ts";
export type { Deepened, DepthPolicy } from "./depth/policy.ts";
export { annealedTemperature, type SearchedOptions, searched } from "./depth/searched.ts";
export { type DepthRow, DepthTally } from "./depth/tally.ts";
export type { Engine, Feed, Feeds, Program, ProgramSource } from "./engine/engine.ts";
export { type Device, defaultThreads, type OrtOptions, ortEngine, presentDevices } from "./engine/ort.ts";
export { referenceEngine } from "./engine/reference.ts";
export { int32Of, readSafetensors, type StoredTensor, writeSafetensors } from "./format/safetensors.ts";
export { readTorch } from "./format/torch.ts";
export * as graph from "./graph/index.ts";
export { type Albert, type AlbertInputs, type AlbertOptions, albert, type Encoded } from "./model/albert.ts";
export { depthsOf, encodeByDepth, similarityTrace } from "./model/albert-depth.ts";
export { type AlbertDescription, describedAlbert, type HeadOptions } from "./model/albert-description.ts";
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
} from "./model/albert-heads.ts";
export { type ImportedAlbert, importAlbert } from "./model/albert-import.ts";
export { albertOptionsFrom, huggingFaceConfig, loadAlbert, ownName, saveAlbert } from "./model/albert-weights.ts";
export { averageCheckpoints } from "./model/averaging.ts";
export { Beam, type BeamOptions, Translator } from "./model/beam.ts";
export { CausalModel, type CausalOptions } from "./model/causal.ts";
export { EncoderDecoder, type EncoderDecoderOptions } from "./model/encoder-decoder.ts";
export { type GenerationOptions, generate } from "./model/generation.ts";
export { type LanguageModel, type LanguageModelOptions, languageModel } from "./model/language.ts";
export {
  type CandidateChoice,
  type Carried,
  type ParModel,
  type ParObjective,
  type ParOptions,
  parModel,
} from "./model/par.ts";
export { type FoundNetwork, foundNetwork } from "./model/par-found.ts";
export { generateFromMemory, ParDecoder, type ParGenerationOptions } from "./model/par-generation.ts";
export { type ModelReport, reportOn } from "./model/report.ts";
export {
  EncoderProgram,
  type ForwardOptions,
  ParameterSharedTransformerEncoder,
  type SharedEncoderOptions,
} from "./model/shared-encoder.ts";
export { loadStateDict, type NamedTensor, stateDict } from "./model/statedict.ts";
export { SteppedAlbert, type SteppedResult, type TextBatch } from "./model/stepped.ts";
export { TranslationModel, type TranslationOptions } from "./model/translation.ts";
export * as nn from "./nn/index.ts";
export { initialise } from "./nn/index.ts";
export { lower as toOnnx } from "./onnx/lower.ts";
export { type AlignedPieces, alignWords } from "./text/alignment.ts";
export {
  type Batch as TokenBatch,
  type BatchSource,
  contextBatches,
  planContext,
  shardLines,
  streamBatches,
} from "./text/batches.ts";
export { type Bleu, bleu, tokenise13a } from "./text/bleu.ts";
export { readConllu, type TreebankSentence } from "./text/conllu.ts";
export { type Corpus, openCorpus, type Split } from "./text/corpus.ts";
export { type Cutoffs, countTokens, frequencyRanks, optimalCutoffs, parseCounts } from "./text/cutoffs.ts";
export { specialIds } from "./text/documents.ts";
export { type GlueExample, readGlue } from "./text/glue.ts";
export { type GlueTask, glueTask, glueTasks } from "./text/glue-tasks.ts";
export { drawnBatches, type MaskedBatches, pretrainingFeeds } from "./text/maskedbatches.ts";
export { type MetricName, metrics } from "./text/metrics.ts";
export { encodePairs, type PackedBatch, packBatches } from "./text/packing.ts";
export { jointTokenizer, openPairs, type PairsCorpus, pairsOf } from "./text/pairs-corpus.ts";
export { PRETRAINING_DEFAULTS, type PretrainingBatch, type PretrainingOptions } from "./text/pretraining.ts";
export { documentsOf } from "./text/pretrainingfiles.ts";
export { type ProbeSentence, readAgreement, readProbe } from "./text/probing.ts";
export { loadTokenizer, type Tokenizer } from "./text/tokenizer.ts";
export { type OpenTokenizer, openTokenizer } from "./text/tokenizerfile.ts";
export { eachToken, kindsOf, TOKEN_KINDS, type TokenKind } from "./text/tokenkinds.ts";
export { openBatches } from "./text/tokens.ts";
export { chooseTokenizer } from "./text/trainedtokenizer.ts";
export { Evaluator, figures } from "./train/evaluate.ts";
export type { TrainEvent, TrainState } from "./train/events.ts";
export { LoneTensor } from "./train/lone.ts";
export { type LoopOptions, train } from "./train/loop.ts";
export type { Group } from "./train/memory.ts";
export { muon } from "./train/muon.ts";
export { adam, adamw, lamb, type Optimiser, sgd } from "./train/optimiser.ts";
export { alternation } from "./train/phases.ts";
export { RecurrentEvaluator } from "./train/recurrent.ts";
export { parSchedule, polynomialSchedule, type Schedule, schedule, transformerSchedule } from "./train/schedule.ts";
export { TrainingStep } from "./train/step.ts";
export { type Trainable, type TrainModelOptions, trainModel } from "./train/trainmodel.ts";
