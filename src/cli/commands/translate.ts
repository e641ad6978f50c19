/** `layerwise translate`: lines of text through a translation run, or its BLEU on a part of its corpus. */
import { type Command, Option } from "commander";
import { startProgress, table } from "../../base/index.ts";
import type { CheckpointChoice } from "../../runs/index.ts";
import type { Split } from "../../text/index.ts";
import { addCheckpointFlag } from "../finished.ts";
import { numberFrom, whole } from "../flags.ts";
import { fitted } from "../help.ts";
import { readInput, readText } from "../input.ts";
import { print, say } from "../output.ts";

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

export function addTranslate(program: Command): void {
  const command = program
    .command("translate")
    .argument("<run>", "run folder")
    .argument("[file...]", "text files, a sentence a line (default: standard input)")
    .option("--beam <n>", "hypotheses kept at each step", whole, 4)
    .option("--length-penalty <a>", "hypotheses of n pieces are worth log p / n^a", numberFrom(0), 0.6)
    .option("--average <n>", "use the mean of the last n checkpoints", whole)
    .addOption(new Option("--score <split>", "BLEU on a part of the corpus").choices(["train", "valid", "test"]))
    .option("--json", "print JSON: with --score its figures, else {translations}");
  addCheckpointFlag(command).addHelpText("after", fitted(examples)).action(run);
}

async function run(path: string, files: string[], flags: TranslateFlags): Promise<void> {
  const { Run } = await import("../../tasks/index.ts");
  const opened = await Run.open(path, "translate", { checkpoint: flags.checkpoint, say });
  const { beam, lengthPenalty, average } = flags;
  const progress = startProgress("translating", { output: process.stderr, unit: "lines" });
  const how = { beam, lengthPenalty, average, onLine: progress.at };
  if (flags.score !== undefined) {
    const result = await opened.score(flags.score, how);
    progress.end();
    const row = { ...result, precisions: result.precisions.map((each) => each.toFixed(1)).join(" / ") };
    print(flags.json ? JSON.stringify(result) : table([row]));
    return;
  }
  const found = await opened.translate(await linesFrom(files), how);
  progress.end();
  process.stdout.write(flags.json ? `${JSON.stringify({ translations: found })}\n` : `${found.join("\n")}\n`);
}

async function linesFrom(files: readonly string[]): Promise<string[]> {
  const { linesIn } = await import("../../text/index.ts");
  const named = files.map((file) => readText(file, "translate"));
  const texts = files.length > 0 ? await Promise.all(named) : [await readInput()];
  return texts.flatMap(linesIn);
}
