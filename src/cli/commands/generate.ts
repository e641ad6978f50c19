/** `layerwise generate`: text from a run. */
import type { Command } from "commander";
import type { SegmentChoices } from "../../tasks/search/index.ts";
import { addCheckpointFlag, addDepthFlags, addSegmentFlags, besidesUse, type UseFlags } from "../finished.ts";
import { numberFrom, whole, wholeFrom } from "../flags.ts";
import { fitted } from "../help.ts";

const examples = `
Examples:
  layerwise generate runs/1 --prompt "it was a"
  layerwise generate runs/1 --temperature 0 --tokens 40        the likeliest piece each time
  layerwise generate runs/1 --top-p 0.9 --seed 7 --stop "."
  layerwise generate runs/search-1 --evaluation-memory 64      out of a longer memory than in training
  layerwise generate runs/1 --loops 12                         a looped model, deeper than it was trained`;

interface GenerateFlags extends SegmentChoices, UseFlags {
  prompt: string;
  tokens: number;
  temperature: number;
  topK?: number;
  topP?: number;
  seed: number;
  stop?: string;
  json?: boolean;
}

export function addGenerate(program: Command): void {
  const command = program
    .command("generate")
    .argument("<run>", "run folder")
    .option("--prompt <text>", "text to continue", "The")
    .option("--tokens <n>", "tokens to generate at most", whole, 120)
    .option("--temperature <t>", "0 takes the likeliest piece, 1 follows the model", numberFrom(0), 0.8)
    .option("--top-k <k>", "only the k likeliest pieces", whole)
    .option("--top-p <p>", "only the likeliest pieces that have this probability together", numberFrom(0, 1))
    .option("--seed <n>", "seed of the choices", wholeFrom(0), 1)
    .option("--stop <text>", "end before this text")
    .option("--json", "print {prompt, text, tokensPerSecond}");
  addDepthFlags(addSegmentFlags(addCheckpointFlag(command)))
    .addHelpText("after", fitted(examples))
    .action(run);
}

async function run(path: string, flags: GenerateFlags): Promise<void> {
  const { openUsing, refuseFlags } = await import("../opened.ts");
  const opened = await openUsing(path, "generate", flags);
  refuseFlags(opened, { ...flags });
  const write = (text: string) => void (flags.json || process.stdout.write(text));
  const { prompt, tokens: maxTokens, json, ...options } = besidesUse(flags);
  const start = performance.now();
  let [text, pieces] = ["", 0];
  for await (const part of opened.generate({ prompt, maxTokens, ...options })) {
    if (pieces === 0) write(prompt);
    text += part;
    pieces++;
    write(part);
  }
  const tokensPerSecond = (1000 * pieces) / (performance.now() - start);
  process.stdout.write(json ? `${JSON.stringify({ prompt, text, tokensPerSecond })}\n` : "\n");
}
