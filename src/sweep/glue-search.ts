/** The search for settings: runs the trials of a plan, in processes of their own, and says what they came to. */

import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { stringify } from "yaml";
import { reject } from "../base/errors.ts";
import type { ProgressOutput } from "../base/progress.ts";
import { scoreText } from "../base/scores.ts";
import { table } from "../base/table.ts";
import { writeAtomically } from "../files/atomic.ts";
import { lockHolder, takeLock } from "../files/lock.ts";
import { readSealed } from "../runs/sealed.ts";
import { RESULT_FILE, type TaskResult } from "../tasks/finetune/result.ts";
import { TrialTable, TrialWorker } from "./processes.ts";
import {
  byMean,
  type Results,
  rowOf,
  type SearchPlan,
  type SearchRow,
  strategies,
  type Trial,
  trialName,
} from "./strategies.ts";

/** What a search for settings found. */
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

/** How trials are run and shown. */
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
    const results = new Map<string, TaskResult>();
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

async function resultOf(folder: string, trial: Trial): Promise<TaskResult | undefined> {
  const path = join(folder, trialName(trial), RESULT_FILE);
  if (!existsSync(path)) return undefined;
  return readSealed(await readFile(path, "utf8"), path, "delete it: its trial is made again").value as TaskResult;
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
  const { defaultThreads } = await import("../engine/ort.ts");
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
      shown.finished(name, figure === undefined ? "diverged" : `${plan.metric} ${scoreText(figure)}`);
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

/** What a search found as a table: a row per setting, figures in percent. */
export function searchTable({ rows, metric }: SearchResult): string {
  const percent = (value: number | null) => (value === null ? null : (100 * value).toFixed(2));
  const lines = rows.map(({ rate, batch, epochs, epoch, mean, deviation, values }) => ({
    rate: rate.toExponential(),
    batch: `${batch}`,
    epoch: `${epoch} of ${epochs}`,
    [metric]: percent(mean),
    "±": percent(deviation),
    seeds: values.map(percent).join(" "),
  }));
  return table(lines);
}
