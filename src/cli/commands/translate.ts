/** `layerwise translate`: lines of text through a translation run, or its BLEU on a part of its corpus. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { messageOf, reject, UserError } from "../../base/errors.ts";
import { table } from "../../base/table.ts";
import type { Translator } from "../../model/seq2seq/beam.ts";
import type { CheckpointChoice, RunFolder } from "../../runs/folder.ts";
import type { Split } from "../../text/files/corpus.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import { addCheckpointFlag } from "../finished.ts";

const examples = `
Examples:
  echo "A dog runs on the beach." | layerwise translate runs/1
  layerwise translate runs/1 letter.txt --beam 8
  layerwise translate runs/1 --average 5 < letter.txt     the mean of the last five checkpoints
  layerwise translate runs/1 --score test --json          {split, sentences, bleu, precisions, brevityPenalty, seconds}

Train a run with: layerwise train --task translate --data DIR`;

interface TranslateFlags {
  beam: number;
  lengthPenalty: number;
  average?: number;
  score?: Split;
  json?: boolean;
  checkpoint?: CheckpointChoice;
}

function wholeFrom1(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError("It must be a whole number from 1.");
  return value;
}

function real(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("It must be a number.");
  return value;
}

export function addTranslate(program: Command): void {
  const command = program
    .command("translate")
    .description("translate lines of text with a trained run, or score it with BLEU")
    .argument("<run>", "run folder")
    .argument("[file...]", "text files, a sentence a line (default: standard input)")
    .option("--beam <n>", "hypotheses kept at each step", wholeFrom1, 4)
    .option("--length-penalty <a>", "hypotheses of n pieces are worth log p / n^a", real, 0.6)
    .option("--average <n>", "use the mean of the last n checkpoints", wholeFrom1)
    .addOption(new Option("--score <split>", "BLEU on a part of the corpus").choices(["train", "valid", "test"]))
    .option("--json", "print JSON: with --score its figures, else {translations}");
  addCheckpointFlag(command).addHelpText("after", examples).action(run);
}

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function run(path: string, files: string[], flags: TranslateFlags): Promise<void> {
  const opened = await open(path, flags);
  try {
    const { translator, tokenizer } = opened;
    if (flags.score !== undefined) return await score(opened, flags.score, flags.json === true);
    const found = await translateLines(translator, tokenizer, await linesFrom(files));
    process.stdout.write(flags.json ? `${JSON.stringify({ translations: found })}\n` : `${found.join("\n")}\n`);
  } finally {
    await opened.translator.release();
  }
}

/** The run's model, with the weights that were asked for, compiled. */
async function open(path: string, flags: TranslateFlags) {
  const { RunFolder } = await import("../../runs/folder.ts");
  const { parseConfig, resolveConfig } = await import("../../tasks/language/settings.ts");
  const { openEngine, TOKENIZER_FILE } = await import("../../tasks/language/training.ts");
  const { translationModelOf } = await import("../../tasks/translate/task.ts");
  const { openTokenizer } = await import("../../text/files/tokenizer.ts");
  const { firstWeights } = await import("../../tasks/language/parts.ts");
  const { Translator } = await import("../../model/seq2seq/beam.ts");
  const folder = await RunFolder.read(path);
  const source = `${path}/config.yaml`;
  const config = resolveConfig([{ source, values: parseConfig(folder.config, source) }]);
  if (config.task !== "translate") {
    const remedy = "train one with layerwise train --task translate";
    reject({ who: path, needed: "a translation run", got: `task ${config.task}`, remedy }, 2);
  }
  const stored = await weightsOf(folder, flags);
  const { tokenizer } = await openTokenizer(join(path, TOKENIZER_FILE));
  const model = translationModelOf(config, tokenizer.size);
  const weights = firstWeights(model.parameters, config.seed, stored);
  const engine = await openEngine(config);
  const translator = await Translator.create(engine, model, weights, tokenizer, flags);
  return { translator, tokenizer, config };
}

type Stored = Awaited<ReturnType<RunFolder["readCheckpoint"]>>["state"]["weights"];

/** One checkpoint's weights, or the mean of the last ones that were kept. */
async function weightsOf(folder: RunFolder, { average, checkpoint }: TranslateFlags): Promise<Stored> {
  const places = await folder.checkpoints();
  if (average === undefined) {
    const choice = checkpoint ?? (places.some(({ best }) => best) ? "best" : "last");
    return (await folder.readCheckpoint(choice)).state.weights;
  }
  const kept = [...new Set(places.map(({ step }) => step))];
  if (kept.length < average) {
    const remedy = `train with --keep ${average}`;
    reject({ who: "--average", needed: `${average} checkpoints`, got: `${kept.length} that were kept`, remedy });
  }
  const { averageCheckpoints } = await import("../../model/averaging.ts");
  const steps = kept.sort((a, b) => b - a);
  const states: Stored[] = [];
  for (const step of steps.slice(0, average)) states.push((await folder.readCheckpoint(step)).state.weights);
  return averageCheckpoints(states);
}

async function linesFrom(files: readonly string[]): Promise<string[]> {
  const texts = files.length > 0 ? await Promise.all(files.map(readText)) : [await readAll(process.stdin)];
  return texts.flatMap((text) => text.replace(/\r?\n$/, "").split(/\r?\n/));
}

async function readText(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: unknown) => {
    throw new UserError(`translate: cannot read ${file}: ${messageOf(error)}`, 2);
  });
}

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString("utf8");
}

/** Line by line; empty lines stay empty. */
async function translateLines(
  translator: Translator,
  tokenizer: Tokenizer,
  lines: readonly string[],
  onDone?: (count: number) => void,
): Promise<string[]> {
  const full = lines.flatMap((line, i) => (line.trim() === "" ? [] : [i]));
  const sources = full.map((i) => Int32Array.of(...tokenizer.encode(lines[i]!), tokenizer.eosId));
  const found = await translator.translate(sources, onDone);
  const results = lines.map(() => "");
  full.forEach((i, k) => {
    results[i] = tokenizer.decode(found[k]!);
  });
  return results;
}

async function score(
  { translator, tokenizer, config }: Awaited<ReturnType<typeof open>>,
  split: Split,
  json: boolean,
): Promise<void> {
  const { pairsOf } = await import("../../text/files/pairs.ts");
  const { pairsCorpusOf } = await import("../../tasks/translate/task.ts");
  const { bleu } = await import("../../text/pairs/bleu.ts");
  const { startProgress } = await import("../../base/progress.ts");
  const { source, target } = pairsOf(await pairsCorpusOf(config, say), split);
  const progress = startProgress("translating", { output: process.stderr, total: source.length, unit: "lines" });
  const start = performance.now();
  const found = await translateLines(translator, tokenizer, source, (count) => progress.at(count));
  progress.end();
  const { score: value, precisions, brevityPenalty } = bleu(found, [target]);
  const seconds = (performance.now() - start) / 1000;
  const result = { split, sentences: source.length, bleu: value, precisions, brevityPenalty, seconds };
  const row = { ...result, precisions: precisions.map((each) => each.toFixed(1)).join(" / ") };
  process.stdout.write(`${json ? JSON.stringify(result) : table([row])}\n`);
}
