/** Running text for a task: its corpus and tokenizer, batches of its splits, and how much text stands behind them. */

import { rejectData } from "../base/errors.ts";
import { sha256 } from "../files/checksum.ts";
import { type Corpus, identityOf, linesOf, partOf, type Split, withLineEnds } from "../text/corpus.ts";
import { countTokens } from "../text/cutoffs.ts";
import { bytesIn, wordsIn } from "../text/extent.ts";
import { type CorpusOptions, openCorpus } from "../text/files/corpus.ts";
import { outlineOf } from "../text/files/outline.ts";
import { openBatches, openTokens } from "../text/files/tokens.ts";
import { chooseTokenizer } from "../text/files/trained-tokenizer.ts";
import type { PairsCorpus } from "../text/pairs/pairs-corpus.ts";
import { isByteTokenizer } from "../text/plain-vocabulary.ts";
import type { OpenTokenizer } from "../text/tokenizer.ts";
import type { Batches, TextSize } from "../train/evaluate.ts";
import type { Handed, Say } from "./job.ts";

/** The settings that name a text and its tokenizer. */
export interface TextSettings {
  readonly corpus: string;
  readonly tokenizer: string | null;
  readonly pieces: number | null;
  readonly data: string | null;
  readonly cased?: boolean;
}

/** A text, and the tokenizer for it. */
export interface Data {
  readonly corpus: Corpus;
  readonly tokenizer: OpenTokenizer;
}

/** What a program hands to a task instead of names of files. */
export interface Given extends Handed {
  /** Text in memory, or opened before. */
  readonly corpus?: Corpus | undefined;
  readonly tokenizer?: OpenTokenizer | undefined;
  /** Sentence pairs, of translation. */
  readonly pairs?: PairsCorpus | undefined;
  /** Told how far the training of a tokenizer is, where one is trained: its steps so far, then null once it is there. */
  readonly onTokenizer?: ((steps: number | null) => void) | undefined;
}

const silent: Say = () => {};

/** How settings call a text that a program handed over: it has no name to open it by. */
export const MEMORY = "memory:";

/** Text and tokenizer as a program gives them: opened, or by name. */
export interface GivenText {
  readonly corpus: Corpus | string;
  readonly tokenizer?: OpenTokenizer | string | undefined;
}

/** What settings say of a given text, and what is handed over beside them. */
export function givenText({ corpus, tokenizer }: GivenText): {
  settings: Partial<Pick<TextSettings, "corpus" | "tokenizer">>;
  given: Pick<Given, "corpus" | "tokenizer">;
} {
  return {
    settings: {
      corpus: typeof corpus === "string" ? corpus : `${MEMORY}${corpus.name}`,
      ...(typeof tokenizer === "string" ? { tokenizer } : {}),
    },
    given: {
      ...(typeof corpus === "string" ? {} : { corpus }),
      ...(typeof tokenizer === "string" ? {} : { tokenizer }),
    },
  };
}

/** A corpus by the name that settings have for it; one that a program gave has to be given again. */
export async function corpusNamed(name: string | undefined, options: CorpusOptions): Promise<Corpus> {
  refuseMemory(name, "corpus");
  return openCorpus(name, options);
}

/** Fails where settings name a text that only a program has; `what` is the option it is given with. */
export function refuseMemory(name: string | undefined, what: string): void {
  if (!name?.startsWith(MEMORY)) return;
  rejectData({
    who: `${what} ${name}`,
    needed: "the text that a program gave when the run began",
    got: "none",
    remedy: `pass it: run.resume({ ${what} }), or Run.open(path, { ${what} })`,
  });
}

