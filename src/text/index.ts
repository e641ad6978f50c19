/** `layerwise/text`: everything about text, in memory and in files, without models and runtimes. */
export * from "./browser.ts";

// Corpora by name or path, and what is made from them once and then kept.

export {
  type BatchFileReport,
  type BuildOptions,
  buildDataset,
  explainLosses,
  inspectBatches,
  reportSplits,
  type SplitReport,
  splitTable,
} from "./files/build.ts";
export { defaultCacheFolder } from "./files/cache.ts";
export { type CorpusOptions, DEFAULT_CORPUS, dataFolder, openCorpus } from "./files/corpus.ts";
export { countPieces, readCounts } from "./files/counts.ts";
export {
  type BuiltData,
  buildData,
  builtText,
  type DataBuilding,
  type DataOptions,
  type InspectedData,
  type InspectedText,
  inspectData,
  inspectionText,
} from "./files/data.ts";
export { DATASETS, type FetchedFile, type FetchOptions, fetchDataset, holdsDataset } from "./files/datasets.ts";
export { openBatchFiles } from "./files/records.ts";
export {
  type IdentifiedEncoder,
  openBatches,
  openTokens,
  type SplitBatching,
  type TokenOptions,
  tokensOf,
} from "./files/tokens.ts";

// Tokenizers out of files.

export {
  byteLines,
  bytesIn,
  modelFiles,
  nameOf,
  refuseTaken,
  type SavedModel,
  saveModel,
  type TextSource,
  type TrainingWatch,
  trainOnText,
  trainToFiles,
  turnLines,
} from "./files/sentencepiece.ts";
export { openTokenizer, type TokenizerFile, type TokenizerPlace } from "./files/tokenizer.ts";
export { chooseTokenizer, type TokenizerChoice } from "./files/trained-tokenizer.ts";

// Masked text, labelled text, pairs and probes out of files.

export type { Contents, Dataset, Source } from "./files/datasets.ts";
export { type DocumentOptions, openDocuments } from "./files/documents.ts";
export { glueFile, hasGlueFile, readGlue } from "./files/glue.ts";
export {
  linesIn,
  type PlainColumns,
  plainText,
  plainTexts,
  readChoices,
  readConll,
  readLabelled,
  readSquad,
  readTable,
  readTextFiles,
  readTexts,
  type TextData,
  type TextFiles,
  tableFormOf,
  textsIn,
} from "./files/labelled.ts";
export {
  buildPretraining,
  type ExampleFileReport,
  holdsExamples,
  inspectExamples,
  inspectRecords,
  type PretrainingBuildOptions,
  type PretrainingReport,
  type RecordFileReport,
  readPretrainingFiles,
} from "./files/masked.ts";
export { jointTokenizer, openPairs, type PairsOptions, pairsOf } from "./files/pairs.ts";
export { readAgreement, readConllu, readProbe } from "./files/probing.ts";
