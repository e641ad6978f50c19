/** `layerwise fill`: the likeliest words for the masks of a text. */
import { reject } from "../../base/index.ts";
import type { Command } from "../command.ts";
import { whole } from "../flags.ts";
import { openUsing, type UseFlags } from "../opened.ts";
import { print } from "../output.ts";

const examples = `
Examples:
  layerwise fill runs/albert "the [MASK] sat on the mat"
  layerwise fill runs/albert "the [MASK] sat on the [MASK]" --top 3 --json
                                     {text, masks: [{guesses: [{piece, probability}], depth}]}`;

interface Flags extends Pick<UseFlags, "checkpoint" | "threads"> {
  top: number;
  json?: boolean;
}

export function addFill(program: Command): void {
  program
    .command("fill")
    .argument("<run>", "an ALBERT's run with the head that guesses words: pre-trained or imported")
    .argument("<text>", "a text with [MASK] in it")
    .option("--top <n>", "guesses per mask", whole, 5)
    .option("--threads <n>", "threads of ONNX Runtime", whole)
    .option("--json", "print JSON")
    .checkpoint()
    .explain(examples)
    .action(run);
}

async function run(path: string, text: string, { top, json, ...use }: Flags): Promise<void> {
  if (!text.includes("[MASK]"))
    reject({ who: "fill", needed: "a text with [MASK] in it", got: JSON.stringify(text) }, 2);
  const opened = await openUsing(path, "fill", use);
  const masks = await opened.fill(text, { top });
  const { guessTable } = await import("../../tasks/pretrain/index.ts");
  const data = masks.map((mask) => ({ ...mask, depth: mask.depth ?? null }));
  print(json ? JSON.stringify({ text, masks: data }) : guessTable(masks));
}
