/** Stored pre-training data: a corpus to ALBERT's tf.Example shards, and such shards back to examples. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rejectFile } from "../../base/errors.ts";
import { decodeExample } from "../../format/tfexample.ts";
import { readRecords, writeRecords } from "../../format/tfrecord.ts";
import type { Corpus, Split } from "../corpus.ts";
import { type Document, documentsOf } from "../masked/documents.ts";
import {
  decodePretraining,
  encodePretraining,
  type PretrainingExample,
  type PretrainingOptions,
  PretrainingStream,
} from "../masked/examples.ts";
import type { OpenTokenizer } from "../tokenizer.ts";
import { type BatchFileReport, buildSplits, inspectBatches } from "./build.ts";

/** What stored pre-training data consists of, and where it goes. */
export interface PretrainingBuildOptions {
  out: string;
  /** Passes over the documents, each with new chunks and masks. */
  passes: number;
  shards?: number;
  force?: boolean;
  /** Everything else about the examples. */
  examples: Partial<PretrainingOptions>;
}

/** How many examples a split gave. */
export interface PretrainingReport {
  split: Split;
  documents: number;
  sentences: number;
  examples: number;
}

/** Writes `<name>_<split>/file{i}.tfrecords` of examples for all splits, with the tokenizer, or nothing. */
export async function buildPretraining(
  corpus: Corpus,
  opened: OpenTokenizer,
  options: PretrainingBuildOptions,
): Promise<PretrainingReport[]> {
  return buildSplits(corpus, opened, options, async (split, folder) => {
    const documents = documentsOf(corpus, split, opened);
    const shards = drawShards(documents, opened, options);
    await mkdir(join(folder, `${corpus.name}_${split}`));
    for (const [i, records] of shards.entries()) {
      await writeFile(join(folder, `${corpus.name}_${split}`, `file${i + 1}.tfrecords`), writeRecords(records));
    }
    const sentences = documents.reduce((sum, document) => sum + document.length, 0);
    const examples = shards.reduce((sum, records) => sum + records.length, 0);
    return { split, documents: documents.length, sentences, examples };
  });
}

/** All examples of the passes, dealt out to shards in turn. */
function drawShards(
  documents: readonly Document[],
  opened: OpenTokenizer,
  options: PretrainingBuildOptions,
): Uint8Array[][] {
  const shards: Uint8Array[][] = Array.from({ length: options.shards ?? 1 }, () => []);
  const stream = new PretrainingStream(documents, opened.tokenizer, options.examples);
  for (let count = 0; ; count++) {
    const { pass, index } = stream.position;
    if (pass + (index >= stream.passLength ? 1 : 0) >= options.passes) return shards;
    shards[count % shards.length]!.push(encodePretraining(stream.next()));
  }
}

/** Reads shards one after another; ids must be below `vocabulary`. */
export async function* readPretrainingFiles(
  paths: readonly string[],
  vocabulary: number,
): AsyncGenerator<PretrainingExample> {
  for (const path of paths) {
    let index = 0;
    for (const record of readRecords(await readFile(path), path)) {
      const source = `${path}: record ${index++}`;
      const example = decodePretraining(record, source);
      const bad = [...example.inputIds, ...example.maskedIds].find((id) => id < 0 || id >= vocabulary);
      if (bad !== undefined) {
        rejectFile({ who: source, needed: `ids below the tokenizer's ${vocabulary} pieces`, got: `${bad}` });
      }
      yield example;
    }
  }
}

/** What a file of examples holds. */
export interface ExampleFileReport {
  split: Split;
  file: string;
  examples: number;
  length: number;
  tokens: number;
  /** Tokens to be predicted. */
  masked: number;
  /** Examples whose sentences are swapped or random. */
  swapped: number;
}

/** Whether a corpus of records holds pre-training examples rather than batches: its first record says. */
export async function holdsExamples(corpus: Corpus): Promise<boolean> {
  const [part] = corpus.parts.values();
  const path = part?.kind === "records" ? part.paths[0] : undefined;
  if (path === undefined) return false;
  const first = readRecords(await readFile(path), path).next();
  return !first.done && decodeExample(first.value, path).has("input_ids");
}

/** Reads all files of examples of a corpus, checking every record. */
export async function inspectExamples(corpus: Corpus): Promise<ExampleFileReport[]> {
  const reports: ExampleFileReport[] = [];
  for (const [split, part] of corpus.parts) {
    for (const file of part.kind === "records" ? part.paths : []) reports.push(await inspectFile(split, file));
  }
  return reports;
}

async function inspectFile(split: Split, file: string): Promise<ExampleFileReport> {
  const report = { split, file, examples: 0, length: 0, tokens: 0, masked: 0, swapped: 0 };
  for await (const example of readPretrainingFiles([file], Infinity)) {
    report.examples++;
    report.length = example.inputIds.length;
    report.tokens += example.inputMask.reduce((sum, one) => sum + one, 0);
    report.masked += example.maskedWeights.reduce((sum, one) => sum + one, 0);
    report.swapped += example.orderLabel;
  }
  return report;
}

/** What a file of records holds. */
export type RecordFileReport = BatchFileReport | ExampleFileReport;

/** Reads all files of records of a corpus: of examples for pre-training, or of batches. */
export async function inspectRecords(corpus: Corpus): Promise<readonly RecordFileReport[]> {
  return (await holdsExamples(corpus)) ? inspectExamples(corpus) : inspectBatches(corpus);
}
