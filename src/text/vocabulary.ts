/** What a vocabulary is trained with: its options, and what a corpus suggests. Light, since most trained tokenizers lie in a cache. */
import { anything, number, type Rules, truth, whole } from "../base/options.ts";
import { type Corpus, linesOf, partOf } from "./corpus.ts";
import { TRAINING_DEFAULTS, type TrainingOptions } from "./sentencepiece/training/options.ts";
import type { OpenTokenizer } from "./tokenizer.ts";

/** What a vocabulary is trained with; everything else is SentencePiece's default. */
export interface VocabularyOptions {
  /** Pieces in all. Default: 12,000, or fewer where a text is short. */
  pieces?: number | undefined;
  /** Keep upper case. Default: false. */
  cased?: boolean | undefined;
  /** ALBERT's special pieces, for masked language models. Default: false. */
  masked?: boolean | undefined;
  /** Kept whole wherever they occur in text. Default: none; `@-@` for WikiText. */
  symbols?: readonly string[];
  /** Fraction of the text's characters that have a piece; the rarest beyond it become unknown. Default: 0.9995. */
  coverage?: number;
}

/** Who wants to watch a training. */
export interface TrainingWatcher {
  say?: ((message: string) => void) | undefined;
  /** Called with lines read and, after that, steps of training. */
  onStep?: ((steps: number) => void) | undefined;
}

/** What training may be asked for. */
export const vocabularyRules: Rules<VocabularyOptions & TrainingWatcher> = {
  pieces: whole(2),
  cased: truth,
  masked: truth,
  symbols: anything,
  coverage: number({ above: 0, to: 1 }),
  say: anything,
  onStep: anything,
};

/** Books of about a million characters support a piece for every 79 to 105, shorter texts relatively more; this leaves room. */
const CHARACTERS_PER_PIECE = 150;
const FEWEST_PIECES = 200;

/** ALBERT's special pieces, with its ids; [MASK] gets the next one, 4. */
const MASKED_SPECIALS: Partial<TrainingOptions> = {
  padId: 0,
  unknownId: 1,
  bosId: 2,
  eosId: 3,
  padPiece: "<pad>",
  unknownPiece: "<unk>",
  bosPiece: "[CLS]",
  eosPiece: "[SEP]",
  controlSymbols: ["[MASK]"],
};

/** What a tokenizer that was trained on a corpus is called. */
export const trainedName = ({ name }: Corpus, { tokenizer }: OpenTokenizer) => `${name}-${tokenizer.size}`;

/** All options of a training, by those that are given. */
export function trainingOptions(options: VocabularyOptions): TrainingOptions {
  const { pieces, cased, masked, symbols = [], coverage = TRAINING_DEFAULTS.characterCoverage } = options;
  return {
    ...TRAINING_DEFAULTS,
    vocabularySize: pieces ?? TRAINING_DEFAULTS.vocabularySize,
    characterCoverage: coverage,
    normalisation: cased ? "nfkc" : "nfkc_cf",
    userSymbols: symbols,
    ...(masked ? MASKED_SPECIALS : {}),
  };
}

/** The same, with what a corpus suggests: the number of pieces, and the hyphens of WikiText. */
export function corpusTraining(corpus: Corpus, options: VocabularyOptions): TrainingOptions {
  const symbols = options.symbols ?? (hasArticles(corpus) ? ["@-@"] : []);
  return trainingOptions({ ...options, symbols, pieces: options.pieces ?? defaultPieces(corpus) });
}

function hasArticles(corpus: Corpus): boolean {
  const part = partOf(corpus, "train");
  return part.kind === "text" && part.texts.some(({ articles }) => articles);
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
