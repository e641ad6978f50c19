/** The search for settings: which trials there are, and what the finished ones say. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { stringify } from "yaml";
import { reject } from "../../base/errors.ts";
import type { ProgressOutput } from "../../base/progress.ts";
import { RandomStream } from "../../base/random.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { lockHolder, takeLock } from "../../files/lock.ts";
import type { GlueTask } from "../../text/glue-tasks.ts";
import { type Spread, spreadOf } from "../comparison.ts";
import { TrialTable, TrialWorker } from "./processes.ts";
import { type GlueResult, RESULT_FILE } from "./result.ts";
import type { GlueSettings } from "./settings.ts";

export interface SearchFlags {
  strategy: string;
  rates?: number[];
  batches?: number[];
  trials?: number;
  seeds?: number;
  parallel: number;
  from?: string;
}

export interface Setting {
  readonly rate: number;
  readonly batch: number;
}

export interface Trial extends Setting {
  readonly epochs: number;
  readonly seed: number;
}

/** All that decides the trials; plain JSON, kept in the folder. */
export interface SearchPlan {
  readonly task: string;
  readonly metric: string;
  readonly strategy: StrategyName;
  readonly candidates: readonly Setting[];
  /** Passes of the longest trials. */
  readonly epochs: number;
  readonly seeds: number;
  readonly from: string | null;
  readonly settings: GlueSettings;
}

type Results = ReadonlyMap<string, GlueResult>;
/** Gives trials wave by wave, and is told what came of all so far. */
type Waves = Generator<readonly Trial[], void, Results>;

/** The original's grid. */
const RATES = [5e-5, 3e-5, 2e-5];
const BATCHES = [16, 32];
const EPOCHS = 4;
const SEEDS = 5;
/** Tasks with so much text that one seed must do. */
const LARGE = new Set(["MNLI", "QNLI", "QQP"]);
const DRAWN = 8;

export const strategies = {
  grid: allAtOnce,
  random: allAtOnce,
  halving,
} as const satisfies Record<string, (plan: SearchPlan) => Waves>;
export type StrategyName = keyof typeof strategies;

const trialsOf = (settings: readonly Setting[], { seeds }: SearchPlan, epochs: number): Trial[] =>
  settings.flatMap((each) => Array.from({ length: seeds }, (_, i) => ({ ...each, epochs, seed: i + 1 })));

function* allAtOnce(plan: SearchPlan): Waves {
  yield trialsOf(plan.candidates, plan, plan.epochs);
}

/** Passes of each round: the longest, half of it, …, 1. */
export function rounds(epochs: number): number[] {
  const shorter = epochs > 1 ? rounds(Math.floor(epochs / 2)) : [];
  return [...shorter, epochs];
}

/** All candidates for a short while; the better half twice as long, and so on. Every round trains anew, with its own schedule. */
function* halving(plan: SearchPlan): Waves {
  let left = plan.candidates;
  for (const epochs of rounds(plan.epochs)) {
    const results = yield trialsOf(left, plan, epochs);
    const ranked = left.flatMap((setting) => rowOf(plan, setting, epochs, epochs, results)).sort(byMean);
    left = ranked.slice(0, Math.ceil(left.length / 2)).map(({ rate, batch }) => ({ rate, batch }));
  }
}

/** What is to be tried; `given` are the flags that hold for all trials. */
export function planSearch(
  task: GlueTask,
  settings: GlueSettings,
  flags: SearchFlags,
  given: Partial<GlueSettings>,
): SearchPlan {
  const taken = (["rate", "batch", "seed"] as const).find((key) => given[key] !== undefined);
  if (taken) {
    const remedy = `use --rates, --batches and --seeds`;
    reject({ who: "glue search", needed: "settings that hold for all trials", got: `--${taken}`, remedy }, 2);
  }
  const { strategy } = flags;
  if (!isStrategy(strategy)) {
    reject({ who: "--strategy", needed: `one of ${Object.keys(strategies).join(", ")}`, got: strategy }, 2);
  }
  return {
    task: task.name,
    metric: task.metrics[0]!,
    strategy,
    candidates: strategy === "grid" ? grid(flags) : drawn(flags),
    epochs: given.epochs ?? EPOCHS,
    seeds: flags.seeds ?? (LARGE.has(task.name) ? 1 : SEEDS),
    from: flags.from ?? null,
    settings,
  };
}

