/** `layerwise bench depth`: what halting saves, in time: adaptive depth beside fixed depth of the same cap, measured in turn. */

import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import { reject } from "../../base/errors.ts";
import { median } from "../../base/median.ts";
import { table } from "../../base/table.ts";
import { whole } from "../flags.ts";

const HELP = `
Examples:
  layerwise bench depth                       width 768, cap 6, batches 1 and 16, several mean depths
  layerwise bench depth --width 256 --heads 4 --json
  layerwise bench depth --batch 16 --mean 3.8

Weights are random; every token is told at which depth to halt, spread over 1 … cap with the mean that is asked for.
Both contenders run in turn, each after a pause, twice to warm up and once timed; the medians are shown.`;

export interface DepthBenchOptions {
  batches: readonly number[];
  length: number;
  means: readonly number[];
  cap: number;
  width: number;
  heads: number;
  hidden: number;
  rounds: number;
  threads?: number | undefined;
}

export interface DepthMeasurement {
  readonly batch: number;
  readonly length: number;
  readonly meanDepth: number;
  readonly cap: number;
  readonly adaptive_ms: number;
  readonly fixed_ms: number;
  readonly ratio: number;
}

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
    .option("--hidden <n>", "width of the feed-forward layer (default: four times the width)", whole)
    .option("--rounds <n>", "runs of each contender", whole, 7)
    .option("--threads <n>", "threads of ONNX Runtime", whole)
    .option("--json", "print only JSON")
    .addHelpText("after", HELP)
    .action(run);
}

interface Flags {
  batch?: number[];
  length: number;
  mean: string[];
  cap: number;
  width: number;
  heads: number;
  hidden?: number;
  rounds: number;
  threads?: number;
  json?: boolean;
}

const collected = (text: string, before: number[] = []) => [...before, whole(text)];

function depthIn(text: string, cap: number): number {
  const value = Number(text);
  if (value >= 1 && value <= cap) return value;
  return reject({ who: "--mean", needed: `a depth from 1 to ${cap}`, got: text }, 2);
}

async function run({ json, batch = [1, 16], mean, ...sizes }: Flags): Promise<void> {
  const rows = await measureDepth({
    ...sizes,
    batches: batch,
    means: mean.map((text) => depthIn(text, sizes.cap)),
    hidden: sizes.hidden ?? 4 * sizes.width,
  });
  process.stdout.write(`${json ? JSON.stringify(rows) : `${asTable(rows)}\n\n${plot(rows)}`}\n`);
}

/** Every batch at every mean depth; the fixed contender runs beside each, so that both see the same machine. */
export async function measureDepth(options: DepthBenchOptions): Promise<DepthMeasurement[]> {
  const { ortEngine } = await import("../../engine/ort.ts");
  const { albert } = await import("../../model/albert/albert.ts");
  const { textInputs } = await import("../../model/albert/heads.ts");
  const { SteppedAlbert } = await import("../../model/albert/stepped.ts");
  const { initialise } = await import("../../nn/index.ts");
  const { simplify } = await import("../../graph/index.ts");
  const { cap, width, heads, hidden, length, rounds, threads } = options;
  const engine = await ortEngine(threads === undefined ? {} : { threads });
  const sizes = { vocabulary: 1000, width, heads, hidden, depth: cap, length };
  // A bias this low never halts by itself: depths come from the caps alone.
  const adaptive = albert({ ...sizes, halting: { biasInitial: -20 } });
  const stepped = await SteppedAlbert.create(engine, adaptive, initialise(adaptive.parameters, 1));
  const fixed = albert(sizes);
  const weights = initialise(fixed.parameters, 1);
  const rows: DepthMeasurement[] = [];
  for (const batch of options.batches) {
    // Without padding neither contender is given a mask.
    const { ids, types } = textInputs({ batch, length });
    const { sequence, pooled } = fixed.encode({ ids: ids!, types });
    const [state, first] = simplify([sequence, pooled!]);
    const program = await engine.compile({ outputs: { state: state!, first: first! }, weights });
    const texts = someTexts(batch, length);
    const runFixed = () => program.run(texts);
    for (const mean of options.means) {
      const caps = await spreadDepths(batch * length, cap, mean);
      const runAdaptive = () => stepped.encode({ batch, length, ...texts, caps });
      rows.push({ ...(await race(runAdaptive, runFixed, rounds)), batch, length, cap, meanDepth: average(caps) });
    }
    await program.release();
  }
  await stepped.release();
  return rows.map(({ batch, length, meanDepth, cap, adaptive_ms, fixed_ms, ratio }) => {
    return { batch, length, meanDepth, cap, adaptive_ms, fixed_ms, ratio };
  });
}

const average = (values: ArrayLike<number>) => Array.from(values).reduce((a, b) => a + b, 0) / values.length;

function someTexts(batch: number, length: number): Record<"ids" | "types", Int32Array> {
  const count = batch * length;
  const ids = Int32Array.from({ length: count }, (_, i) => 5 + ((i * 7919) % 990));
  return { ids, types: new Int32Array(count) };
}

/** Threads of the runtime wait busily for some tens of milliseconds after a run, and would take a core from the other contender. */
const PAUSE_MS = 100;

async function race(adaptive: () => Promise<unknown>, fixed: () => Promise<unknown>, rounds: number) {
  const times: [number[], number[]] = [[], []];
  for (let round = -2; round < rounds; round++) {
    for (const [i, work] of [adaptive, fixed].entries()) {
      await setTimeout(PAUSE_MS);
      for (let warm = 0; warm < 2; warm++) await work(); // its own threads have gone to sleep, and its data left the caches
      const start = performance.now();
      await work();
      if (round >= 0) times[i]!.push(performance.now() - start);
    }
  }
  const [adaptive_ms, fixed_ms] = times.map(median) as [number, number];
  return { adaptive_ms, fixed_ms, ratio: adaptive_ms / fixed_ms };
}

/** Depths 1 … cap with the given mean and otherwise as even as can be (P(d) ∝ rᵈ), in random order. */
export async function spreadDepths(count: number, cap: number, mean: number): Promise<Int32Array> {
  const { RandomStream } = await import("../../base/random.ts");
  const shares = sharesWithMean(cap, mean);
  let [sum, next] = [0, 0];
  const depths = shares.flatMap((share, d) => {
    sum += share * count;
    const until = d === cap - 1 ? count : Math.round(sum);
    const some = Array.from({ length: until - next }, () => d + 1);
    next = until;
    return some;
  });
  return Int32Array.from(new RandomStream(1, "depths").shuffle(depths));
}

function sharesWithMean(cap: number, mean: number): number[] {
  const shares = (slope: number) => {
    const raw = Array.from({ length: cap }, (_, d) => Math.exp(slope * (d - (slope > 0 ? cap - 1 : 0))));
    const total = raw.reduce((a, b) => a + b, 0);
    return raw.map((each) => each / total);
  };
  const meanOf = (slope: number) => shares(slope).reduce((sum, share, d) => sum + share * (d + 1), 0);
  let [low, high] = [-40, 40];
  for (let i = 0; i < 60; i++) {
    const slope = (low + high) / 2;
    if (meanOf(slope) < mean) low = slope;
    else high = slope;
  }
  return shares((low + high) / 2);
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
