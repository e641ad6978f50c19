/** The tokenizer for a corpus: the one asked for, the one that lies with the data, or one trained on the text and kept in the cache. */
import { reject } from "../base/errors.ts";
import type { Corpus } from "./corpus.ts";
import { type OpenTokenizer, openTokenizer } from "./tokenizerfile.ts";

export interface TokenizerChoice {
  data?: string;
  cache?: string;
  /** Vocabulary size of a trained tokenizer. */
  pieces: number;
  /** Keep upper case in a trained tokenizer. */
  cased?: boolean;
  say?: (message: string) => void;
}

/** Opens or trains. */
export async function chooseTokenizer(
  nameOrFile: string | undefined,
  corpus: Corpus,
  options: TokenizerChoice,
): Promise<OpenTokenizer> {
  const place = options.data === undefined ? {} : { data: options.data };
  if (nameOrFile !== undefined) return openTokenizer(nameOrFile, place);
  if (corpus.tokenizer !== undefined) return openTokenizer(corpus.tokenizer, place);
  return reject({ who: "tokenizer", needed: "a model", got: "none", remedy: "name one with --tokenizer" }, 2);
}
