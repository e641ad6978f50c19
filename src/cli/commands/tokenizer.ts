/** `layerwise tokenizer`: trains SentencePiece vocabularies, turns text into ids and back, and looks into models, those of tokenizer.json too. */
import { InvalidArgumentError } from "commander";
import { table } from "../../base/index.ts";
import type { Release, TextSource, TokenizerFile, TokenizerTraining, TokenizerTrainingStep } from "../../text/index.ts";
import type { Command } from "../command.ts";
import { whole, wholeFrom } from "../flags.ts";
import { countingLine, nextLines, print, say } from "../output.ts";

interface ModelFlags {
  model: string;
  data?: string;
  pieces?: boolean;
  release?: Release;
  json?: boolean;
}

interface TrainFlags {
  input?: string[];
  out: string;
  vocabulary: number;
  force?: boolean;
  json?: boolean;
}

/** What training calls the flags that are shorter. */
const longNames = {
  vocabulary: "vocabularySize",
  coverage: "characterCoverage",
  symbols: "userSymbols",
  control: "controlSymbols",
  longest: "maximumPieceLength",
  unkId: "unknownId",
  unkPiece: "unknownPiece",
} as const;

/** Adds `tokenizer train`, `encode`, `decode` and `inspect`. */
export function addTokenizer(program: Command): void {
  const tokenizer = program.command("tokenizer");
  for (const add of [addTrain, addEncode, addDecode, addInspect]) add(tokenizer);
}

const NORMALISATION_NAMES = ["identity", "nfkc", "nfkc_cf", "nmt_nfkc", "nmt_nfkc_cf"];

function addTrain(tokenizer: Command): void {
  const train = tokenizer
    .command("train")
    .description("Train a unigram vocabulary on text and write NAME.model and NAME.vocab.")
    .option("--input <file...>", "text files, UTF-8 (default: standard input)")
    .requiredOption("--out <name>", "where to write: NAME.model and NAME.vocab")
    .option("--vocabulary <n>", "pieces in all", whole, 12000)
    .choice("--normalisation <name>", "how text is rewritten; _cf folds case", NORMALISATION_NAMES, "nfkc_cf")
    .option("--coverage <share>", "share of the text's characters that get a piece", share, 0.9995)
    .option("--symbols <symbol...>", "symbols kept whole wherever they occur", [])
    .option("--control <symbol...>", "symbols that have an id but never occur in text", [])
    .option("--byte-fallback", "add 256 byte pieces, so that no input is lost")
    .option("--longest <n>", "longest piece in characters", whole, 16)
    .option("--no-split-by-script", "let pieces mix scripts")
    .option("--no-split-by-number", "let pieces mix letters and digits")
    .option("--no-split-by-whitespace", "let pieces reach over spaces")
    .option("--split-digits", "make every digit a piece of its own");
  addSpecials(train)
    .option("--force", "replace files that exist")
    .option("--json", "print JSON")
    .examples(
      "layerwise tokenizer train --input train.txt --out books --vocabulary 8000",
      "layerwise tokenizer train --input a.txt b.txt --out wiki --normalisation nfkc_cf --symbols @-@",
      "cat *.txt | layerwise tokenizer train --out bytes --normalisation identity --byte-fallback",
    )
    .action(trainModel);
}

function addSpecials(train: Command): Command {
  for (const [name, id, piece] of [
    ["pad", 0, "[PAD]"],
    ["bos", 1, "[BOS]"],
    ["eos", 2, "[EOS]"],
    ["unk", 3, "[UNK]"],
  ] as const) {
    train.option(`--${name}-id <id>`, `id of the ${name} piece; -1 for none`, wholeFrom(-1), id);
    train.option(`--${name}-piece <text>`, `text of the ${name} piece`, piece);
  }
  return train;
}

function addEncode(tokenizer: Command): void {
  withModel(tokenizer.command("encode"))
    .description("Print one line of ids for each line of text.")
    .argument("[files...]", "text files (default: standard input)")
    .option("--pieces", "print pieces instead of ids")
    .choice("--release <version>", "SentencePiece release to follow in ties (default: 0.2.2)", ["0.2.2", "0.2.0"])
    .examples(
      "layerwise tokenizer encode --model books.model text.txt > ids.txt",
      'echo "a line" | layerwise tokenizer encode --model books.model --pieces',
    )
    .action(turning("lineEncoder"));
}

