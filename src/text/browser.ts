/** Text without files, for any platform: corpora and tokenizers in memory, batches, masked text, labelled text, pairs, probes. */

// Corpora and tokenizers.

export {
  type Corpus,
  type CorpusPart,
  type CorpusText,
  linesOf,
  partOf,
  SPLITS,
  type Split,
  type TextLines,
  type TextParts,
  textCorpus,
} from "./corpus.ts";
export { loadTokenizer, type OpenTokenizer, type Tokenizer, tokenizerFromBytes } from "./tokenizer.ts";
export { trainTokenizer } from "./tokenizer-training.ts";
export type { TrainingWatcher, VocabularyOptions } from "./vocabulary.ts";

// Token ids, and batches of them.

export {
  type Batch as TokenBatch,
  type BatchOptions,
  type BatchSource,
  type ContextPlan,
  contextBatches,
  planContext,
  shardLines,
  streamBatches,
  type TokenStream,
} from "./batches.ts";
export {
  type Cluster,
  type ClusterCost,
  type Cutoffs,
  clustersOf,
  costsOfClusters,
  countTokens,
  cutoffsText,
  frequencyRanks,
  optimalCutoffs,
  parseCounts,
} from "./cutoffs.ts";
export {
  type EncodedLines,
  type Encoder,
  type Ids,
  type TextBatching,
  type TextTokens,
  type TokenizedText,
  textBatches,
  tokenize,
} from "./tokens.ts";

// Masked text, for encoders.

export {
  type DrawnOptions,
  drawnBatches,
  type MaskedBatches,
  pretrainingFeeds,
  storedBatches,
} from "./masked/batches.ts";
export {
  type Document,
  type Documents,
  documentCorpus,
  documentsOf,
  normaliseForAlbert,
  type PieceTokenizer,
  type SpecialIds,
  type StoredDocuments,
  specialIds,
} from "./masked/documents.ts";
export {
  PRETRAINING_DEFAULTS,
  type PretrainingBatch,
  type PretrainingExample,
  type PretrainingOptions,
} from "./masked/examples.ts";
export type { MaskingOptions } from "./masked/masking.ts";
export type { PairOptions } from "./masked/sentence-order.ts";
export { eachToken, kindsOf, TOKEN_KINDS, type TokenKind } from "./masked/token-kinds.ts";

// Labelled text, and the figures to judge by.

export { type ChoiceQuestion, type ChoiceReading, parseChoices } from "./labelled/choices.ts";
export { type GlueExample, type GlueReading, parseGlue } from "./labelled/glue-examples.ts";
export {
  type Columns,
  type GlueTask,
  glueTask,
  glueTasks,
  type Submission,
  trainableGlueTask,
} from "./labelled/glue-tasks.ts";
export { type TableTask, type TextColumns, tableTasks } from "./labelled/labelled-rows.ts";
export {
  type LabelledTable,
  parseTable,
  type TableForm,
  type TableReading,
  type TableRow,
} from "./labelled/labelled-table.ts";
export { type Metric, type MetricName, metrics } from "./labelled/metrics.ts";
export { answerFigures, parseSquad, type Question, type SquadReading } from "./labelled/questions.ts";
export { type ConllReading, parseConll, type TaggedSentence, tagFigures, tagsIn } from "./labelled/tagged.ts";
export {
  classification,
  type LabelledText,
  type LabelOptions,
  multiLabel,
  type PlainText,
  regression,
  type TaskOptions,
  type TextExample,
  type TextTask,
} from "./labelled/text-task.ts";

// Sentence pairs for translation.

export { type Bleu, type BleuOptions, bleu, tokenise13a } from "./pairs/bleu.ts";
export {
  encodePairs,
  type IdPair,
  type PackedBatch,
  type PackingOptions,
  packBatches,
  type SentencePairs,
} from "./pairs/packing.ts";
export {
  type PairNames,
  type PairParts,
  type PairsCorpus,
  pairsCorpus,
  type SentencePair,
} from "./pairs/pairs-corpus.ts";

// Sentences to look into a model's depth with.

export { type AlignedPieces, alignWords, plainWords, type SpacedWord } from "./probing/alignment.ts";
export { parseConllu, type TreebankSentence, type TreebankWord } from "./probing/conllu.ts";
export { type ProbeSentence, parseAgreement, parseProbe } from "./probing/probing.ts";

// SentencePiece models from the inside.

export { type LineTurner, lineDecoder, lineEncoder } from "./sentencepiece/lines.ts";
export type { Model as SentencePieceModel } from "./sentencepiece/model.ts";
export { readModel } from "./sentencepiece/model-reader.ts";
export { type ModelSummary, summarise, summaryText } from "./sentencepiece/summary.ts";
export { TRAINING_DEFAULTS, type TrainingOptions as TokenizerTraining } from "./sentencepiece/training/options.ts";
export type { TrainingStep as TokenizerTrainingStep } from "./sentencepiece/training/trainer.ts";
export type { Release } from "./sentencepiece/unigram.ts";

// Types that stand in the signatures above.

export type { EncodedExample } from "./labelled/glue-batches.ts";
export type { Specials } from "./pairs/packing.ts";
export type { Codec } from "./sentencepiece/lines.ts";
export type { ModelKind, NormaliserSpec, Piece, PieceKind, TrainerSpec } from "./sentencepiece/model.ts";
export type { ModelLimits } from "./sentencepiece/model-reader.ts";
export { NORMALISATIONS, type Normalisation } from "./sentencepiece/normalisation-rules.ts";
export type { SentencePieceTokenizer } from "./sentencepiece/tokenizer.ts";
