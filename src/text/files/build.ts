/** Data built in one go: what a corpus becomes with a tokenizer, what is lost on the way, and the folder it is written to. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { table } from "../../base/table.ts";
import { writeAtomically, writeFolderAtomically } from "../../files/atomic.ts";
import { type BatchOptions, planContext, streamBatches } from "../batches.ts";
import type { Corpus, Split } from "../corpus.ts";
import type { OpenTokenizer } from "../tokenizer.ts";
import { contextOf, shardsOf, type TextTokens } from "../tokens.ts";
import { batchRecords, decodeBatchFile } from "./records.ts";
import { stretchesOf, tokenFileBlocks } from "./token-file.ts";
import { openTokens, type SplitBatching } from "./tokens.ts";

/** What a split comes to. The three kinds of dropped tokens add up to all that are in no batch. */
export interface SplitReport {
  split: Split;
  lines: number;
  words: number;
  tokens: number;
  piecesPerWord: number;
  /** Tokens that are the unknown piece. */
  unknown: number;
  batches: number;
  /** Batches whose rows repeat others (`compat`). */
  repeated: number;
  /** Tokens in lines left over when lines are shared among shards. */
  droppedLines: number;
  /** Tokens in whole windows that do not fill another batch. */
  droppedWindows: number;
  /** Tokens at the end of a shard that fill no window. */
  droppedRest: number;
}

/** Counts what batching keeps and drops. */
export function reportSplit(split: Split, text: TextTokens, unknownId: number, options: SplitBatching): SplitReport {
  const shards = options.shards ?? 1;
  const context = contextOf(options);
  const streams = text.lines < shards ? [] : shardsOf(text, shards);
  const plans = streams.map(({ length }) => planContext(length, context));
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const rests = plans.map(({ tokens, windows }) => tokens - windows * context.window);
  const kept = sum(streams.map(({ length }) => length));
  return {
    split,
    lines: text.lines,
    words: text.words,
    tokens: text.ids.length,
    piecesPerWord: text.ids.length / Math.max(1, text.words),
    unknown: text.counts(unknownId + 1)[unknownId] ?? 0,
    batches: sum(plans.map(({ batches }) => batches)),
    repeated: sum(plans.map(({ repeated }) => repeated)),
    droppedLines: text.ids.length - kept,
    droppedWindows: sum(plans.map(({ dropped }) => dropped)) - sum(rests),
    droppedRest: sum(rests),
  };
}

/** The reports of all splits of a corpus. */
export async function reportSplits(
  corpus: Corpus,
  opened: OpenTokenizer,
  options: SplitBatching,
): Promise<SplitReport[]> {
  const reports: SplitReport[] = [];
  for (const split of corpus.parts.keys()) {
    const text = await openTokens(corpus, split, opened, options);
    reports.push(reportSplit(split, text, opened.tokenizer.unknownId, options));
  }
  return reports;
}

/** Why tokens are in no batch, one sentence per reason; empty if all are. */
export function explainLosses(report: SplitReport, { batch, length, shards = 1 }: SplitBatching): string[] {
  const { split, droppedLines, droppedWindows, droppedRest, repeated, batches, tokens } = report;
  const reasons = [
    batches === 0 &&
      `${split}: ${tokens} tokens do not fill one batch of ${batch} × ${length + 1} in each of ${shards} shard(s)`,
    droppedLines > 0 && `${split}: ${droppedLines} tokens in lines left over after ${shards} equal shards`,
    droppedWindows > 0 && `${split}: ${droppedWindows} tokens in windows that do not fill another batch of ${batch}`,
    droppedRest > 0 && `${split}: ${droppedRest} tokens at the end that do not fill a window of ${length + 1}`,
    repeated > 0 && `${split}: ${repeated} batches repeat tokens of others, as the original does (--compat original)`,
  ];
  return reasons.filter((reason) => reason !== false);
}

/** Reports as a table, what is dropped summed up. */
export function splitTable(splits: readonly SplitReport[]): string {
  return table(
    splits.map((report) => ({ ...report, dropped: report.droppedLines + report.droppedWindows + report.droppedRest })),
    [
      "split",
      "lines",
      "words",
      "tokens",
      { key: "piecesPerWord", title: "pieces/word" },
      "unknown",
      "batches",
      "repeated",
      { key: "dropped", title: "dropped tokens" },
    ],
  );
}

