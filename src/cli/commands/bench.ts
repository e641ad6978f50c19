/** `layerwise bench depth`: what halting saves, in time: adaptive depth beside fixed depth of the same cap, measured in turn. */
import { reject } from "../../base/index.ts";
import type { analysis } from "../../index.ts";
import type { Command } from "../command.ts";
import { whole } from "../flags.ts";
import { print } from "../output.ts";

const HELP = `
Examples:
  layerwise bench depth                       width 768, cap 6, batches 1 and 16, several mean depths
  layerwise bench depth --width 256 --heads 4 --json
  layerwise bench depth --batch 16 --mean 3.8

Weights are random; every token is told at which depth to halt, spread over 1 … cap with the mean that is asked for.
Both contenders run in turn, each after a pause, twice to warm up and once timed; the medians are shown.`;

export function addBench(program: Command): void {
  const bench = program.command("bench");
  bench
    .command("depth")
    .description("time of halting models against their mean depth, beside fixed depth")
    .option("--batch <n...>", "texts at once (default: 1 16)", collected)
    .option("--length <n>", "tokens per text", whole, 128)
    .option("--mean <n...>", "mean depths", ["2", "3", "3.8", "5", "6"])
    .option("--cap <n>", "deepest depth", whole, 6)
    .option("--width <n>", "width of the hidden state", whole, 768)
    .option("--heads <n>", "attention heads", whole, 12)
    .option("--feed-forward <n>", "width of the feed-forward layer (default: four times the width)", whole)
    .option("--rounds <n>", "runs of each contender", whole, 7)
    .option("--threads <n>", "threads of ONNX Runtime", whole)
    .option("--json", "print only JSON")
    .explain(HELP)
    .action(run);
}

interface Flags extends Omit<analysis.DepthBenchOptions, "batches" | "means" | "hidden"> {
  batch?: number[];
  mean: string[];
  feedForward?: number;
  threads?: number;
  json?: boolean;
}

const collected = (text: string, before: number[] = []) => [...before, whole(text)];

function depthIn(text: string, cap: number): number {
  const value = Number(text);
  if (value >= 1 && value <= cap) return value;
  return reject({ who: "--mean", needed: `a depth from 1 to ${cap}`, got: text }, 2);
}

async function run({ json, batch = [1, 16], mean, threads, ...sizes }: Flags): Promise<void> {
  const options = {
    ...sizes,
    batches: batch,
    means: mean.map((text) => depthIn(text, sizes.cap)),
    hidden: sizes.feedForward ?? 4 * sizes.width,
  };
  const { analysis, tasks } = await import("../../index.ts");
  const rows = await analysis.measureDepth(await tasks.defaultEngine({ threads }), options);
  print(json ? JSON.stringify(rows) : analysis.depthBenchText(rows));
}
