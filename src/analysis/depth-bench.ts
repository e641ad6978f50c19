/** What halting saves, in time: adaptive depth beside fixed depth of the same cap, measured in turn. */
import { median } from "../base/median.ts";
import { RandomStream } from "../base/random.ts";
import { table } from "../base/table.ts";
import type { Engine, Program } from "../engine/engine.ts";
import { simplify } from "../graph/index.ts";
import { type AlbertOptions, albert } from "../model/albert/albert.ts";
import { textInputs } from "../model/albert/heads.ts";
import { SteppedAlbert } from "../model/albert/stepped.ts";
import { initialise } from "../nn/index.ts";

/** Sizes of both contenders, and what they are given to do. */
export interface DepthBenchOptions {
  /** Texts at once. */
  batches: readonly number[];
  /** Tokens per text. */
  length: number;
  /** Mean depths to measure at. */
  means: readonly number[];
  /** Deepest depth. */
  cap: number;
  width: number;
  heads: number;
  hidden: number;
  /** Timed runs of each contender. */
  rounds: number;
}

/** Medians of both contenders at one mean depth. */
export interface DepthMeasurement {
  readonly batch: number;
  readonly length: number;
  readonly meanDepth: number;
  readonly cap: number;
  readonly adaptive_ms: number;
  readonly fixed_ms: number;
  readonly ratio: number;
}

/** Every batch at every mean depth; the fixed contender runs beside each, so that both see the same machine. */
export async function measureDepth(engine: Engine, options: DepthBenchOptions): Promise<DepthMeasurement[]> {
  const { cap, width, heads, hidden, length, rounds, means } = options;
  const sizes = { vocabulary: 1000, width, heads, hidden, depth: cap, length };
  // A bias this low never halts by itself: depths come from the caps alone.
  const adaptive = albert({ ...sizes, halting: { biasInitial: -20 } });
  const stepped = await SteppedAlbert.create(engine, adaptive, initialise(adaptive.parameters, 1));
  const rows: DepthMeasurement[] = [];
  for (const batch of options.batches) {
    const program = await fixedProgram(engine, sizes, batch);
    const texts = someTexts(batch, length);
    const runFixed = () => program.run(texts);
    for (const mean of means) {
      const caps = spreadDepths(batch * length, cap, mean);
      const times = await race(() => stepped.encode({ batch, length, ...texts, caps }), runFixed, rounds);
      rows.push({ batch, length, meanDepth: average(caps), cap, ...times });
    }
    await program.release();
  }
  await stepped.release();
  return rows;
}

/** All depths for every token; without padding neither contender is given a mask. */
async function fixedProgram(
  engine: Engine,
  sizes: AlbertOptions & { length: number },
  batch: number,
): Promise<Program> {
  const model = albert(sizes);
  const { ids, types } = textInputs({ batch, length: sizes.length });
  const { sequence, pooled } = model.encode({ ids, types });
  const [state, first] = simplify([sequence, pooled!]);
  return engine.compile({ outputs: { state: state!, first: first! }, weights: initialise(model.parameters, 1) });
}

const average = (values: ArrayLike<number>) => Array.from(values).reduce((a, b) => a + b, 0) / values.length;

function someTexts(batch: number, length: number): Record<"ids" | "types", Int32Array> {
  const count = batch * length;
  const ids = Int32Array.from({ length: count }, (_, i) => 5 + ((i * 7919) % 990));
  return { ids, types: new Int32Array(count) };
}

/** Threads of the runtime wait busily for some tens of milliseconds after a run, and would take a core from the other contender. */
const PAUSE_MS = 100;
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

async function race(adaptive: () => Promise<unknown>, fixed: () => Promise<unknown>, rounds: number) {
  const times: [number[], number[]] = [[], []];
  for (let round = -2; round < rounds; round++) {
    for (const [i, work] of [adaptive, fixed].entries()) {
      await pause();
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
export function spreadDepths(count: number, cap: number, mean: number): Int32Array {
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

/** Measurements as a table, and as bars of the time that fixed depth takes. */
export const depthBenchText = (rows: readonly DepthMeasurement[]): string => `${benchTable(rows)}\n\n${plot(rows)}`;

const rounded = (value: number, digits: number) => value.toFixed(digits);

function benchTable(rows: readonly DepthMeasurement[]): string {
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