/** The corpus and the tokenizer that settings name, or that were given; `masked` wants pieces for masked text. */
export async function openData(settings: TextSettings, given: Given = {}, masked = false): Promise<Data> {
  const { say = silent } = given;
  const where = settings.data === null ? {} : { data: settings.data };
  const corpus = given.corpus ?? (await corpusNamed(settings.corpus, { ...where, say }));
  const choice = {
    ...where,
    ...(settings.pieces === null ? {} : { pieces: settings.pieces }),
    ...(settings.cased === undefined ? {} : { cased: settings.cased }),
    masked,
    ...tokenizerWatch(given),
  };
  const tokenizer = given.tokenizer ?? (await chooseTokenizer(settings.tokenizer ?? undefined, corpus, choice));
  given.onTokenizer?.(null);
  const asItStands = tokenizer.tokenizer.keepsLineEnds || isByteTokenizer(tokenizer.tokenizer);
  return { corpus: asItStands ? withLineEnds(corpus) : corpus, tokenizer };
}

/** Who is told of the training of a tokenizer. */
export const tokenizerWatch = ({ say = silent, onTokenizer }: Given) => ({
  say,
  ...(onTokenizer ? { onStep: onTokenizer } : {}),
});

/** Batches of a split, in the form the training step takes. */
export async function batchesOf(
  { batch, length }: { readonly batch: number; readonly length: number },
  { corpus, tokenizer }: Data,
  split: Split,
  say: Say = silent,
): Promise<Batches> {
  return openBatches(corpus, split, tokenizer, { batch, length, warn: say });
}

/** How often each piece occurs in a split; in batches, those to be predicted. */
export async function pieceCounts({ corpus, tokenizer }: Data, split: Split): Promise<Float64Array> {
  const part = partOf(corpus, split);
  const { size } = tokenizer.tokenizer;
  if (part.kind !== "records") return (await openTokens(corpus, split, tokenizer)).counts(size);
  return countTokens(await predictedPieces(part.paths, tokenizer), size);
}

/** All pieces that stored batches predict. */
async function predictedPieces(paths: readonly string[], { tokenizer }: OpenTokenizer): Promise<Int32Array> {
  const { openBatchFiles } = await import("../text/files/records.ts");
  const source = await openBatchFiles(paths, tokenizer.size);
  const each = source.rows * source.length;
  const ids = new Int32Array(source.count * each);
  for (let i = 0; i < source.count; i++) ids.set(source.at(i).targets, i * each);
  return ids;
}

/** A hash of the text that decides results: what trains, and what is validated on. */
export async function textHash(corpus: Corpus): Promise<string> {
  const facts = [];
  for (const [split, part] of corpus.parts) {
    if (split === "test") continue;
    const files = part.kind === "records" ? part.paths : part.kind === "tokens" ? [part.path] : [];
    facts.push(split, ...(await identityOf(part)), ...(await Promise.all(files.map(hashOfFile))));
  }
  return sha256(JSON.stringify(facts));
}

const hashOfFile = async (path: string) => (await outlineOf(path)).sha256;

/** Words and bytes behind the pieces of a split; where only pieces are left, the text they decode to. */
export async function textSizeOf({ corpus, tokenizer }: Data, split: Split): Promise<TextSize> {
  const part = partOf(corpus, split);
  if (part.kind === "records") return decodedSize(await predictedPieces(part.paths, tokenizer), tokenizer);
  const tokens = await openTokens(corpus, split, tokenizer);
  const { words, bytes, ids } = tokens;
  if (bytes !== undefined) return { tokens: ids.length, words, bytes };
  if (part.kind === "text") return { tokens: ids.length, ...extentOf(linesOf(corpus, split)) };
  const all = new Int32Array(ids.length); // an old token file, which is in memory anyway
  ids.copy(0, all.length, all, 0);
  return decodedSize(all, tokenizer);
}

const decodedSize = (ids: Int32Array, { tokenizer }: OpenTokenizer): TextSize => ({
  tokens: ids.length,
  ...extentOf([tokenizer.decode(ids)]),
});

function extentOf(lines: Iterable<string>): { words: number; bytes: number } {
  let [words, bytes] = [0, 0];
  for (const line of lines) {
    words += wordsIn(line);
    bytes += bytesIn(line);
  }
  return { words, bytes };
}
