/** `layerwise data`: builds token files or batches from text, says what is in them, and downloads datasets. */
import { type Command, Option } from "commander";
import { formatNumber, startProgress, table } from "../../base/index.ts";
import type { Corpus, OpenTokenizer, SplitBatching } from "../../text/index.ts";
import { whole } from "../flags.ts";
import { fitted } from "../help.ts";

interface SourceOptions {
  corpus: string;
  tokenizer?: string;
  data?: string;
  cache?: string;
  pieces?: number;
  cased?: boolean;
  masked?: boolean;
}

interface BatchingOptions extends SourceOptions {
  batch: number;
  length?: number;
  shards: number;
  compat?: "original";
  json?: boolean;
}

interface BuildCommandOptions extends BatchingOptions {
  out?: string;
  tfrecord?: boolean;
  passes: number;
  seed: number;
  force?: boolean;
}

interface DownloadCommandOptions {
  data?: string;
  from?: string;
  unverified?: boolean;
  force?: boolean;
  json?: boolean;
}

const DEFAULT_LENGTH = 32;
const DEFAULT_MASKED_LENGTH = 128;

/** Adds `data build`, `data inspect` and `data download`. */
export function addData(program: Command): void {
  const data = program.command("data");
  addBuild(data);
  addInspect(data);
  addDownload(data);
}

function addBuild(data: Command): void {
  withBatching(data.command("build"))
    .description("Turn text into a tokenizer and batches, in one go.")
    .option("--out <dir>", "folder to write (default: data-NAME)")
    .option("--tfrecord", "write the original's batches: NAME_train/file1.tfrecords …")
    .option("--masked", "write masked-LM + sentence-order examples (tf.Example) instead of batches")
    .option("--passes <n>", "passes over the text for --masked", whole, 40)
    .option("--seed <n>", "seed for --masked", whole, 12345)
    .option("--force", "replace a folder that data build wrote")
    .addHelpText("after", fitted(examples(BUILD_EXAMPLES)))
    .action(build);
}

function addInspect(data: Command): void {
  withBatching(data.command("inspect"))
    .description("Count tokens, pieces per word and batches, and say what is dropped and why.")
    .addHelpText("after", fitted(examples(INSPECT_EXAMPLES)))
    .action(inspect);
}

function addDownload(data: Command): void {
  data
    .command("download <dataset>")
    .description("Fetch wikitext-2, glue or multi30k; resumes, and checks every file's SHA-256.")
    .option("--data <dir>", "folder of datasets (default: LAYERWISE_DATA, or one in the cache)")
    .option("--from <url>", "take the same file names from this address")
    .option("--unverified", "keep files whose checksum is not the known one")
    .option("--force", "fetch even if the files are there")
    .option("--json", "print JSON")
    .addHelpText("after", fitted(examples(DOWNLOAD_EXAMPLES)))
    .action(download);
}

const BUILD_EXAMPLES = [
  "layerwise data build --corpus books --out data-books",
  "layerwise data build --corpus notes.txt --pieces 4000 --batch 16 --length 64",
  "layerwise data build --corpus wikitext-2 --data ~/data --tfrecord --compat original",
  "layerwise data build --corpus books --masked --length 128 --passes 10",
];
const INSPECT_EXAMPLES = [
  "layerwise data inspect --corpus wikitext-2 --tokenizer wiki2_12k --data ~/data",
  "layerwise data inspect --corpus data-books --json",
];
const DOWNLOAD_EXAMPLES = [
  "layerwise data download wikitext-2 --data ~/data",
  "layerwise data download glue --from https://mirror.example/glue",
];

function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

function withBatching(command: Command): Command {
  return command
    .option("--corpus <name|path>", "books, wikitext-2, a text file, or a folder", "books")
    .option("--tokenizer <name|file>", "a SentencePiece model (default: the data's own, or one trained on the text)")
    .option("--pieces <n>", "vocabulary size of a trained tokenizer (default: 12000, or what the text supports)", whole)
    .option("--cased", "keep upper case in a trained tokenizer")
    .option("--batch <n>", "rows of a batch", whole, 32)
    .option(
      "--length <n>",
      `sequence length (default: ${DEFAULT_LENGTH}; ${DEFAULT_MASKED_LENGTH} with --masked)`,
      whole,
    )
    .option("--shards <n>", "files a split is cut into", whole, 1)
    .addOption(new Option("--compat <mode>", "batch exactly like the original, repeats included").choices(["original"]))
    .option("--data <dir>", "folder of datasets and tokenizers (default: LAYERWISE_DATA, or one in the cache)")
    .option("--cache <dir>", "folder of token caches (default: LAYERWISE_CACHE or .cache/layerwise)")
    .option("--json", "print JSON");
}

const warn = (message: string) => void process.stderr.write(`layerwise: ${message}\n`);
const print = (text: string) => void process.stdout.write(`${text}\n`);

const given = <K extends string>(key: K, value: string | undefined) =>
  (value === undefined ? {} : { [key]: value }) as Partial<Record<K, string>>;

async function openCorpusOf(options: SourceOptions): Promise<Corpus> {
  const { openCorpus } = await import("../../text/index.ts");
  return openCorpus(options.corpus, { ...given("data", options.data), say: warn });
}

