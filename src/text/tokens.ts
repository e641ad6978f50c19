/** From a corpus to token ids and batches, in memory. */
import { anything, checkOptions, oneOf, type Rules, required, whole } from "../base/options.ts";
import { type BatchOptions, type BatchSource, planContext, shardLines, streamBatches } from "./batches.ts";
import { type Corpus, linesOf, type Split } from "./corpus.ts";

/** A tokenised text: line i is ids [lineEnds[i − 1], lineEnds[i]). */
export interface TokenizedText {
  ids: Uint16Array | Int32Array;
  lineEnds: Uint32Array;
  /** Words as white space separates them. */
  words: number;
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
export function tokenize(lines: Iterable<string>, tokenizer: Encoder, onLine?: (lines: number) => void): TokenizedText {
  const ids = tokenizer.size <= 65536 ? new Growing<Ids>(Uint16Array) : new Growing<Ids>(Int32Array);
  const lineEnds = new Growing(Uint32Array);
  let words = 0;
  for (const line of lines) {
    ids.append(tokenizer.encode(line));
    lineEnds.append([ids.length]);
    words += line.match(/\S+/g)?.length ?? 0;
    onLine?.(lineEnds.length);
  }
  return { ids: ids.finish(), lineEnds: lineEnds.finish(), words };
}

type Ids = Uint16Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

/** A typed array that doubles when it is full. */
class Growing<T extends Ids | Uint32Array<ArrayBuffer>> {
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

/** The ids of each shard, as views. */
export function shardsOf({ ids, lineEnds }: TokenizedText, shards: number): (Uint16Array | Int32Array)[] {
  const endOf = (line: number) => (line > 0 ? lineEnds[line - 1]! : 0);
  return shardLines(lineEnds.length, shards).map(({ from, to }) => ids.subarray(endOf(from), endOf(to)));
}

/** The batches of a split that is text, tokenised now; `openBatches` does the same for files, through a cache. */
export function textBatches(
  corpus: Corpus,
  split: Split,
  { tokenizer }: { readonly tokenizer: Encoder },
  options: TextBatching,
): BatchSource {
  checkOptions("textBatches", options, batchingRules);
  return batchesOfTokens(
    tokenize(linesOf(corpus, split), tokenizer, options.onLine),
    options,
    `${corpus.name} ${split}`,
  );
}

/** Batches of a tokenised text; `who` names it in errors and warnings. */
export function batchesOfTokens(text: TokenizedText, options: TextBatching, who: string): BatchSource {
  const shards = shardsOf(text, options.shards ?? 1);
  warnOfLoss(text, shards, options, who);
  return streamBatches(shards, contextOf(options), who);
}

/** Sequence length to window. */
export function contextOf({ batch, length, compat }: Pick<TextBatching, "batch" | "length" | "compat">): BatchOptions {
  return { batch, window: length + 1, ...(compat ? { compat } : {}) };
}

/** Shards drop left-over lines and a rest each: says so when that costs more than one stream would. */
function warnOfLoss(
  text: TokenizedText,
  shards: readonly ArrayLike<number>[],
  options: TextBatching,
  who: string,
): void {
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
