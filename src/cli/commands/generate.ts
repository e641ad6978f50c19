/** `layerwise generate`: text from a run. */
import { reject } from "../../base/index.ts";
import type { models } from "../../index.ts";
import type { SegmentChoices } from "../../tasks/search/index.ts";
import type { Command } from "../command.ts";
import { numberFrom, whole, wholeFrom } from "../flags.ts";
import { readInput } from "../input.ts";
import { besidesUse, openUsing, type UseFlags } from "../opened.ts";
import { say } from "../output.ts";

const examples = `
Examples:
  layerwise generate runs/1 --prompt "it was a"
  layerwise generate runs/1 --temperature 0 --tokens 40        the likeliest piece each time
  layerwise generate runs/1 --top-p 0.9 --seed 7 --stop "."
  layerwise generate runs/search-1 --evaluation-memory 64      out of a longer memory than in training
  layerwise generate runs/1 --samples 8                        eight texts at once, with seeds 1 to 8
  layerwise generate runs/1 --prompts lines.txt --json         a text for each line of a file
  layerwise generate runs/1 --loops 12                         a looped model, deeper than it was trained
  layerwise generate runs/1 --temperature 0 --draft-depth 2    the same text as without, faster where the model was trained with drop`;

interface GenerateFlags extends SegmentChoices, UseFlags, Omit<models.TextOptions, "maxTokens"> {
  tokens: number;
  draftDepth?: number;
  draft?: number;
  samples?: number;
  prompts?: string;
  json?: boolean;
}

export function addGenerate(program: Command): void {
  program
    .command("generate")
    .argument("<run>", "run folder")
    .option("--prompt <text>", "text to continue", "The")
    .option("--prompts <file>", "continue each line of a file (-: of standard input) instead, all at once")
    .option(
      "--samples <n>",
      "texts for each prompt, all at once; the k-th is the one that seed + k − 1 gives alone",
      whole,
    )
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
    .int8()
    .option(
      "--json",
      "print {prompt, text, tokensPerSecond}, with --draft-depth also {drafted, accepted}; of several texts {texts: [{prompt, seed, text}], tokensPerSecond, firstTokenMs}",
    )
    .checkpoint()
    .segments()
    .depths()
    .explain(examples)
    .action(run);
}

/** Refuses drafts that cannot be, before anything is opened. */
function checkDraft({ draftDepth, draft, temperature, samples, prompts }: GenerateFlags): void {
  if (draftDepth !== undefined && (samples !== undefined || prompts !== undefined)) {
    const got = samples !== undefined ? "--samples" : "--prompts";
    reject({ who: "--draft-depth", needed: "one text at a time", got, remedy: "leave one of them out" }, 2);
  }
  if (draft !== undefined && draftDepth === undefined) {
    reject({ who: "--draft", needed: "--draft-depth beside it", got: "none", remedy: "say how many blocks draft" }, 2);
  }
  if (draftDepth === undefined || temperature === 0) return;
  reject({ who: "--draft-depth", needed: "--temperature 0", got: `${temperature}`, remedy: "add it" }, 2);
}

/** A prompt per line, but for empty lines. */
async function promptsIn(file: string): Promise<string[]> {
  const { existsSync, readFileSync } = await import("node:fs");
  if (file !== "-" && !existsSync(file)) {
    const needed = "a file with a prompt per line";
    reject({ who: "--prompts", needed, got: file, remedy: "or - for standard input" }, 2);
  }
  const text = file === "-" ? await readInput() : readFileSync(file, "utf8");
  const prompts = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (prompts.length === 0) reject({ who: "--prompts", needed: "at least one line of text", got: file }, 2);
  return prompts;
}

/** Many texts at once: each is printed when it and all before it have ended. */
async function runMany(path: string, flags: GenerateFlags): Promise<void> {
  const { prompt, prompts: file, samples = 1, tokens: maxTokens, json, ...options } = besidesUse(flags);
  const prompts = file === undefined ? [prompt] : await promptsIn(file);
  const opened = await openUsing(path, "generate", flags, flags);
  const seed = options.seed ?? 1;
  const texts = prompts.flatMap((each) =>
    Array.from({ length: samples }, (_, k) => ({ prompt: each, seed: seed + k, text: "", isDone: false })),
  );
  const start = performance.now();
  let [pieces, printed, firstTokenMs] = [0, 0, 0];
  for await (const piece of opened.generateMany({ ...options, prompts, samples, maxTokens })) {
    if (pieces++ === 0) firstTokenMs = performance.now() - start;
    const of = texts[piece.prompt * samples + piece.sample]!;
    of.text += piece.text;
    of.isDone = piece.isLast;
    for (; !json && texts[printed]?.isDone; printed++) {
      const { prompt, seed, text } = texts[printed]!;
      const name = `${printed + 1} of ${texts.length}${samples > 1 ? `, seed ${seed}` : ""}`;
      process.stdout.write(`[${name}]\n${prompt}${text}\n${printed < texts.length - 1 ? "\n" : ""}`);
    }
  }
  const tokensPerSecond = (1000 * pieces) / (performance.now() - start);
  const found = texts.map(({ prompt, seed, text }) => ({ prompt, seed, text }));
  if (json) process.stdout.write(`${JSON.stringify({ texts: found, tokensPerSecond, firstTokenMs })}\n`);
}

async function run(path: string, flags: GenerateFlags): Promise<void> {
  checkDraft(flags);
  if (flags.samples !== undefined || flags.prompts !== undefined) return runMany(path, flags);
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