/** What the marker in a built folder names. */
export const BUILD_COMMAND = "data build";

/** What a built dataset consists of, and where it goes. */
export interface BuildOptions extends SplitBatching {
  /** Folder to write. */
  out: string;
  /** Write the original's TFRecord batches instead of token files. */
  tfrecord?: boolean | undefined;
  force?: boolean | undefined;
}

/** Tokenises all splits of a corpus and writes tokens or TFRecord batches, the tokenizer, and data.json, or nothing. */
export async function buildDataset(
  corpus: Corpus,
  opened: OpenTokenizer,
  options: BuildOptions,
): Promise<SplitReport[]> {
  const { size } = opened.tokenizer;
  const build = async (split: Split, folder: string) => {
    const text = await openTokens(corpus, split, opened, options);
    if (options.tfrecord)
      await writeBatchFolder(join(folder, `${corpus.name}_${split}`), text, `${corpus.name} ${split}`, options);
    else await writeAtomically(join(folder, `${split}.tokens`), tokenFileBlocks(stretchesOf(text, size), size));
    return reportSplit(split, text, opened.tokenizer.unknownId, options);
  };
  return buildSplits(corpus, opened, options, build, (reports) => ({
    "data.json": `${JSON.stringify(summary(corpus, opened, options, reports), null, 2)}\n`,
  }));
}

/** Fills a folder split by split, with the tokenizer and what the reports say, or writes nothing; gives the reports. */
export async function buildSplits<R>(
  corpus: Corpus,
  opened: OpenTokenizer,
  { out, force }: Pick<BuildOptions, "out" | "force">,
  build: (split: Split, folder: string) => Promise<R>,
  filesOf: (reports: R[]) => Readonly<Record<string, string>> = () => ({}),
): Promise<R[]> {
  const reports: R[] = [];
  const fill = async (folder: string) => {
    for (const split of corpus.parts.keys()) reports.push(await build(split, folder));
    const files = { "tokenizer.model": opened.bytes, ...filesOf(reports) };
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  };
  await writeFolderAtomically(out, fill, { command: BUILD_COMMAND, force });
  return reports;
}

function summary(corpus: Corpus, opened: OpenTokenizer, options: BuildOptions, splits: SplitReport[]) {
  const { batch, length, shards = 1, compat = null, tfrecord = false } = options;
  const tokenizer = { name: opened.name, pieces: opened.tokenizer.size, sha256: opened.sha256 };
  return {
    corpus: corpus.name,
    tokenizer,
    batch,
    length,
    shards,
    compat,
    format: tfrecord ? "tfrecord" : "tokens",
    splits,
  };
}

async function writeBatchFolder(folder: string, text: TextTokens, who: string, options: BuildOptions): Promise<void> {
  const context: BatchOptions = contextOf(options);
  const shards = shardsOf(text, options.shards ?? 1);
  streamBatches(shards, context, who); // complains if a shard has no batch
  await mkdir(folder, { recursive: true });
  for (const [i, ids] of shards.entries()) {
    await writeAtomically(join(folder, `file${i + 1}.tfrecords`), batchRecords(ids, context));
  }
}

/** What a file of batches holds. */
export interface BatchFileReport {
  split: Split;
  file: string;
  batches: number;
  rows: number;
  length: number;
  tokens: number;
  largestId: number;
}

/** Reads all batch files of a corpus, checking every record. */
export async function inspectBatches(corpus: Corpus): Promise<BatchFileReport[]> {
  const reports: BatchFileReport[] = [];
  for (const [split, part] of corpus.parts) {
    for (const path of part.kind === "records" ? part.paths : []) {
      const { count, rows, window, data } = decodeBatchFile(await readFile(path), path);
      const largestId = data.reduce((largest, id) => Math.max(largest, id), 0);
      reports.push({ split, file: path, batches: count, rows, length: window - 1, tokens: data.length, largestId });
    }
  }
  return reports;
}
