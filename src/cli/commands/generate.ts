/** `layerwise generate`: text from a run. */
import type { Command } from "commander";
import { reject } from "../../base/index.ts";
import type { models } from "../../index.ts";
import type { SegmentChoices } from "../../tasks/search/index.ts";
import {
  addCheckpointFlag,
  addDepthFlags,
  addSegmentFlags,
  besidesUse,
  int8Option,
  type UseFlags,
} from "../finished.ts";
import { numberFrom, whole, wholeFrom } from "../flags.ts";
import { fitted } from "../help.ts";
import { say } from "../output.ts";

const examples = `
Examples:
  layerwise generate runs/1 --prompt "it was a"
  layerwise generate runs/1 --temperature 0 --tokens 40        the likeliest piece each time
  layerwise generate runs/1 --top-p 0.9 --seed 7 --stop "."
  layerwise generate runs/search-1 --evaluation-memory 64      out of a longer memory than in training
  layerwise generate runs/1 --loops 12                         a looped model, deeper than it was trained
  layerwise generate runs/1 --temperature 0 --draft-depth 2    the same text as without, faster where the model was trained with drop`;

interface GenerateFlags extends SegmentChoices, UseFlags, Omit<models.TextOptions, "maxTokens"> {
  tokens: number;
  draftDepth?: number;
  draft?: number;
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
    .option(
      "--draft-depth <k>",
      "let the model's first k blocks draft what all of them check; needs --temperature 0",
      whole,
    )
    .option("--draft <n>", "tokens to draft at a time (default: 4)", whole)
    .addOption(int8Option())
    .option("--json", "print {prompt, text, tokensPerSecond}, with --draft-depth also {drafted, accepted}");
  addDepthFlags(addSegmentFlags(addCheckpointFlag(command)))
    .addHelpText("after", fitted(examples))
    .action(run);
}

/** Refuses drafts that cannot be, before anything is opened. */
function checkDraft({ draftDepth, draft, temperature }: GenerateFlags): void {
  if (draft !== undefined && draftDepth === undefined) {
    reject({ who: "--draft", needed: "--draft-depth beside it", got: "none", remedy: "say how many blocks draft" }, 2);
  }
  if (draftDepth === undefined || temperature === 0) return;
  reject({ who: "--draft-depth", needed: "--temperature 0", got: `${temperature}`, remedy: "add it" }, 2);
}

async function run(path: string, flags: GenerateFlags): Promise<void> {
  checkDraft(flags);
  const { openUsing } = await import("../opened.ts");
  const opened = await openUsing(path, "generate", flags, flags);
  const write = (text: string) => void (flags.json || process.stdout.write(text));
  const { prompt, tokens: maxTokens, json, draftDepth: depth, draft: tokens, ...options } = besidesUse(flags);
  let counts: models.DraftCounts | undefined;
  const onEnd = (all: models.DraftCounts) => {
    counts = all;
  };
  const draft = depth === undefined ? {} : { draft: { depth, tokens, onEnd } };
  const start = performance.now();
  let [text, pieces] = ["", 0];
  for await (const part of opened.generate({ prompt, maxTokens, ...options, ...draft })) {
    if (pieces === 0) write(prompt);
    text += part;
    pieces++;
    write(part);
  }
  const tokensPerSecond = (1000 * pieces) / (performance.now() - start);
  process.stdout.write(json ? `${JSON.stringify({ prompt, text, tokensPerSecond, ...counts })}\n` : "\n");
  if (counts && !json) say((await import("../../index.ts")).models.draftsText(counts));
}
