/** `layerwise translate`: lines of text through a translation run, or its BLEU on a part of its corpus. */
import { table } from "../../base/index.ts";
import type { TranslateOptions } from "../../tasks/index.ts";
import type { Split } from "../../text/index.ts";
import type { Command } from "../command.ts";
import { numberFrom, whole } from "../flags.ts";
import { readInput } from "../input.ts";
import { depthUse, type UseFlags } from "../opened.ts";
import { counting, print, say } from "../output.ts";

const examples = `
Examples:
  echo "A dog runs on the beach." | layerwise translate runs/1
  layerwise translate runs/1 letter.txt --beam 8
  layerwise translate runs/1 --average 5 < letter.txt     the mean of the last five checkpoints
  layerwise translate runs/1 --cap 2                      a model whose tokens halt, at most two layers deep on either side
  layerwise translate runs/1 --score test --json          {split, sentences, bleu, precisions, brevityPenalty, seconds}

Train a run with: layerwise train --task translate --data DIR`;

interface TranslateFlags extends TranslateOptions, UseFlags {
  score?: Split;
  json?: boolean;
}

export function addTranslate(program: Command): void {
  program
    .command("translate")
    .argument("<run>", "run folder")
    .argument("[file...]", "text files, a sentence a line (default: standard input)")
    .option("--beam <n>", "hypotheses kept at each step", whole, 4)
    .option("--length-penalty <a>", "hypotheses of n pieces are worth log p / n^a", numberFrom(0), 0.6)
    .option("--average <n>", "use the mean of the last n checkpoints", whole)
    .choice("--score <split>", "BLEU on a part of the corpus", ["train", "valid", "test"])
    .option("--json", "print JSON: with --score its figures, else {translations}")
    .checkpoint()
    .depths()
    .explain(examples)
    .action(run);
}

async function run(path: string, files: string[], flags: TranslateFlags): Promise<void> {
  const { Run } = await import("../../tasks/index.ts");
  const opened = await Run.open(path, "translate", { checkpoint: flags.checkpoint, say, ...depthUse(flags) });
  const { beam, lengthPenalty, average, score, json } = flags;
  const translating = <T>(work: (how: TranslateOptions) => Promise<T>) =>
    counting("translating", "lines", (onLine) => work({ beam, lengthPenalty, average, onLine }));
  if (score !== undefined) {
    const result = await translating((how) => opened.score(score, how));
    const row = { ...result, precisions: result.precisions.map((each) => each.toFixed(1)).join(" / ") };
    return print(json ? JSON.stringify(result) : table([row]));
  }
  const lines = await linesFrom(files);
  const found = await translating((how) => opened.translate(lines, how));
  print(json ? JSON.stringify({ translations: found }) : found.join("\n"));
}

async function linesFrom(files: readonly string[]): Promise<string[]> {
  const { linesIn } = await import("../../text/index.ts");
  const { readText } = await import("../../files/index.ts");
  const named = files.map((file) => readText(file, "translate"));
  const texts = files.length > 0 ? await Promise.all(named) : [await readInput()];
  return texts.flatMap(linesIn);
}
