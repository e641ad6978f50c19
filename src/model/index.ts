/** The models and their parts: language models, PAR Transformer-XL, ALBERT, encoder–decoders; weights in and out, programs to export. */
export {
  type Albert,
  type AlbertInputs,
  type AlbertOptions,
  albert,
  type CompleteAlbertOptions,
  type Encoded,
  type LoraOptions,
} from "./albert/albert.ts";
export { blockEncoder } from "./albert/block-encoder.ts";
export type { BlockStack, EncoderBlocks, EncoderSearch } from "./albert/blocks.ts";
export { depthTensor, type EncodedByDepth, encodeByDepth, similarityTrace } from "./albert/depth.ts";
export { type EncoderSizes, encoderDepthReport } from "./albert/depth-report.ts";
export {
  type AlbertDescription,
  type DescribedAlbert,
  describedAlbert,
  type HeadName,
  type HeadOptions,
} from "./albert/description.ts";
export { type DocumentWords, documentWords } from "./albert/document-words.ts";
export { albertProgram } from "./albert/export.ts";
export {
  type AlbertObjective,
  albertObjective,
  type BatchShape,
  type ClassificationOptions,
  type ClassifierOptions,
  classificationHead,
  type Head,
  type MaskedLanguageOptions,
  type MultipleChoiceOptions,
  maskedLanguageHead,
  multipleChoiceHead,
  questionAnsweringHead,
  type SentenceOrderOptions,
  sentenceOrderHead,
  type Tensors,
  type TokenClassificationOptions,
  textInputs,
  tokenClassificationHead,
} from "./albert/heads.ts";
export { type ImportedAlbert, type ImportOptions, importAlbert } from "./albert/import.ts";
export { adapterParts, isAdapter, mergedAlbert } from "./albert/lora.ts";
export { encodeRunning } from "./albert/running.ts";
export { SteppedAlbert, type SteppedResult, type TextBatch } from "./albert/stepped.ts";
export {
  albertOptionsFrom,
  huggingFaceConfig,
  type LoadOptions,
  loadAlbert,
  ownName,
  saveAlbert,
} from "./albert/weights.ts";
export type { EncoderStyle } from "./albert/written.ts";
export type { NamedWeights } from "./averaging.ts";
export { averageCheckpoints } from "./averaging.ts";
export type { BatchDecoder, CausalModel, Decoder, ForwardPass, Objective } from "./causal.ts";
export { SingleText } from "./causal.ts";
export { type DepthFigures, type DepthReport, depthReportTable } from "./depth-report.ts";
export {
  type DraftedOptions,
  type Drafting,
  type DrawingOptions,
  type GenerationOptions,
  generate,
  generateIds,
  generateWith,
  openWriter,
  type TextCoder,
  type TextGenerationOptions,
  type TextOptions,
  type Trained,
  type Writer,
  type Writing,
  type WrittenPiece,
} from "./generation.ts";
export type { Extension } from "./language/decoders.ts";
export { type DepthSizes, depthReport } from "./language/depth-report.ts";
export { type ExportedConfig, exportConfig, languageProgram } from "./language/export.ts";
export {
  type CompleteLanguageOptions,
  LanguageModel,
  type LanguageModelOptions,
  languageModel,
  type OwnBlocks,
  type OwnDepth,
  type PlannedBlocks,
  type TextSizes,
  type WrittenBlocks,
} from "./language/language.ts";
export type { LlamaConfig } from "./language/llama.ts";
export { type ImportedLanguageModel, importLlama, llamaOptions } from "./language/llama.ts";
export { type SharedFrom, type SharedFromOptions, type SharedRow, sharedFrom } from "./language/shared-from.ts";
export {
  generateMany,
  generateTogether,
  type ManyIdsOptions,
  type ManyTextsOptions,
  type ManyTextsWith,
  openBatch,
  type PieceOf,
  type TokenOf,
} from "./many.ts";
export {
  attention,
  type CandidateChoice,
  candidateName,
  custom,
  feedForward,
  identity,
  type MakeCandidate,
  type SharedSizes,
} from "./par/candidates.ts";
export type { ReadableNetwork } from "./par/decoder.ts";
export { type Carried, type MemoryReading, ParDecoder } from "./par/decoder.ts";
export { type NetworkSizes, networkDepthReport } from "./par/depth-report.ts";
export { type ParProgramShape, parProgram } from "./par/export.ts";
export { type FoundNetwork, foundNetwork } from "./par/found.ts";
export type { ParOptions } from "./par/options.ts";
export { ParModel, type ParObjective, type ParRun, parModel, type Segment, type SegmentShape } from "./par/par.ts";
export { type WrittenNetwork, writtenNetwork } from "./par/written.ts";
export { countParameters, type ModelReport, reportOn } from "./report.ts";
export type { SamplingOptions } from "./sampling.ts";
export * from "./seq2seq/index.ts";
export type {
  DecoderStack,
  EncoderStack,
  LayerKind,
  LayerSource,
  Owner,
  Stack,
} from "./seq2seq/stacks.ts";
export { type DraftCounts, type Drafted, type Drafter, draftsText, type RewindableDecoder } from "./speculation.ts";
export { type FloatRecord, loadStateDict, type NamedTensor, type NamedTensors, stateDict } from "./state-dict.ts";
export type { ParameterValues, Supernet } from "./supernet.ts";
export { boundWeights, type Named, type Weights } from "./weights.ts";