const isStrategy = (name: string): name is StrategyName => name in strategies;

function grid({ rates = RATES, batches = BATCHES }: SearchFlags): Setting[] {
  return rates.flatMap((rate) => batches.map((batch) => ({ rate, batch })));
}

/** Rates with an even logarithm between the lowest and the highest, to three digits. */
function drawn({ rates = RATES, batches = BATCHES, trials = DRAWN }: SearchFlags): Setting[] {
  const random = new RandomStream(1, "glue search");
  const [low, high] = [Math.log(Math.min(...rates)), Math.log(Math.max(...rates))];
  return Array.from({ length: trials }, () => {
    const rate = Number(Math.exp(low + (high - low) * random.uniform()).toPrecision(3));
    return { rate, batch: batches[random.integer(batches.length)]! };
  });
}

export const trialName = ({ rate, batch, epochs, seed }: Trial) =>
  `rate-${rate}-batch-${batch}-epochs-${epochs}-seed-${seed}`;

/** A setting, trained for `epochs` and looked at after `epoch` of them. */
export interface SearchRow extends Setting, Spread {
  readonly epochs: number;
  readonly epoch: number;
}

/** No row where a trial of the setting diverged. */
function rowOf(plan: SearchPlan, setting: Setting, epochs: number, epoch: number, results: Results): SearchRow[] {
  const values = trialsOf([setting], plan, epochs).flatMap((trial) => {
    return results.get(trialName(trial))?.epochs[epoch - 1]?.figures[plan.metric] ?? [];
  });
  return values.length < plan.seeds ? [] : [{ ...setting, epochs, epoch, ...spreadOf(values)! }];
}

const byMean = (a: SearchRow, b: SearchRow) => b.mean - a.mean;

export interface SearchResult {
  readonly task: string;
  readonly metric: string;
  readonly trials: number;
  /** The longest trained first, of those the best mean. */
  readonly rows: readonly SearchRow[];
  /** The best row, and of it the best seed's run and checkpoint. */
  readonly best: SearchRow & { readonly run: string; readonly step: number };
  /** Trials that diverged. */
  readonly failed: readonly { readonly trial: string; readonly why: string }[];
}

/** What finished trials say. Looked at are epochs from the second, as the original has it, of settings that were trained to the end. */
function conclude(plan: SearchPlan, trials: readonly Trial[], results: Results, folder: string): SearchResult {
  const reached = trials.filter(({ seed }) => seed === 1);
  const rows = reached.flatMap((trial) => {
    const from = plan.strategy === "halving" ? trial.epochs : Math.min(2, trial.epochs);
    const epochs = Array.from({ length: trial.epochs - from + 1 }, (_, i) => from + i);
    const { rate, batch } = trial;
    return epochs.flatMap((epoch) => rowOf(plan, { rate, batch }, trial.epochs, epoch, results));
  });
  rows.sort((a, b) => b.epochs - a.epochs || byMean(a, b));
  const failed = trials.flatMap((trial) => {
    const why = results.get(trialName(trial))?.failed;
    return why === undefined ? [] : [{ trial: trialName(trial), why }];
  });
  const best = rows[0];
  if (!best) {
    return reject({
      who: folder,
      needed: "a setting that trains",
      got: failed[0]?.why ?? "none",
      remedy: "lower --rates",
    });
  }
  const seed = best.values.indexOf(Math.max(...best.values)) + 1;
  const name = trialName({ ...best, seed });
  const { step } = results.get(name)!.epochs[best.epoch - 1]!;
  const { task, metric } = plan;
  return { task, metric, trials: trials.length, rows, best: { ...best, run: join(folder, name), step }, failed };
}

export interface SearchOptions {
  readonly parallel: number;
  readonly output: ProgressOutput;
}

const PLAN_FILE = "search.json";
const SETTINGS_FILE = "settings.yaml";
const RESULTS_FILE = "results.json";

