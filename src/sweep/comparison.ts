/** The comparison of sharing schedules: which models, one run a model and seed, and what the finished runs say. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../base/errors.ts";
import { formatNumber, table } from "../base/table.ts";
import type { ShareMode } from "../depth/plan.ts";
import type { Engine } from "../engine/engine.ts";
import { type ModelReport, reportOn } from "../model/report.ts";
import { RunFolder } from "../runs/folder.ts";
import type { SettingsSchema } from "../runs/settings.ts";
import { storedSettings } from "../runs/settings-file.ts";
import { type RunSummary, summarise } from "../runs/summary.ts";
import { defaultEngine } from "../tasks/engine.ts";
import type { Handed, TaskEvent } from "../tasks/job.ts";
import { openJob } from "../tasks/jobs.ts";
import { openLanguage } from "../tasks/language/job.ts";
import { languageSettings } from "../tasks/language/settings.ts";
import { perform } from "../tasks/perform.ts";
import { Run } from "../tasks/run.ts";
import type { TrainConfig } from "../tasks/trained-job.ts";
import { translateSettings } from "../tasks/translate/settings.ts";
import { relayed, type Session, type Stoppable, startSession } from "../train/session.ts";

/** A row of the table. */
export interface Contestant {
  readonly name: string;
  readonly unique: number;
  readonly depth: number;
  readonly share: ShareMode;
}

const shared = (["sequence", "cycle", "cycle_rev"] as const).flatMap((share) =>
  [6, 9].map((depth): Contestant => ({ name: `${share} 3/${depth}`, unique: 3, depth, share })),
);

/** The paper's rows at half its depth: layers that own weights / layers that run. */
export const contestants: readonly Contestant[] = [
  { name: "vanilla 6/6", unique: 6, depth: 6, share: "cycle" },
  { name: "vanilla 3/3", unique: 3, depth: 3, share: "cycle" },
  { name: "universal 1/6", unique: 1, depth: 6, share: "cycle" },
  ...shared.filter(({ depth }) => depth === 6),
  ...shared.filter(({ depth }) => depth === 9),
];

/** The rows of these names, in the table's order; all where none are named. */
export function contestantsNamed(names: readonly string[] | undefined, who = "only"): readonly Contestant[] {
  const unknown = names?.find((name) => !contestants.some((each) => each.name === name));
  if (unknown !== undefined) {
    reject({ who, needed: `some of ${contestants.map(({ name }) => name).join(", ")}`, got: unknown }, 2);
  }
  return names ? contestants.filter(({ name }) => names.includes(name)) : contestants;
}

/** A mean over seeds and its deviation. */
export interface Spread {
  readonly mean: number;
  /** Of the sample; null where there is one seed. */
  readonly deviation: number | null;
  readonly values: readonly number[];
}

/** A row of a comparison: a plan, and what came of it over seeds. */
export interface Result extends Contestant, ModelReport {
  /** Median of the seeds. */
  readonly tokensPerSecond: number | null;
  /** Lowest validation perplexity of each seed. */
  readonly perplexity: Spread | null;
  readonly seconds: number | null;
}

/** Mean and deviation of the sample; null of none. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const squares = values.reduce((total, value) => total + (value - mean) ** 2, 0);
  return { mean, values, deviation: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : null };
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? null;

/** `vanilla 6/6`, seed 2 → `vanilla-6-6/seed-2`. */
function runPath(folder: string, { name }: Contestant, seed: number): string {
  return join(folder, name.replace(/[ /]/g, "-"), `seed-${seed}`);
}

function configFor(base: TrainConfig, { unique, depth, share }: Contestant, seed: number): TrainConfig {
  return { ...base, unique, depth, share, seed };
}

/** What is compared, and where the runs go. */
export interface CompareOptions extends Pick<Handed, "engine">, Stoppable {
  /** Settings that hold for all models. */
  readonly settings: TrainConfig;
  /** Default: the paper's rows at half its depth. */
  readonly rows?: readonly Contestant[] | undefined;
  /** Runs of each model, seeds 1 to n. */
  readonly seeds: number;
  /** Folder of the runs; those that are there go on, or count as they are. */
  readonly folder: string;
}

/** The rows, as far as their runs are finished. */
export interface Comparison {
  readonly reason: "finished" | "stopped";
  readonly rows: readonly Result[];
}

/** Trains shared and unshared models side by side, a run per model and seed, seed by seed, so that a table of fewer seeds is whole early. */
export function compare(options: CompareOptions): Session<TaskEvent, Comparison> {
  return startSession((signal) => comparing(options, signal), options.signal);
}

