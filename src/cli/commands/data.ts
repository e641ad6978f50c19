/** `layerwise data`: builds token files or batches from text, says what is in them, and downloads datasets. */
import { reject, table } from "../../base/index.ts";
import type { DataBuilding, DataOptions, FetchOptions, PretrainingOptions } from "../../text/index.ts";
import type { Command } from "../command.ts";
import { namesIn, numberFrom, whole } from "../flags.ts";
import { counting, countingLine, nextLines, print, say } from "../output.ts";

interface BatchingFlags extends DataOptions {
  corpus: string;
  json?: boolean;
}

interface BuildFlags extends BatchingFlags, Pick<DataBuilding, "out" | "tfrecord" | "force"> {
  masked?: boolean;
  passes: number;
  seed: number;
  maskShare?: number;
  predictions?: number;
  maxNgram?: number;
  favourLonger?: boolean;
  wholeWord: boolean;
  shortTexts?: number;
  randomNext?: boolean;
}

interface DownloadFlags extends Pick<FetchOptions, "from" | "unverified" | "force" | "tasks"> {
  data?: string;
  json?: boolean;
}

/** Adds `data build`, `data inspect` and `data download`. */
export function addData(program: Command): void {
  const data = program.command("data");
  for (const add of [addBuild, addInspect, addDownload]) add(data);
}

function addBuild(data: Command): void {
  withBatching(data.command("build"))
    .description("Turn text into a tokenizer and batches, in one go.")
    .option("--out <dir>", "folder to write (default: data-NAME)")
    .option("--tfrecord", "write the original's batches: NAME_train/file1.tfrecords …")
    .option("--masked", "write masked-LM + sentence-order examples (tf.Example) in lower case instead of batches")
    .option("--passes <n>", "passes over the text for --masked", whole, 40)
    .option("--seed <n>", "seed for --masked", whole, 12345)
    .option("--mask-share <p>", "--masked: fraction of the tokens to predict (default: 0.15)", numberFrom(0, 1))
    .option("--predictions <n>", "--masked: most tokens to predict per text (default: 20)", whole)
    .option("--max-ngram <n>", "--masked: longest sequence of words masked together (default: 3)", whole)
    .option("--favour-longer", "--masked: longer sequences of words are likelier")
    .option("--no-whole-word", "--masked: mask single pieces")
    .option(
      "--short-texts <p>",
      "--masked: how often a document is cut into shorter texts (default: 0.1)",
      numberFrom(0, 1),
    )
    .option("--random-next", "--masked: second segments from other documents instead of swapped ones")
    .option("--force", "replace a folder that data build wrote")
    .examples(
      "layerwise data build --corpus books --out data-books",
      "layerwise data build --corpus notes.txt --pieces 4000 --batch 16 --length 64",
      "layerwise data build --corpus wikitext-2 --data ~/data --tfrecord --compat original",
      "layerwise data build --corpus books --masked --length 128 --passes 10",
    )
    .action(build);
}

function addInspect(data: Command): void {
  withBatching(data.command("inspect"))
    .description("Count tokens, pieces per word and batches, and say what is dropped and why.")
    .examples(
      "layerwise data inspect --corpus wikitext-2 --tokenizer wiki2_12k --data ~/data",
      "layerwise data inspect --corpus data-books --json",
    )
    .action(inspect);
}

function addDownload(data: Command): void {
  data
    .command("download <dataset>")
    .description("Fetch wikitext-2, glue or multi30k; resumes, and checks every file's SHA-256.")
    .option("--data <dir>", "folder of datasets (default: LAYERWISE_DATA, or one in the cache)")
    .option("--from <url>", "take the same file names from this address")
    .option("--tasks <names>", "of glue only these, with commas between", namesIn)
    .option("--unverified", "keep files whose checksum is not the known one")
    .option("--force", "fetch even if the files are there")
    .option("--json", "print JSON")
    .examples(
      "layerwise data download wikitext-2 --data ~/data",
      "layerwise data download glue --from https://mirror.example/glue",
    )
    .action(download);
}

