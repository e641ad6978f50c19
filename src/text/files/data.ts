/** Data by name, in one call: a corpus with its tokenizer built into a folder, or looked into. */

import { reject } from "../../base/errors.ts";
import { formatNumber, table } from "../../base/table.ts";
import { refuseFolder } from "../../files/atomic.ts";
import type { Corpus } from "../corpus.ts";
import type { PretrainingOptions } from "../masked/examples.ts";
import type { OpenTokenizer } from "../tokenizer.ts";
import { BUILD_COMMAND, buildDataset, explainLosses, reportSplits, type SplitReport, splitTable } from "./build.ts";
import { openCorpus } from "./corpus.ts";
import { buildPretraining, inspectRecords, type PretrainingReport, type RecordFileReport } from "./masked.ts";
import type { SplitBatching } from "./tokens.ts";
import { chooseTokenizer, type TokenizerChoice } from "./trained-tokenizer.ts";

/** A corpus by name, its tokenizer, and how its text is batched. */
export interface DataOptions
  extends Pick<TokenizerChoice, "data" | "cache" | "pieces" | "cased" | "say" | "onStep">,
    Pick<SplitBatching, "shards" | "compat" | "onLine"> {
  /** A SentencePiece model by name or path. Default: the data's own, or one trained on the text. */
  tokenizer?: string | undefined;
  /** Rows of a batch. Default: 32. */
  batch?: number | undefined;
  /** Tokens of a row. Default: 32; of masked text 128. */
  length?: number | undefined;
}

/** What is built, and where it goes. */
export interface DataBuilding extends DataOptions {
  /** Folder to write. Default: `data-` and the corpus. */
  out?: string | undefined;
  /** Replace a folder that was built before. */
  force?: boolean | undefined;
  /** Write the original's TFRecord batches instead of token files. */
  tfrecord?: boolean | undefined;
  /** Write masked examples with sentence order instead: so many passes, masked and cut like this. */
  masked?: ({ readonly passes: number } & Partial<Omit<PretrainingOptions, "length">>) | undefined;
}

/** What was built. */
export interface BuiltData {
  readonly out: string;
  readonly tokenizer: string;
  readonly pieces: number;
  readonly splits: readonly SplitReport[] | readonly PretrainingReport[];
  /** What batching loses, a sentence each. */
  readonly losses: readonly string[];
}

const batchingOf = ({ batch = 32, length = 32, shards, compat, cache, say: warn, onLine }: DataOptions) =>
  ({ batch, length, shards, compat, cache, warn, onLine }) satisfies SplitBatching;

function tokenizerFor(corpus: Corpus, options: DataOptions, masked: boolean): Promise<OpenTokenizer> {
  const { data, cache, pieces, cased, say, onStep } = options;
  return chooseTokenizer(options.tokenizer, corpus, { data, cache, pieces, cased, masked, say, onStep });
}

const lossesOf = (splits: readonly SplitReport[], batching: SplitBatching) =>
  splits.flatMap((report) => explainLosses(report, batching));

/** Turns the text of a corpus into a tokenizer and batches, or into masked examples. */
export async function buildData(name: string | undefined, options: DataBuilding = {}): Promise<BuiltData> {
  if (options.cased && options.masked) {
    const remedy = "leave --cased out, or read documents from code with lowerCase off";
    reject({ who: "--cased", needed: "text that is not masked", got: "--masked, which writes lower case", remedy }, 2);
  }
  const corpus = await openCorpus(name, { data: options.data, say: options.say });
  const { out = `data-${corpus.name}`, force = false, tfrecord = false, masked } = options;
  refuseFolder(out, { command: BUILD_COMMAND, force });
  const opened = await tokenizerFor(corpus, options, masked !== undefined);
  const about = { out, tokenizer: opened.name, pieces: opened.tokenizer.size };
  if (masked) {
    const { shards = 1, length = 128 } = options;
    const { passes, ...examples } = masked;
    const how = { out, force, shards, passes, examples: { length, ...examples } };
    return { ...about, splits: await buildPretraining(corpus, opened, how), losses: [] };
  }
  const batching = batchingOf(options);
  const splits = await buildDataset(corpus, opened, { ...batching, out, force, tfrecord });
  return { ...about, splits, losses: lossesOf(splits, batching) };
}

const isBatched = (splits: BuiltData["splits"]): splits is readonly SplitReport[] => "batches" in (splits[0] ?? {});

/** What was built, in words. */
export function builtText({ out, tokenizer, pieces, splits, losses }: BuiltData): string {
  if (!isBatched(splits)) return `${table(splits.map((report) => ({ ...report })))}\nwrote ${out}`;
  const wrote = `wrote ${out} (tokenizer ${tokenizer}, ${formatNumber(pieces)} pieces)`;
  return [splitTable(splits), ...losses, wrote].join("\n");
}

/** The text of a corpus, as batches would have it. */
export interface InspectedText extends Pick<BuiltData, "tokenizer" | "pieces" | "losses"> {
  readonly corpus: string;
  readonly batch: number;
  readonly length: number;
  readonly splits: readonly SplitReport[];
}

/** What is in a corpus: text, or files of batches or examples. */
export type InspectedData = InspectedText | { readonly corpus: string; readonly files: readonly RecordFileReport[] };

/** Counts tokens, pieces per word and batches of a corpus, and what would be dropped. */
export async function inspectData(name: string | undefined, options: DataOptions = {}): Promise<InspectedData> {
  const corpus = await openCorpus(name, { data: options.data, say: options.say });
  if ([...corpus.parts.values()].some(({ kind }) => kind === "records")) {
    return { corpus: corpus.name, files: await inspectRecords(corpus) };
  }
  const opened = await tokenizerFor(corpus, options, false);
  const batching = batchingOf(options);
  const splits = await reportSplits(corpus, opened, batching);
  const { batch, length } = batching;
  const about = { corpus: corpus.name, tokenizer: opened.name, pieces: opened.tokenizer.size, batch, length };
  return { ...about, splits, losses: lossesOf(splits, batching) };
}

/** What is in a corpus, in words. */
export function inspectionText(found: InspectedData): string {
  if ("files" in found) return table(found.files.map((file) => ({ ...file })));
  const { corpus, tokenizer, pieces, batch, length, splits, losses } = found;
  const title = `${corpus} with ${tokenizer} (${formatNumber(pieces)} pieces), batch ${batch} × ${length}`;
  return [title, splitTable(splits), ...losses].join("\n");
}
