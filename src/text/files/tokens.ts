/** From a corpus to token ids and batches, through the cache. */
import { readFile } from "node:fs/promises";
import { reject, rejectFile } from "../../base/errors.ts";
import { checkOptions, text } from "../../base/options.ts";
import type { BatchSource } from "../batches.ts";
import { type Corpus, identityOf, liesInFiles, linesOf, partOf, type Split } from "../corpus.ts";
import {
  batchesOfTokens,
  batchingRules,
  type Encoder,
  type TextBatching,
  type TokenizedText,
  tokenize,
} from "../tokens.ts";
import { cachedTokens, decodeTokens, defaultCacheFolder, keyOf } from "./cache.ts";
import { openBatchFiles } from "./records.ts";

/** A tokenizer with the SHA-256 of its model, so that caches know it. */
export interface IdentifiedEncoder {
  tokenizer: Encoder;
  sha256: string;
}

/** Where tokens are kept, and who watches. */
export interface TokenOptions extends Pick<TextBatching, "warn" | "onLine"> {
  /** Folder of the token cache. */
  cache?: string | undefined;
}

/** How to batch a split: sequence length, not window. */
export interface SplitBatching extends TextBatching, TokenOptions {}

/** The tokens of a split: out of the cache, or made and put there; of text in memory, made. */
export async function tokensOf(
  corpus: Corpus,
  split: Split,
  { tokenizer, sha256 }: IdentifiedEncoder,
  { cache = defaultCacheFolder(), warn, onLine }: TokenOptions = {},
): Promise<TokenizedText> {
  const part = partOf(corpus, split);
  if (part.kind === "tokens") return readTokens(part.path, tokenizer.size);
  const make = () => tokenize(linesOf(corpus, split), tokenizer, onLine);
  if (!liesInFiles(part)) return make();
  return cachedTokens(cache, keyOf("tokens 1", sha256, ...(await identityOf(part))), make, warn);
}

async function readTokens(path: string, vocabulary: number): Promise<TokenizedText> {
  const text = decodeTokens(await readFile(path), path);
  const bad = text.ids.find((id: number) => id < 0 || id >= vocabulary);
  if (bad === undefined) return text;
  return rejectFile({
    who: path,
    needed: `ids below the tokenizer's ${vocabulary} pieces`,
    got: `${bad}`,
    remedy: "give the tokenizer this data was built with",
  });
}

/** The batches of a split, ready for a trainer. */
export async function openBatches(
  corpus: Corpus,
  split: Split,
  encoder: IdentifiedEncoder,
  options: SplitBatching,
): Promise<BatchSource> {
  checkOptions("openBatches", options, { ...batchingRules, cache: text });
  const part = partOf(corpus, split);
  if (part.kind === "records") {
    const source = await openBatchFiles(part.paths, encoder.tokenizer.size);
    checkShape(source, options, `${corpus.name} ${split}`);
    return source;
  }
  return batchesOfTokens(await tokensOf(corpus, split, encoder, options), options, `${corpus.name} ${split}`);
}

function checkShape({ rows, length }: BatchSource, asked: SplitBatching, who: string): void {
  if (rows === asked.batch && length === asked.length) return;
  reject(
    {
      who,
      needed: `batches of ${asked.batch} × ${asked.length}`,
      got: `TFRecord batches of ${rows} × ${length}`,
      remedy: `set batch ${rows} and length ${length}, or build them again`,
    },
    2,
  );
}