async function openTokenizerOf(corpus: Corpus, options: SourceOptions): Promise<OpenTokenizer> {
  const { chooseTokenizer } = await import("../../text/index.ts");
  const choice = {
    ...given("data", options.data),
    ...given("cache", options.cache),
    ...(options.pieces === undefined ? {} : { pieces: options.pieces }),
    cased: options.cased ?? false,
    masked: options.masked ?? false,
    say: warn,
  };
  const label = "training the tokenizer";
  return counting(label, "steps", (onStep) => chooseTokenizer(options.tokenizer, corpus, { ...choice, onStep }));
}

function batchingOf(options: BatchingOptions): SplitBatching {
  return {
    batch: options.batch,
    length: options.length ?? DEFAULT_LENGTH,
    shards: options.shards,
    ...(options.compat ? { compat: options.compat } : {}),
    ...given("cache", options.cache),
    warn,
  };
}

/** Does `work` under a progress line that counts what it reports. */
async function counting<T>(label: string, unit: string, work: (at: (done: number) => void) => Promise<T>): Promise<T> {
  const progress = startProgress(label, { output: process.stderr, unit });
  try {
    return await work(progress.at);
  } finally {
    progress.end();
  }
}

async function build(options: BuildCommandOptions): Promise<void> {
  const { refuseFolder } = await import("../../files/index.ts");
  const { buildDataset, explainLosses, splitTable } = await import("../../text/index.ts");
  const corpus = await openCorpusOf(options);
  const out = options.out ?? `data-${corpus.name}`;
  refuseFolder(out, { command: "data build", force: options.force });
  const opened = await openTokenizerOf(corpus, options);
  if (options.masked) return buildMasked(corpus, opened, out, options);
  const batching = batchingOf(options);
  const how = { ...batching, out, force: options.force ?? false, tfrecord: options.tfrecord ?? false };
  const splits = await counting("tokenising", "lines", (onLine) => buildDataset(corpus, opened, { ...how, onLine }));
  if (options.json) return print(JSON.stringify({ out, pieces: opened.tokenizer.size, splits }, null, 2));
  print(splitTable(splits));
  for (const reason of splits.flatMap((report) => explainLosses(report, batching))) print(reason);
  print(`wrote ${out} (tokenizer ${opened.name}, ${formatNumber(opened.tokenizer.size)} pieces)`);
}

async function buildMasked(
  corpus: Corpus,
  opened: OpenTokenizer,
  out: string,
  options: BuildCommandOptions,
): Promise<void> {
  const { buildPretraining } = await import("../../text/index.ts");
  const splits = await buildPretraining(corpus, opened, {
    out,
    passes: options.passes,
    shards: options.shards,
    force: options.force ?? false,
    examples: { length: options.length ?? DEFAULT_MASKED_LENGTH, seed: options.seed },
  });
  if (options.json) return print(JSON.stringify({ out, pieces: opened.tokenizer.size, splits }, null, 2));
  print(table(splits.map((report) => ({ ...report }))));
  print(`wrote ${out}`);
}

async function inspect(options: BatchingOptions): Promise<void> {
  const corpus = await openCorpusOf(options);
  const isRecords = [...corpus.parts.values()].some(({ kind }) => kind === "records");
  return isRecords ? inspectRecordFiles(corpus, options) : inspectTokens(corpus, options);
}

async function inspectTokens(corpus: Corpus, options: BatchingOptions): Promise<void> {
  const { explainLosses, reportSplits, splitTable } = await import("../../text/index.ts");
  const opened = await openTokenizerOf(corpus, options);
  const batching = batchingOf(options);
  const splits = await counting("tokenising", "lines", (onLine) =>
    reportSplits(corpus, opened, { ...batching, onLine }),
  );
  const about = { corpus: corpus.name, tokenizer: opened.name, pieces: opened.tokenizer.size };
  if (options.json)
    return print(JSON.stringify({ ...about, batch: batching.batch, length: batching.length, splits }, null, 2));
  print(
    `${about.corpus} with ${about.tokenizer} (${formatNumber(about.pieces)} pieces), batch ${batching.batch} × ${batching.length}`,
  );
  print(splitTable(splits));
  for (const reason of splits.flatMap((report) => explainLosses(report, batching))) print(reason);
}

async function inspectRecordFiles(corpus: Corpus, options: BatchingOptions): Promise<void> {
  const { holdsExamples, inspectBatches, inspectExamples } = await import("../../text/index.ts");
  const files = (await holdsExamples(corpus)) ? await inspectExamples(corpus) : await inspectBatches(corpus);
  if (options.json) return print(JSON.stringify({ corpus: corpus.name, files }, null, 2));
  print(table(files.map((file) => ({ ...file }))));
}

async function download(dataset: string, options: DownloadCommandOptions): Promise<void> {
  const { dataFolder, fetchDataset } = await import("../../text/index.ts");
  const { from, unverified, force } = options;
  const how = {
    data: dataFolder(options.data),
    ...given("from", from),
    unverified: unverified ?? false,
    force: force ?? false,
  };
  const files = await counting(`fetching ${dataset}`, "bytes", (at) =>
    fetchDataset(dataset, { ...how, onProgress: (_, done) => at(done) }),
  );
  if (options.json) return print(JSON.stringify({ dataset, files }, null, 2));
  print(table(files.map(({ verified, ...file }) => ({ ...file, checked: verified ? "yes" : "not verified" }))));
}
