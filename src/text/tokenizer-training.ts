/** Training the tokenizer of a corpus, in memory: lines to a model. */
import { checkOptions } from "../base/options.ts";
import { type Corpus, linesOf } from "./corpus.ts";
import { writeModel } from "./sentencepiece/model-writer.ts";
import type { TrainingOptions } from "./sentencepiece/training/options.ts";
import { Trainer } from "./sentencepiece/training/trainer.ts";
import { type OpenTokenizer, tokenizerFromBytes } from "./tokenizer.ts";
import {
  corpusTraining,
  type TrainingWatcher,
  trainedName,
  type VocabularyOptions,
  vocabularyRules,
} from "./vocabulary.ts";

/** Trains a tokenizer on the training text of a corpus; nothing is read from a cache or kept in one. */
export async function trainTokenizer(
  corpus: Corpus,
  options: VocabularyOptions & TrainingWatcher = {},
): Promise<OpenTokenizer> {
  checkOptions("trainTokenizer", options, vocabularyRules);
  const bytes = trainModelOn(linesOf(corpus, "train"), corpus.name, corpusTraining(corpus, options), options);
  const opened = await tokenizerFromBytes(bytes, corpus.name);
  return { ...opened, name: trainedName(corpus, opened) };
}

/** The bytes of a model trained on lines; `name` says of what. */
export function trainModelOn(
  lines: Iterable<string>,
  name: string,
  training: TrainingOptions,
  { say, onStep }: TrainingWatcher,
): Uint8Array {
  say?.(`training a tokenizer of ${training.vocabularySize} pieces on ${name}`);
  const trainer = new Trainer(training);
  let steps = 0;
  for (const line of lines) {
    trainer.add(line);
    onStep?.(++steps);
  }
  return writeModel(trainer.finish(() => onStep?.(++steps)));
}