function addDecode(tokenizer: Command): void {
  withModel(tokenizer.command("decode"))
    .description("Print one line of text for each line of ids.")
    .argument("[files...]", "files of ids (default: standard input)")
    .option("--pieces", "read pieces instead of ids")
    .examples("layerwise tokenizer decode --model books.model ids.txt")
    .action(turning("lineDecoder"));
}

function addInspect(tokenizer: Command): void {
  withModel(tokenizer.command("inspect"))
    .description("Say what is in a model: type, size, normalisation, special ids, flags, pieces.")
    .option("--json", "print JSON")
    .examples("layerwise tokenizer inspect --model books.model --json")
    .action(inspect);
}

function withModel(command: Command): Command {
  return command
    .requiredOption("--model <file|name>", "a SentencePiece .model, or its name in the data folder")
    .option("--data <dir>", "folder of datasets and tokenizers (default: LAYERWISE_DATA, or one in the cache)");
}

function share(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 1)) throw new InvalidArgumentError("It must lie above 0 and be at most 1.");
  return value;
}

function sourcesOf(files: readonly string[] | undefined): TextSource[] {
  return files && files.length > 0 ? [...files] : [{ name: "standard input", stream: process.stdin }];
}

async function trainModel(options: TrainFlags): Promise<void> {
  const { bytesIn, summaryText, trainToFiles } = await import("../../text/index.ts");
  const sources = sourcesOf(options.input);
  const total = await bytesIn(sources);
  const reading = countingLine("reading", "bytes", total || undefined);
  const training = countingLine("training", "steps");
  let [done, steps]: [number, number | undefined] = [0, undefined];
  // How many there will be is said once, when the seeds are there.
  const onStep = (step: TokenizerTrainingStep) => {
    if (step.steps === undefined) training.at(++done, steps);
    else steps = step.steps;
  };
  const how = { force: options.force, onBytes: reading.at, onStep };
  const { summary, ...files } = await trainToFiles(sources, options.out, trainingOf(options), how).finally(() => {
    reading.end();
    training.end();
  });
  if (options.json) return print(JSON.stringify({ ...files, ...summary }, null, 2));
  print(`${summaryText(summary)}\nwrote ${files.model} and ${files.vocabulary}`);
  say(nextLines(files.model, ["train --corpus TEXT --tokenizer RUN", "tokenizer encode --model RUN TEXT"]));
}

function trainingOf({ input, out, force, json, ...flags }: TrainFlags): Partial<TokenizerTraining> {
  const renamed = (name: string) => (name in longNames ? longNames[name as keyof typeof longNames] : name);
  return Object.fromEntries(Object.entries(flags).map(([name, value]) => [renamed(name), value]));
}

/** Turns lines into ids or pieces, or back. */
const turning = (how: "lineEncoder" | "lineDecoder") => async (files: string[], options: ModelFlags) => {
  const { openTokenizer, turnLines, [how]: turn } = await import("../../text/index.ts");
  const { writeSlowly } = await import("../../files/index.ts");
  const { tokenizer } = await openTokenizer(options.model, options);
  const write = (text: string) => writeSlowly(process.stdout, text);
  await turnLines(sourcesOf(files), turn(tokenizer, options.pieces ?? false), write);
};

async function inspect(options: ModelFlags): Promise<void> {
  const { openTokenizer, readModel, summarise, summaryText } = await import("../../text/index.ts");
  const opened = await openTokenizer(options.model, options);
  if (opened.tokenizer.keepsLineEnds) return inspectByteLevel(opened, options.json);
  const summary = summarise(readModel(opened.bytes, opened.path));
  const { path, sha256 } = opened;
  print(options.json ? JSON.stringify({ path, sha256, ...summary }, null, 2) : summaryText(summary));
}

/** Of a tokenizer.json what every tokenizer has. */
function inspectByteLevel({ path, sha256, tokenizer }: TokenizerFile, json = false): void {
  const { size, unknownId, padId, bosId, eosId } = tokenizer;
  const facts = { kind: "byte-level BPE", pieces: size, unknownId, padId, bosId, eosId };
  print(json ? JSON.stringify({ path, sha256, ...facts }, null, 2) : table([facts]));
}
