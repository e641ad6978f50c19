/** The tokenizer for a corpus: the one asked for, the one that lies with the data, or one trained on the text and kept in the cache. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { writeModel } from "../sentencepiece/model-writer.ts";
import { TRAINING_DEFAULTS, type TrainingOptions } from "../sentencepiece/training/options.ts";
import { Trainer } from "../sentencepiece/training/trainer.ts";
import { defaultCacheFolder, keyOf } from "./cache.ts";
import { type Corpus, identityOf, linesOf, partOf } from "./corpus.ts";
import { type OpenTokenizer, openTokenizer } from "./tokenizer.ts";

export interface TokenizerChoice {
  /** Folder of datasets and tokenizers. */
  data?: string;
  cache?: string;
  /** Vocabulary size of a trained tokenizer; 12,000, or what a short text supports, if not given. */
  pieces?: number;
  /** Keep upper case in a trained tokenizer. */
  cased?: boolean;
  /** Train with ALBERT's special pieces, for masked-LM data. */
  masked?: boolean;
  say?: (message: string) => void;
  /** Called with lines read and, after that, steps of training. */
  onStep?: (steps: number) => void;
}

/** Books of about a million characters support a piece for every 79 to 105, shorter texts relatively more; this leaves room. */
const CHARACTERS_PER_PIECE = 150;
const FEWEST_PIECES = 200;

/** ALBERT's special pieces, with its ids; [MASK] gets the next one, 4. */
const MASKED_SPECIALS: Partial<TrainingOptions> = {
  ...{ padId: 0, unknownId: 1, bosId: 2, eosId: 3 },
  ...{ padPiece: "<pad>", unknownPiece: "<unk>", bosPiece: "[CLS]", eosPiece: "[SEP]" },
  controlSymbols: ["[MASK]"],
};

/** Opens the tokenizer asked for or the data's own; without either, trains one on the training text, once. */
export async function chooseTokenizer(
  nameOrFile: string | undefined,
  corpus: Corpus,
  options: TokenizerChoice,
): Promise<OpenTokenizer> {
  const place = options.data === undefined ? {} : { data: options.data };
  const wanted = nameOrFile ?? corpus.tokenizer;
  if (wanted !== undefined) return openTokenizer(wanted, place);
  const training = trainingOptions(corpus, options);
  const key = keyOf(...(await factsOf(corpus, training)));
  const path = join(options.cache ?? defaultCacheFolder(), "tokenizers", `${key}.model`);
  if (!existsSync(path)) await writeAtomically(path, train(corpus, training, options));
  const opened = await openTokenizer(path);
  return { ...opened, name: `${corpus.name}-${opened.tokenizer.size}` };
}

function trainingOptions(corpus: Corpus, { pieces, cased, masked }: TokenizerChoice): TrainingOptions {
  return {
    ...TRAINING_DEFAULTS,
    vocabularySize: pieces ?? defaultPieces(corpus),
    normalisation: cased ? "nfkc" : "nfkc_cf",
    // WikiText writes hyphens so.
    userSymbols: hasArticles(corpus) ? ["@-@"] : [],
    ...(masked ? MASKED_SPECIALS : {}),
  };
}

function hasArticles(corpus: Corpus): boolean {
  const part = partOf(corpus, "train");
  return part.kind === "text" && part.files.some(({ articles }) => articles);
}

/** 12,000, or for a short text a piece for every 150 characters, in whole hundreds. */
function defaultPieces(corpus: Corpus): number {
  const most = TRAINING_DEFAULTS.vocabularySize;
  let characters = 0;
  for (const line of partOf(corpus, "train").kind === "text" ? linesOf(corpus, "train") : []) {
    characters += line.length;
    if (characters >= most * CHARACTERS_PER_PIECE) return most;
  }
  return Math.max(FEWEST_PIECES, Math.floor(characters / CHARACTERS_PER_PIECE / 100) * 100);
}

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

function train(corpus: Corpus, training: TrainingOptions, { say, onStep }: TokenizerChoice): Uint8Array {
  say?.(`training a tokenizer of ${training.vocabularySize} pieces on ${corpus.name}`);
  const trainer = new Trainer(training);
  let steps = 0;
  for (const line of linesOf(corpus, "train")) {
    trainer.add(line);
    onStep?.(++steps);
  }
  return writeModel(trainer.finish(() => onStep?.(++steps)));
}
