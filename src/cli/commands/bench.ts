/** `layerwise bench depth`: what halting saves, in time: adaptive depth beside fixed depth of the same cap, measured in turn. */

import type { Command } from "commander";
import type { DepthMeasurement } from "../../analysis/depth-bench.ts";
import { reject } from "../../base/errors.ts";
import { table } from "../../base/table.ts";

const HELP = `
Examples:
  layerwise bench depth                       width 768, cap 6, batches 1 and 16, several mean depths
  layerwise bench depth --width 256 --heads 4 --json
  layerwise bench depth --batch 16 --mean 3.8

Weights are random; every token is told at which depth to halt, spread over 1 … cap with the mean that is asked for.
Both contenders run in turn, each after a pause, twice to warm up and once timed; the medians are shown.`;

export function addBench(program: Command): void {
  const bench = program.command("bench").description("measure what the toolkit claims");
  bench
    .command("depth")
    .description("time of halting models against their mean depth, beside fixed depth")
    .option("--batch <n...>", "texts at once", ["1", "16"])
    .option("--length <n>", "tokens a text", "128")
    .option("--mean <n...>", "mean depths", ["2", "3", "3.8", "5", "6"])
    .option("--cap <n>", "deepest depth", "6")
    .option("--width <n>", "width of the hidden state", "768")
    .option("--heads <n>", "attention heads", "12")
    .option("--hidden <n>", "width of the feed-forward layer (default: four times the width)")
    .option("--rounds <n>", "runs of each contender", "7")
    .option("--threads <n>", "threads for ONNX Runtime")
    .option("--json", "print only JSON")
    .addHelpText("after", HELP)
    .action(run);
}

interface Flags {
  batch: string[];
  length: string;
  mean: string[];
  cap: string;
  width: string;
  heads: string;
  hidden?: string;
  rounds: string;
  threads?: string;
  json?: boolean;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  return reject({ who: `--${name}`, needed: "a whole number from 1", got: text }, 2);
}

function depthIn(text: string, cap: number): number {
  const value = Number(text);
  if (value >= 1 && value <= cap) return value;
  return reject({ who: "--mean", needed: `a depth from 1 to ${cap}`, got: text }, 2);
}

async function run(flags: Flags): Promise<void> {
  const cap = whole("cap", flags.cap);
  const width = whole("width", flags.width);
  const options = {
    batches: flags.batch.map((text) => whole("batch", text)),
    length: whole("length", flags.length),
    means: flags.mean.map((text) => depthIn(text, cap)),
    cap,
    width,
    heads: whole("heads", flags.heads),
    hidden: flags.hidden === undefined ? 4 * width : whole("hidden", flags.hidden),
    rounds: whole("rounds", flags.rounds),
  };
  const threads = flags.threads === undefined ? {} : { threads: whole("threads", flags.threads) };
  const { ortEngine } = await import("../../engine/ort.ts");
  const { measureDepth } = await import("../../analysis/depth-bench.ts");
  const rows = await measureDepth(await ortEngine(threads), options);
  process.stdout.write(`${flags.json ? JSON.stringify(rows) : `${asTable(rows)}\n\n${plot(rows)}`}\n`);
}

const rounded = (value: number, digits: number) => value.toFixed(digits);

function asTable(rows: readonly DepthMeasurement[]): string {
  const cells = rows.map(({ batch, length, meanDepth, cap, adaptive_ms, fixed_ms, ratio }) => ({
    batch,
    length,
    "mean depth": `${rounded(meanDepth, 2)} of ${cap}`,
    adaptive: `${rounded(adaptive_ms, 1)} ms`,
    fixed: `${rounded(fixed_ms, 1)} ms`,
    ratio: rounded(ratio, 3),
  }));
  return table(cells);
}

/** Time as a share of fixed depth: a bar a row, and where depth itself would put it. */
function plot(rows: readonly DepthMeasurement[]): string {
  const lines = rows.map(({ batch, meanDepth, cap, ratio }) => {
    const bar = [..."█".repeat(Math.round(40 * Math.min(1.25, ratio))).padEnd(50)];
    bar[Math.max(0, Math.round((40 * meanDepth) / cap) - 1)] = "│";
    return `batch ${String(batch).padStart(3)}, depth ${rounded(meanDepth, 1)}  ${bar.join("").trimEnd()}`;
  });
  return `time / time of fixed depth (│: mean depth / cap; 40 cells = 1)\n${lines.join("\n")}`;
}