async function* comparing(options: CompareOptions, signal: AbortSignal): AsyncGenerator<TaskEvent, Comparison, void> {
  const { settings, rows = contestants, seeds, folder } = options;
  const engine = options.engine ?? (await defaultEngine(settings));
  let reason: Comparison["reason"] = "finished";
  for (const [seed, row] of turns(seeds, rows)) {
    yield { type: "note", text: `${row.name}, seed ${seed} of ${seeds}` };
    const done = yield* finishRun(runPath(folder, row, seed), configFor(settings, row, seed), engine, signal);
    if (done) continue;
    reason = "stopped";
    break;
  }
  return { reason, rows: await figuresSoFar(options) };
}

/** What each model stores and costs, and what its finished runs say; nothing is trained. */
export async function figuresSoFar({ settings, rows = contestants, seeds, folder }: CompareOptions): Promise<Result[]> {
  const results: Result[] = [];
  for (const row of rows) results.push(await resultOf(folder, row, settings, seeds));
  return results;
}

const turns = (seeds: number, rows: readonly Contestant[]) =>
  Array.from({ length: seeds }, (_, i) => rows.map((row) => [i + 1, row] as const)).flat();

/** Trains a run to its end, from the start or from where it was left; ends with true unless it was stopped. */
async function* finishRun(
  path: string,
  config: TrainConfig,
  engine: Engine,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, boolean, void> {
  if (existsSync(join(path, "config.yaml"))) await refuseOther(path, config);
  const session = existsSync(join(path, "config.yaml"))
    ? Run.resume(path, { engine, signal })
    : perform(await openJob(config, { engine }), { into: await Run.create(path), signal });
  const { reason } = (yield* relayed<TaskEvent, unknown>(session)) as { reason: string };
  return reason !== "stopped";
}

async function refuseOther(path: string, config: TrainConfig): Promise<void> {
  const { config: yaml } = await RunFolder.read(path);
  const schema: SettingsSchema = config.task === "translate" ? translateSettings : languageSettings;
  if (schema.yaml(storedSettings(schema, yaml, path)) === schema.yaml({ ...config })) return;
  reject(
    {
      who: "compare",
      needed: "runs with the same settings",
      got: `${path} with others`,
      remedy: "give the settings it was begun with, or another --out",
    },
    2,
  );
}

/** What the runs of a row say, as far as they are finished. */
async function resultOf(folder: string, row: Contestant, base: TrainConfig, seeds: number): Promise<Result> {
  const paths = Array.from({ length: seeds }, (_, i) => runPath(folder, row, i + 1));
  const runs: RunSummary[] = [];
  for (const path of paths) if (existsSync(join(path, "config.yaml"))) runs.push(await summarise(path));
  const finished = runs.filter(({ status }) => status === "finished");
  return {
    ...row,
    ...(await reportFor(configFor(base, row, 1))),
    tokensPerSecond: median(finished.flatMap(({ tokensPerSecond }) => tokensPerSecond ?? [])),
    perplexity: spreadOf(finished.flatMap(({ best }) => best?.perplexity ?? [])),
    seconds: median(finished.flatMap(({ elapsedMs }) => (elapsedMs === null ? [] : elapsedMs / 1000))),
  };
}

/** What a model stores and costs; nothing of it runs. */
async function reportFor(settings: TrainConfig): Promise<ModelReport> {
  if (settings.task === "translate") {
    const { openTranslate, translationReport } = await import("../tasks/translate/job.ts");
    return translationReport((await openTranslate(settings, { engine: noEngine })).model, settings.length);
  }
  const { model } = await openLanguage(settings, { engine: noEngine });
  return reportOn(model, { length: settings.length });
}

/** For jobs that are only looked at. */
const noEngine: Engine = {
  name: "none",
  threads: 0,
  device: "none",
  compile: () => Promise.reject(new Error("this job is only looked at")),
};

/** The rows of a comparison as a table: parameters, depth, FLOPs, measured time and perplexity side by side. */
export const comparisonTable = (rows: readonly Result[]): string => table(rows.map(tableRow));

const million = (n: number) => `${formatNumber(n / 1e6, 2)} M`;
const spread = ({ mean, deviation }: Spread) =>
  deviation === null ? formatNumber(mean, 2) : `${formatNumber(mean, 2)} ± ${formatNumber(deviation, 2)}`;

function tableRow({ name, parameters, executedDepth, ...rest }: Result) {
  return {
    model: name,
    "distinct parameters": million(parameters),
    "executed depth": executedDepth,
    "FLOPs/token": million(rest.flopsPerToken),
    "tokens/s": rest.tokensPerSecond === null ? null : formatNumber(rest.tokensPerSecond, 0),
    seconds: rest.seconds === null ? null : formatNumber(rest.seconds, 1),
    "valid perplexity": rest.perplexity && spread(rest.perplexity),
  };
}