function withBatching(command: Command): Command {
  return command
    .option("--corpus <name|path>", "books, wikitext-2, a text file, or a folder", "books")
    .option("--tokenizer <name|file>", "a SentencePiece model (default: the data's own, or one trained on the text)")
    .option("--pieces <n>", "vocabulary size of a trained tokenizer (default: 12000, or what the text supports)", whole)
    .option("--cased", "keep upper case in a trained tokenizer")
    .option("--batch <n>", "rows of a batch", whole, 32)
    .option("--length <n>", "sequence length (default: 32; 128 with --masked)", whole)
    .option("--shards <n>", "files a split is cut into", whole, 1)
    .choice("--compat <mode>", "batch exactly like the original, repeats included", ["original"])
    .option("--data <dir>", "folder of datasets and tokenizers (default: LAYERWISE_DATA, or one in the cache)")
    .option("--cache <dir>", "folder of token caches (default: LAYERWISE_CACHE or .cache/layerwise)")
    .option("--json", "print JSON");
}

const warn = (message: string) => void process.stderr.write(`layerwise: ${message}\n`);
/** Lines of progress for the two things that take long. */
function watching() {
  const training = countingLine("training the tokenizer", "steps");
  const tokenising = countingLine("tokenising", "lines");
  const end = () => {
    training.end();
    tokenising.end();
  };
  return { onStep: training.at, onLine: tokenising.at, end };
}

/** How texts are masked, as the library calls it; without --masked none of it is understood. */
function maskingOf({ masked, passes, seed, maxNgram, randomNext, ...flags }: BuildFlags) {
  const given = {
    probability: flags.maskShare,
    maxPredictions: flags.predictions,
    maxNgram,
    favourShorter: flags.favourLonger ? false : undefined,
    wholeWord: flags.wholeWord ? undefined : false,
    shortProbability: flags.shortTexts,
    randomNext,
  };
  const asked = Object.entries(given).filter(([, value]) => value !== undefined);
  if (masked) return { passes, seed, ...(Object.fromEntries(asked) as Partial<PretrainingOptions>) };
  if (asked.length > 0) reject({ who: "data build", needed: "--masked beside flags of masking", got: "none" }, 2);
  return undefined;
}

async function build(flags: BuildFlags): Promise<void> {
  const masked = maskingOf(flags);
  const { json, corpus, tokenizer, data, cache, cased, batch, length, shards, compat, tfrecord, force } = flags;
  const { buildData, builtText } = await import("../../text/index.ts");
  const { end, ...watch } = watching();
  const source = { tokenizer, data, cache, pieces: flags.pieces, cased, batch, length, shards, compat };
  const how = { ...source, out: flags.out, tfrecord, force, ...watch, say: warn, masked };
  const built = await buildData(corpus, how).finally(end);
  const { out, pieces, splits } = built;
  if (json) return print(JSON.stringify({ out, pieces, splits }, null, 2));
  print(builtText(built));
  say(nextLines(out, [masked ? "pretrain --corpus RUN" : "train --corpus RUN", "data inspect --corpus RUN"]));
}

async function inspect({ json, corpus, ...flags }: BatchingFlags): Promise<void> {
  const { inspectData, inspectionText } = await import("../../text/index.ts");
  const { end, ...watch } = watching();
  const found = await inspectData(corpus, { ...flags, ...watch, say: warn }).finally(end);
  const { losses: _, ...data } = { losses: [], ...found };
  print(json ? JSON.stringify(data, null, 2) : inspectionText(found));
}

async function download(dataset: string, { json, data, ...how }: DownloadFlags): Promise<void> {
  const { dataFolder, fetchDataset } = await import("../../text/index.ts");
  const files = await counting(`fetching ${dataset}`, "bytes", (at) =>
    fetchDataset(dataset, { ...how, data: dataFolder(data), onProgress: (_, done) => at(done) }),
  );
  if (json) return print(JSON.stringify({ dataset, files }, null, 2));
  print(table(files.map(({ verified, ...file }) => ({ ...file, checked: verified ? "yes" : "not verified" }))));
}
