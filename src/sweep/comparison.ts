/** The comparison of sharing schedules: which models, a sweep over them and seeds, and what the finished runs say. */

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
import { median, type RunSummary, summarise } from "../runs/summary.ts";
import { openLanguage } from "../tasks/language/job.ts";
import { languageSettings } from "../tasks/language/settings.ts";
import type { TrainConfig } from "../tasks/trained-job.ts";
import { translateSettings } from "../tasks/translate/settings.ts";
import { type Session, type Stoppable, startSession } from "../train/session.ts";
import { hereLauncher } from "./here.ts";
import type { SweepEvent } from "./launcher.ts";
import { type Spread, spreadOf } from "./spread.ts";
import { type SweepOptions, type SweepResult, sweeping } from "./sweep.ts";
import { namedFolder } from "./sweep-folder.ts";
import type { SweepSpec } from "./sweep-plan.ts";
import { together, worldOf } from "./together.ts";

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

/** A row of a comparison: a plan, and what came of it over seeds. */
export interface Result extends Contestant, ModelReport {
  /** Median of the seeds. */
  readonly tokensPerSecond: number | null;
  /** Lowest validation perplexity of each seed. */
  readonly perplexity: Spread | null;
  readonly seconds: number | null;
}

/** The run of a row and seed. */
const runOf = (folder: string, { name }: Contestant, seed: number) => join(folder, namedFolder(name, seed));

const settingsOf = ({ unique, depth, share }: Contestant) => ({ unique, depth, share });

/** What is compared, and where the runs go. */
export interface CompareOptions extends Stoppable {
  /** Settings that hold for all models. */
  readonly settings: TrainConfig;
  /** Default: the paper's rows at half its depth. */
  readonly rows?: readonly Contestant[] | undefined;
  /** Runs of each model, seeds 1 to n. */
  readonly seeds: number;
  /** The sweep's folder; runs that are there go on, or count as they are. */
  readonly folder: string;
  /** Where runs are made, as for `sweep`. Default: one after another in this process. */
  readonly on?: SweepOptions["on"];
}

/** The rows, as far as their runs are finished. */
export interface Comparison extends Pick<SweepResult, "reason" | "failed"> {
  readonly rows: readonly Result[];
}

const PICTURE = "comparison.svg";

/** Trains shared and unshared models side by side: a sweep with a run per model and seed. */
export function compare(options: CompareOptions): Session<SweepEvent, Comparison> {
  const { on = hereLauncher() } = options;
  return startSession(async function* (signal) {
    return yield* together(await worldOf(on), {}, () => comparing({ ...options, on }, signal));
  }, options.signal);
}

async function* comparing(options: CompareOptions, signal: AbortSignal): AsyncGenerator<SweepEvent, Comparison, void> {
  const { folder, on } = options;
  const spec = await specOf(options);
  const { reason, failed } = yield* sweeping({ ...spec, into: folder, on, spare: [PICTURE] }, signal);
  return { reason, failed, rows: await figuresSoFar(options) };
}

/** The sweep of a comparison; mistakes in its settings, and runs in its folder with others, show here. */
async function specOf({ settings, rows = contestants, seeds, folder }: CompareOptions): Promise<SweepSpec> {
  await reportFor({ ...settings, ...settingsOf(rows[0]!) });
  const { task, unique: _, depth: __, share: ___, seed: ____, ...shared } = settings;
  for (const row of rows) {
    for (let seed = 1; seed <= seeds; seed++) {
      await refuseOther(runOf(folder, row, seed), { ...settings, ...settingsOf(row), seed });
    }
  }
  const candidates = Object.fromEntries(rows.map((row) => [row.name, settingsOf(row)]));
  return { task, settings: shared, candidates, seeds };
}

/** What each model stores and costs, and what its finished runs say; nothing is trained. */
export async function figuresSoFar({ settings, rows = contestants, seeds, folder }: CompareOptions): Promise<Result[]> {
  const results: Result[] = [];
  for (const row of rows) results.push(await resultOf(folder, row, settings, seeds));
  return results;
}

async function refuseOther(path: string, config: TrainConfig): Promise<void> {
  if (!existsSync(join(path, "config.yaml"))) return;
  const { config: yaml } = await RunFolder.read(path);
  const schema: SettingsSchema = config.task === "translate" ? translateSettings : languageSettings;
  const stored = storedSettings(schema, yaml, path) as TrainConfig;
  const threads = config.threads ?? stored.threads; // those of the launcher, where nobody asked for a number
  if (schema.yaml({ ...stored }) === schema.yaml({ ...config, threads })) return;
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
  const paths = Array.from({ length: seeds }, (_, i) => runOf(folder, row, i + 1));
  const runs: RunSummary[] = [];
  for (const path of paths) if (existsSync(join(path, "config.yaml"))) runs.push(await summarise(path));
  const finished = runs.filter(({ status }) => status === "finished");
  return {
    ...row,
    ...(await reportFor({ ...base, ...settingsOf(row) })),
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
