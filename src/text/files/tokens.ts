/** From a corpus to token ids and batches, through the cache. */
import { existsSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { LayerwiseError, reject, rejectFile } from "../../base/errors.ts";
import { checkOptions, text } from "../../base/options.ts";
import { writeToCache } from "../../files/atomic.ts";
import type { BatchSource } from "../batches.ts";
import {
  type Corpus,
  type CorpusPart,
  identityOf,
  liesInFiles,
  linesOf,
  partOf,
  type Split,
  textsOf,
} from "../corpus.ts";
import {
  batchesOfTokens,
  batchingRules,
  type EncodedLines,
  type Encoder,
  type TextBatching,
  type TextTokens,
  type TokenizedText,
  tokenize,
  tokensInMemory,
  wholeText,
} from "../tokens.ts";
import { defaultCacheFolder, keyOf } from "./cache.ts";
import { encodedText } from "./encoding.ts";
import { decodeTokens } from "./old-token-file.ts";
import { refuseChanged } from "./outline.ts";
import { openBatchFiles } from "./records.ts";
import { fileSource, isTokenFile, TokenFile, tokenFileBlocks } from "./token-file.ts";

/** A tokenizer with the SHA-256 of its model, so that caches know it. */
export interface IdentifiedEncoder {
  tokenizer: Encoder;
  sha256: string;
  /** The model itself: with it, a large text is tokenised on all cores. */
  bytes?: Uint8Array;
}

/** Where tokens are kept, and who watches. */
export interface TokenOptions extends Pick<TextBatching, "warn" | "onLine"> {
  /** Folder of the token cache. */
  cache?: string | undefined;
}

/** How to batch a split: sequence length, not window. */
export interface SplitBatching extends TextBatching, TokenOptions {}

/** The tokens of a split in memory; `openTokens` leaves them in their file. */
export async function tokensOf(
  corpus: Corpus,
  split: Split,
  encoder: IdentifiedEncoder,
  options: TokenOptions = {},
): Promise<TokenizedText> {
  return wholeText(await openTokens(corpus, split, encoder, options), encoder.tokenizer.size);
}

/** The tokens of a split, to be read by windows from the cache; made and put there first where need be. Those of text in memory are there too. */
export async function openTokens(
  corpus: Corpus,
  split: Split,
  encoder: IdentifiedEncoder,
  { cache = defaultCacheFolder(), warn = () => {}, onLine }: TokenOptions = {},
): Promise<TextTokens> {
  const part = partOf(corpus, split);
  const { size } = encoder.tokenizer;
  if (part.kind === "tokens") return openTokenPart(part.path, size);
  const lines = linesOf(corpus, split);
  if (!liesInFiles(part)) return tokensInMemory(tokenize(lines, encoder.tokenizer, onLine));
  return keptTokens(
    part,
    ["tokens 2", encoder.sha256],
    { cache, warn, pieces: size },
    {
      encoded: () => encodedText(textsOf(corpus, split), encoder, onLine),
      ids: function* () {
        for (const line of lines) yield encoder.tokenizer.encode(line);
      },
    },
  );
}

/** What becomes of a text: the ids of its lines in stretches, and again one by one where a block of them is damaged. */
export interface TokenMaking {
  encoded(): AsyncIterable<EncodedLines>;
  ids(): Iterable<ArrayLike<number>>;
}

/** Where tokens are kept, of how many pieces, and who is told of damage. */
export interface TokenKeeping {
  readonly cache: string;
  readonly pieces: number;
  readonly warn: (message: string) => void;
}

/** The token file of a text in files, out of the cache or made; `facts` say how it is made. */
export async function keptTokens(
  part: CorpusPart,
  facts: readonly (string | number)[],
  { cache, pieces, warn }: TokenKeeping,
  making: TokenMaking,
): Promise<TokenFile> {
  const identity = await identityOf(part);
  const path = join(cache, `${keyOf(...facts, ...identity)}.tokens`);
  const open = () => openKept(path, making, warn);
  const kept = existsSync(path) ? whole(open, warn) : undefined;
  if (kept) return kept;
  await writeToCache(path, tokenFileBlocks(unchanged(making.encoded(), part, identity), pieces));
  return open();
}

/** A token file in the cache. Blocks that turn out to be damaged are made again from the text, and the file at the next start. */
function openKept(path: string, { ids }: TokenMaking, warn: (message: string) => void): TokenFile {
  return new TokenFile(fileSource(path), path, {
    *linesFrom(first) {
      let index = 0;
      for (const line of ids()) if (index++ >= first) yield line;
    },
    onDamage(block, remade) {
      rmSync(path, { force: true });
      const done = remade ? "made again from the text, and the file is built again at the next start" : "removed";
      warn(`${path}: ${block} is damaged (${done})`);
    },
  });
}

/** What is opened; undefined where it is damaged, which is said. */
function whole(open: () => TokenFile, warn: (message: string) => void): TokenFile | undefined {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof LayerwiseError)) throw error;
    warn(`${error.message} (done)`);
    return undefined;
  }
}

/** The same lines; fails at their end where the text is not what it was when its tokens were given their name. */
async function* unchanged(
  lines: AsyncIterable<EncodedLines>,
  part: CorpusPart,
  identity: readonly (string | number)[],
): AsyncGenerator<EncodedLines> {
  yield* lines;
  const now = await identityOf(part);
  if (now.some((fact, i) => fact !== identity[i])) refuseChanged(part.kind === "text" ? part.texts[0]!.path! : "text");
}

/** A file that `layerwise data build` wrote; an old one is read whole. */
async function openTokenPart(path: string, vocabulary: number): Promise<TextTokens> {
  const source = fileSource(path);
  if (isTokenFile(source)) {
    const file = new TokenFile(source, path);
    refuseId(
      file.counts(file.pieces).findLastIndex((count) => count > 0),
      path,
      vocabulary,
    );
    return file;
  }
  const text = decodeTokens(await readFile(path), path);
  refuseId(text.ids.find((id: number) => id < 0 || id >= vocabulary) ?? 0, path, vocabulary);
  return tokensInMemory(text);
}

function refuseId(id: number, path: string, vocabulary: number): void {
  if (id < vocabulary && id >= -1) return;
  rejectFile({
    who: path,
    needed: `ids below the tokenizer's ${vocabulary} pieces`,
    got: `${id}`,
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
  return batchesOfTokens(await openTokens(corpus, split, encoder, options), options, `${corpus.name} ${split}`);
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