/** Runs what is not finished yet, and concludes. The folder belongs to one search at a time. */
export async function runSearch(plan: SearchPlan, folder: string, options: SearchOptions): Promise<SearchResult> {
  await mkdir(folder, { recursive: true });
  const lock = takeLock(join(folder, "lock"));
  const shown = new TrialTable(options.output);
  try {
    await keepPlan(plan, folder);
    const waves = strategies[plan.strategy](plan);
    const trials: Trial[] = [];
    const results = new Map<string, GlueResult>();
    for (let wave = waves.next(); !wave.done; wave = waves.next(results)) {
      trials.push(...wave.value);
      await runWave(plan, wave.value, folder, shown, options);
      for (const trial of wave.value) results.set(trialName(trial), (await resultOf(folder, trial))!);
    }
    const found = conclude(plan, trials, results, folder);
    await writeAtomically(join(folder, RESULTS_FILE), `${JSON.stringify(found, null, 2)}\n`);
    return found;
  } finally {
    shown.wipe();
    lock.release();
  }
}

/** A folder goes on with the search it was begun with; threads may change. */
async function keepPlan(plan: SearchPlan, folder: string): Promise<void> {
  const path = join(folder, PLAN_FILE);
  const comparable = JSON.stringify({ ...plan, settings: { ...plan.settings, threads: null } });
  if (existsSync(path) && (await readFile(path, "utf8")) !== comparable) {
    const remedy = "give the flags it was begun with, or another --out";
    reject({ who: folder, needed: "the search it was begun with", got: "another", remedy }, 2);
  }
  await writeAtomically(path, comparable);
  await writeAtomically(join(folder, SETTINGS_FILE), stringify(plan.settings));
}

async function resultOf(folder: string, trial: Trial): Promise<GlueResult | undefined> {
  const path = join(folder, trialName(trial), RESULT_FILE);
  return existsSync(path) ? (JSON.parse(await readFile(path, "utf8")) as GlueResult) : undefined;
}

async function runWave(
  plan: SearchPlan,
  trials: readonly Trial[],
  folder: string,
  shown: TrialTable,
  { parallel }: SearchOptions,
): Promise<void> {
  const waiting: Trial[] = [];
  for (const trial of trials) if (!(await resultOf(folder, trial))) waiting.push(trial);
  shown.expect(trials.length, trials.length - waiting.length);
  const { defaultThreads } = await import("../../engine/ort.ts");
  const threads = Math.max(1, Math.floor((plan.settings.threads ?? defaultThreads()) / parallel));
  const workers = Array.from({ length: Math.min(parallel, waiting.length) }, () => {
    return new TrialWorker(workerArguments(plan, folder, threads));
  });
  const serve = async (worker: TrialWorker) => {
    for (let trial = waiting.shift(); trial; trial = waiting.shift()) {
      const name = trialName(trial);
      await clearAway(join(folder, name));
      shown.see(name);
      await worker.run({ ...trial, out: join(folder, name) }, (report) => shown.see(name, report));
      const figure = (await resultOf(folder, trial))!.epochs.at(-1)?.figures[plan.metric];
      shown.finished(name, figure === undefined ? "diverged" : `${plan.metric} ${(100 * figure).toFixed(2)}`);
    }
  };
  try {
    await Promise.all(workers.map(serve));
  } finally {
    for (const worker of workers) worker.end();
  }
}

function workerArguments(plan: SearchPlan, folder: string, threads: number): string[] {
  const origin = plan.from === null ? ["--scratch"] : ["--from", plan.from];
  return ["glue", plan.task, "--worker", ...origin, "--config", join(folder, SETTINGS_FILE), "--threads", `${threads}`];
}

const ORPHAN_MS = 20_000;

/** Removes what a stopped trial left; one whose search was killed just now is waited for. */
async function clearAway(path: string): Promise<void> {
  const lock = join(path, "lock");
  for (let waited = 0; waited < ORPHAN_MS && lockHolder(lock)?.live; waited += 100) await setTimeout(100);
  await rm(path, { recursive: true, force: true });
}

/** Rows of the table that a search ends with. */
export function searchRows({ rows, metric }: SearchResult) {
  const percent = (value: number | null) => (value === null ? null : (100 * value).toFixed(2));
  return rows.map(({ rate, batch, epochs, epoch, mean, deviation, values }) => ({
    rate: rate.toExponential(),
    batch: `${batch}`,
    epoch: `${epoch} of ${epochs}`,
    [metric]: percent(mean),
    "±": percent(deviation),
    seeds: values.map(percent).join(" "),
  }));
}
