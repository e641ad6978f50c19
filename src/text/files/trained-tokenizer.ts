/** The tokenizer for a corpus: the one asked for, the one that lies with the data, or one trained on the text and kept in the cache. */
import { reject } from "../../base/errors.ts";
import { checkOptions, text } from "../../base/options.ts";
import { type Corpus, identityOf, liesInFiles, linesOf, partOf } from "../corpus.ts";
import type { TrainingOptions } from "../sentencepiece/training/options.ts";
import type { OpenTokenizer } from "../tokenizer.ts";
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
  const wanted = nameOrFile ?? corpus.tokenizer;
  if (wanted !== undefined) return openTokenizer(wanted, place);
  if (!liesInFiles(partOf(corpus, "train"))) {
    const { data: _, cache: __, ...training } = options;
    return (await trainers()).trainTokenizer(corpus, training);
  }
  const training = corpusTraining(corpus, options);
  const key = keyOf(...(await factsOf(corpus, training)));
  const made = async () => (await trainers()).trainModelOn(linesOf(corpus, "train"), corpus.name, training, options);
  const opened = await keptTokenizer(options.cache ?? defaultCacheFolder(), key, made, options.say);
  return { ...opened, name: trainedName(corpus, opened) };
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
