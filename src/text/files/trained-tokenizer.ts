/** The tokenizer for a corpus: the one asked for, the one that lies with the data, or one trained on the text and kept in the cache. */
import { statSync } from "node:fs";
import { reject } from "../../base/errors.ts";
import { checkOptions, text } from "../../base/options.ts";
import { type Corpus, type CorpusPart, identityOf, liesInFiles, linesOf, partOf } from "../corpus.ts";
import { isPlainVocabulary, type PlainVocabulary } from "../plain-vocabulary.ts";
import type { TrainingOptions } from "../sentencepiece/training/options.ts";
import { type OpenTokenizer, tokenizerFromBytes } from "../tokenizer.ts";
import {
  corpusTraining,
  type TrainingWatcher,
  trainedName,
  type VocabularyOptions,
  vocabularyRules,
} from "../vocabulary.ts";
import { defaultCacheFolder, keyOf } from "./cache.ts";
import { keptTokenizer } from "./kept-tokenizer.ts";
import { openTokenizer } from "./tokenizer.ts";

/** What a tokenizer is trained with where none is named, and where it is kept. */
export interface TokenizerChoice extends VocabularyOptions, TrainingWatcher {
  /** Folder of datasets and tokenizers. */
  data?: string | undefined;
  cache?: string | undefined;
}

/** Opens the tokenizer asked for or the data's own; without either, trains one on the training text; once, where that is in files. */
export async function chooseTokenizer(
  nameOrFile: string | undefined,
  corpus: Corpus,
  options: TokenizerChoice,
): Promise<OpenTokenizer> {
  checkOptions("chooseTokenizer", options, { ...vocabularyRules, data: text, cache: text });
  const place = options.data === undefined ? {} : { data: options.data };
  if (isPlainVocabulary(nameOrFile)) return plainTokenizer(nameOrFile, corpus, options);
  const wanted = nameOrFile ?? corpus.tokenizer;
  if (wanted !== undefined) return openTokenizer(wanted, place);
  if (!liesInFiles(partOf(corpus, "train"))) {
    const { data: _, cache: __, ...training } = options;
    return (await trainers()).trainTokenizer(corpus, training);
  }
  const training = corpusTraining(corpus, options);
  const one = sampleOf(partOf(corpus, "train"));
  const key = keyOf(...(await factsOf(corpus, training)), ...(one > 1 ? ["one line in", one] : []));
  const made = async () => {
    const lines = sampled(linesOf(corpus, "train"), one);
    const name = one > 1 ? `${corpus.name}, from one line in ${one} of so large a text` : corpus.name;
    return (await trainers()).trainModelOn(lines, name, training, options);
  };
  const opened = await keptTokenizer(options.cache ?? defaultCacheFolder(), key, made, options.say);
  return { ...opened, name: trainedName(corpus, opened) };
}

/** All bytes, or the most frequent words of the training text. */
async function plainTokenizer(
  name: PlainVocabulary,
  corpus: Corpus,
  { pieces, masked }: TokenizerChoice,
): Promise<OpenTokenizer> {
  const { byteModel, wordModel } = await import("../plain-vocabulary.ts");
  if (name === "bytes") return tokenizerFromBytes(byteModel({ masked }), name);
  const opened = await tokenizerFromBytes(wordModel(linesOf(corpus, "train"), { pieces, masked }), name);
  return { ...opened, name: `${trainedName(corpus, opened)}-words` };
}

/** A larger text is sampled: more of it would change few pieces, and take time and memory for its rare words. */
const LARGE_BYTES = 1 << 26;
const SAMPLE_BYTES = 1 << 25;
/** Neighbouring lines that are taken together, since a text may repeat every few lines. */
const STRETCH_LINES = 64;

/** Of how many lines one is learnt from: 1, unless the text is too large for all of it. */
function sampleOf(part: CorpusPart): number {
  const paths = part.kind === "text" ? part.texts.map(({ path }) => path!) : [];
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0);
  return bytes > LARGE_BYTES ? Math.ceil(bytes / SAMPLE_BYTES) : 1;
}

/** One stretch of lines in so many, evenly over the text. */
function* sampled(lines: Iterable<string>, one: number): Generator<string> {
  let index = 0;
  for (const line of lines) if (Math.floor(index++ / STRETCH_LINES) % one === 0) yield line;
}

/** Loaded only where something is trained. */
const trainers = () => import("../tokenizer-training.ts");

/** All that a training run depends on. */
async function factsOf(corpus: Corpus, options: TrainingOptions): Promise<(string | number)[]> {
  const part = partOf(corpus, "train");
  if (part.kind !== "text") {
    reject(
      {
        who: `corpus ${corpus.name}`,
        needed: "the tokenizer it was made with",
        got: "none",
        remedy: "name it with --tokenizer, or put it beside the data as tokenizer.model",
      },
      2,
    );
  }
  return ["unigram 1", JSON.stringify(options), ...(await identityOf(part))];
}
