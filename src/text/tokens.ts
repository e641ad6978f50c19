/** From a corpus to token ids and batches, in memory. */
import { anything, checkOptions, oneOf, type Rules, required, whole } from "../base/options.ts";
import {
  type BatchOptions,
  type BatchSource,
  planContext,
  shardLines,
  streamBatches,
  streamOf,
  streamPart,
  type TokenStream,
} from "./batches.ts";
import { type Corpus, linesOf, type Split } from "./corpus.ts";
import { countTokens } from "./cutoffs.ts";
import { bytesIn, wordsIn } from "./extent.ts";

/** Ids of pieces, in two bytes each where the vocabulary allows. */
export type Ids = Uint16Array | Int32Array;

/** A tokenised text in memory: line i is ids [lineEnds[i − 1], lineEnds[i]). */
export interface TokenizedText {
  ids: Ids;
  lineEnds: Uint32Array;
  /** Words as white space separates them. */
  words: number;
}

/** Lines that were tokenised, and how many bytes of UTF-8 they had without their ends. */
export interface EncodedLines extends TokenizedText {
  bytes: number;
}

/** The tokens of a text wherever they lie: line i is ids [lineEnd(i − 1), lineEnd(i)). */
export interface TextTokens {
  readonly ids: TokenStream;
  readonly lines: number;
  readonly words: number;
  /** Of the text, in UTF-8; undefined where that was not noted. */
  readonly bytes: number | undefined;
  lineEnd(line: number): number;
  /** How often each piece of a vocabulary of so many occurs. */
  counts(pieces: number): Float64Array;
}

/** Tokens in memory. */
export function tokensInMemory(text: TokenizedText & Partial<EncodedLines>): TextTokens {
  const { ids, lineEnds, words, bytes } = text;
  return {
    ids: streamOf(ids),
    lines: lineEnds.length,
    words,
    bytes,
    lineEnd: (line) => lineEnds[line]!,
    counts: (pieces) => countTokens(ids, pieces),
  };
}

/** All of the tokens, brought into memory. */
export function wholeText(tokens: TextTokens, pieces: number): TokenizedText {
  const all = new Int32Array(tokens.ids.length);
  tokens.ids.copy(0, all.length, all, 0);
  const lineEnds = Uint32Array.from({ length: tokens.lines }, (_, line) => tokens.lineEnd(line));
  return { ids: pieces <= 65536 ? Uint16Array.from(all) : all, lineEnds, words: tokens.words };
}

/** What tokenising needs of a tokenizer. */
export interface Encoder {
  /** Pieces in the vocabulary. */
  readonly size: number;
  encode(text: string): ArrayLike<number>;
}

/** How to batch a split: sequence length, not window. */
export interface TextBatching {
  /** Rows of a batch. */
  batch: number;
  length: number;
  shards?: number | undefined;
  compat?: "original" | undefined;
  warn?: ((message: string) => void) | undefined;
  /** Called with the number of lines done. */
  onLine?: ((lines: number) => void) | undefined;
}

/** What batches of text may be asked for. */
export const batchingRules: Rules<TextBatching> = {
  batch: required(whole(1)),
  length: required(whole(1)),
  shards: whole(1),
  compat: oneOf(["original"]),
  warn: anything,
  onLine: anything,
};

/** Tokenises lines one by one, without newline, and joins them; two bytes per id where the vocabulary allows. */
export function tokenize(lines: Iterable<string>, tokenizer: Encoder, onLine?: (lines: number) => void): EncodedLines {
  const ids = tokenizer.size <= 65536 ? new Growing<OwnIds>(Uint16Array) : new Growing<OwnIds>(Int32Array);
  const lineEnds = new Growing(Uint32Array);
  let [words, bytes] = [0, 0];
  for (const line of lines) {
    ids.append(tokenizer.encode(line));
    lineEnds.append([ids.length]);
    words += wordsIn(line);
    bytes += bytesIn(line);
    onLine?.(lineEnds.length);
  }
  return { ids: ids.finish(), lineEnds: lineEnds.finish(), words, bytes };
}

/** Ids of lines one after another, of a vocabulary of so many pieces; what words they had is not known. */
export function joinIds(lines: Iterable<ArrayLike<number>>, pieces: number): EncodedLines {
  const ids = pieces <= 65536 ? new Growing<OwnIds>(Uint16Array) : new Growing<OwnIds>(Int32Array);
  const lineEnds = new Growing(Uint32Array);
  for (const line of lines) {
    ids.append(line);
    lineEnds.append([ids.length]);
  }
  return { ids: ids.finish(), lineEnds: lineEnds.finish(), words: 0, bytes: 0 };
}

type OwnIds = Uint16Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

/** A typed array that doubles when it is full. */
class Growing<T extends OwnIds | Uint32Array<ArrayBuffer>> {
  #array: T;
  readonly #make: new (
    length: number,
  ) => T;
  length = 0;

  constructor(make: new (length: number) => T) {
    this.#make = make;
    this.#array = new make(1024);
  }

  append(values: ArrayLike<number>): void {
    if (this.length + values.length > this.#array.length) {
      const grown = new this.#make(Math.max(this.length + values.length, this.#array.length * 2));
      grown.set(this.#array);
      this.#array = grown;
    }
    this.#array.set(values, this.length);
    this.length += values.length;
  }

  finish(): T {
    return this.#array.slice(0, this.length) as T;
  }
}

/** The ids of each shard. One shard is all lines, wherever they end. */
export function shardsOf(text: TextTokens, shards: number): TokenStream[] {
  if (shards === 1 && text.lines > 0) return [text.ids];
  const endOf = (line: number) => (line > 0 ? text.lineEnd(line - 1) : 0);
  return shardLines(text.lines, shards).map(({ from, to }) => streamPart(text.ids, endOf(from), endOf(to)));
}

/** The batches of a split that is text, tokenised now; `openBatches` does the same for files, through a cache. */
export function textBatches(
  corpus: Corpus,
  split: Split,
  { tokenizer }: { readonly tokenizer: Encoder },
  options: TextBatching,
): BatchSource {
  checkOptions("textBatches", options, batchingRules);
  const text = tokenize(linesOf(corpus, split), tokenizer, options.onLine);
  return batchesOfTokens(tokensInMemory(text), options, `${corpus.name} ${split}`);
}

/** Batches of a tokenised text; `who` names it in errors and warnings. */
export function batchesOfTokens(text: TextTokens, options: TextBatching, who: string): BatchSource {
  const shards = shardsOf(text, options.shards ?? 1);
  warnOfLoss(text, shards, options, who);
  return streamBatches(shards, contextOf(options), who);
}

/** Sequence length to window. */
export function contextOf({ batch, length, compat }: Pick<TextBatching, "batch" | "length" | "compat">): BatchOptions {
  return { batch, window: length + 1, ...(compat ? { compat } : {}) };
}

/** Shards drop left-over lines and a rest each: says so when that costs more than one stream would. */
function warnOfLoss(text: TextTokens, shards: readonly TokenStream[], options: TextBatching, who: string): void {
  if (shards.length < 2) return;
  const context = contextOf(options);
  const kept = shards.reduce((sum, ids) => sum + ids.length - planContext(ids.length, context).dropped, 0);
  const lost = text.ids.length - kept;
  const alone = planContext(text.ids.length, context).dropped;
  if (lost > alone) {
    options.warn?.(
      `${who}: ${shards.length} shards drop ${lost} of ${text.ids.length} tokens; one would drop ${alone}`,
    );
  }
}
