/** From a corpus to token ids and batches, through the cache. */
import { readFile } from "node:fs/promises";
import { reject } from "../../base/errors.ts";
import { type BatchOptions, type BatchSource, planContext, shardLines, streamBatches } from "../batches.ts";
import { cachedTokens, decodeTokens, defaultCacheFolder, keyOf, type TokenizedText } from "./cache.ts";
import { type Corpus, identityOf, linesOf, partOf, type Split } from "./corpus.ts";
import { openBatchFiles } from "./records.ts";

/** What tokenising needs of a tokenizer. */
export interface Encoder {
  /** Pieces in the vocabulary. */
  readonly size: number;
  encode(text: string): ArrayLike<number>;
}

/** A tokenizer with the SHA-256 of its model, so that caches know it. */
export interface IdentifiedEncoder {
  tokenizer: Encoder;
  sha256: string;
}

export interface TokenOptions {
  /** Folder of the token cache. */
  cache?: string;
  warn?: (message: string) => void;
  /** Called with the number of lines done. */
  onLine?: (lines: number) => void;
}

/** How to batch a split: sequence length, not window. */
export interface SplitBatching extends TokenOptions {
  batch: number;
  length: number;
  shards?: number;
  compat?: "original";
}

/** Tokenises lines one by one, without newline, and joins them; two bytes an id where the vocabulary allows. */
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

/** The tokens of a split: out of the cache, or made and put there. */
export async function tokensOf(
  corpus: Corpus,
  split: Split,
  { tokenizer, sha256 }: IdentifiedEncoder,
  { cache = defaultCacheFolder(), warn, onLine }: TokenOptions = {},
): Promise<TokenizedText> {
  const part = partOf(corpus, split);
  if (part.kind === "tokens") return readTokens(part.path, tokenizer.size);
  const lines = linesOf(corpus, split);
  const key = keyOf("tokens 1", sha256, ...(await identityOf(part)));
  return cachedTokens(cache, key, () => tokenize(lines, tokenizer, onLine), warn);
}

async function readTokens(path: string, vocabulary: number): Promise<TokenizedText> {
  const text = decodeTokens(await readFile(path), path);
  const bad = text.ids.find((id: number) => id < 0 || id >= vocabulary);
  if (bad === undefined) return text;
  return reject({
    who: path,
    needed: `ids below the tokenizer's ${vocabulary} pieces`,
    got: `${bad}`,
    remedy: "give the tokenizer this data was built with",
  });
}

/** The ids of each shard, as views. */
export function shardsOf({ ids, lineEnds }: TokenizedText, shards: number): (Uint16Array | Int32Array)[] {
  const endOf = (line: number) => (line > 0 ? lineEnds[line - 1]! : 0);
  return shardLines(lineEnds.length, shards).map(({ from, to }) => ids.subarray(endOf(from), endOf(to)));
}

/** The batches of a split, ready for a trainer. */
export async function openBatches(
  corpus: Corpus,
  split: Split,
  encoder: IdentifiedEncoder,
  options: SplitBatching,
): Promise<BatchSource> {
  const part = partOf(corpus, split);
  if (part.kind === "records") {
    const source = await openBatchFiles(part.paths, encoder.tokenizer.size);
    checkShape(source, options, `${corpus.name} ${split}`);
    return source;
  }
  const text = await tokensOf(corpus, split, encoder, options);
  const shards = shardsOf(text, options.shards ?? 1);
  warnOfLoss(text, shards, options, `${corpus.name} ${split}`);
  return streamBatches(shards, contextOf(options), `${corpus.name} ${split}`);
}

/** Sequence length to window. */
export function contextOf({ batch, length, compat }: Pick<SplitBatching, "batch" | "length" | "compat">): BatchOptions {
  return { batch, window: length + 1, ...(compat ? { compat } : {}) };
}

function checkShape({ rows, length }: BatchSource, asked: SplitBatching, who: string): void {
  if (rows === asked.batch && length === asked.length) return;
  reject(
    {
      who,
      needed: `batches of ${asked.batch} × ${asked.length}`,
      got: `TFRecord batches of ${rows} × ${length}`,
      remedy: `set batch ${rows} and length ${length}, or build them anew`,
    },
    2,
  );
}

/** Shards drop left-over lines and a rest each: says so when that costs more than one stream would. */
function warnOfLoss(
  text: TokenizedText,
  shards: readonly ArrayLike<number>[],
  options: SplitBatching,
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
