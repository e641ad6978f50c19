/** Comparisons of models: a sweep over them and seeds, and what the finished runs say; the rows of sharing schedules. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../base/errors.ts";
import { type Spread, spreadOf } from "../base/spread.ts";
import { formatNumber, table } from "../base/table.ts";
import { parseDepth, printDepth } from "../depth/notation.ts";
import type { ShareMode } from "../depth/plan.ts";
import type { Engine } from "../engine/engine.ts";
import { flopsAtDepth, type ModelReport, reportOn } from "../model/report.ts";
import { RunFolder } from "../runs/folder.ts";
import type { SettingsSchema } from "../runs/settings.ts";
import { storedSettings } from "../runs/settings-file.ts";
import { median, type RunSummary, summarise } from "../runs/summary.ts";
import { modelOf, openLanguage } from "../tasks/language/job.ts";
import { languageSettings } from "../tasks/language/settings.ts";
import type { TrainConfig } from "../tasks/trained-job.ts";
import { translateSettings } from "../tasks/translate/settings.ts";
import { type Session, type Stoppable, startSession } from "../train/session.ts";
import { hereLauncher } from "./here.ts";
import type { SweepEvent } from "./launcher.ts";
import { type SweepOptions, type SweepResult, sweeping } from "./sweep.ts";
import { namedFolder } from "./sweep-folder.ts";
import { planSweep, type SweepSpec } from "./sweep-plan.ts";
import { together, worldOf } from "./together.ts";

/** A row of the table: a sharing schedule. */
export interface Contestant {
  readonly name: string;
  readonly unique: number;
  readonly depth: number;
  readonly share: ShareMode;
}

/** A row by its depth in words, such as `3*4 halt`; of translation, the depth of either side. */
export interface WrittenContestant {
  readonly name: string;
  /** docs/depth.md has the notation. */
  readonly depth: string;
}

/** A row of any table. */
export type AnyContestant = Contestant | WrittenContestant;

/** Rows of depths in words, called by what they are; refuses what is no depth, and one that is given twice. */
export function writtenRows(depths: readonly string[], who = "depths"): readonly WrittenContestant[] {
  if (depths.length === 0) reject({ who, needed: "a depth in words, such as 3*2", got: "none" }, 2);
  const printed = depths.map((text) => printDepth(parseDepth(text)));
  const twice = printed.find((depth, i) => printed.indexOf(depth) < i);
  if (twice !== undefined) reject({ who, needed: "each depth once", got: `${twice} twice` }, 2);
  return printed.map((depth) => ({ name: /^\d+$/.test(depth) ? `depth ${depth}` : depth, depth }));
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

/** The rows of these names, in the table's order; all where none are named. `rows`: of which table; default: sharing schedules. */
export function contestantsNamed(names: readonly string[] | undefined, who?: string): readonly Contestant[];
export function contestantsNamed<R extends AnyContestant>(
  names: readonly string[] | undefined,
  who: string,
  rows: readonly R[],
): readonly R[];
export function contestantsNamed(
  names: readonly string[] | undefined,
  who = "only",
  rows: readonly AnyContestant[] = contestants,
): readonly AnyContestant[] {
  const unknown = names?.find((name) => !rows.some((each) => each.name === name));
  if (unknown !== undefined) {
    reject({ who, needed: `some of ${rows.map(({ name }) => name).join(", ")}`, got: unknown }, 2);
  }
  return names ? rows.filter(({ name }) => names.includes(name)) : rows;
}

/** What a row stores and costs, and what came of it over seeds. */
export interface ResultFigures extends ModelReport {
  /** Median of the seeds. */
  readonly tokensPerSecond: number | null;
  /** Lowest validation perplexity of each seed. */
  readonly perplexity: Spread | null;
  readonly seconds: number | null;
  /** Blocks that tokens ran through in those evaluations, over the seeds; absent of sharing schedules, which have one depth. */
  readonly meanDepth?: number | null;
  /** Of a forward pass at that depth. */
  readonly meanFlopsPerToken?: number | null;
}

/** A row of a comparison: a model, and what came of it over seeds. */
export type Result<R extends AnyContestant = Contestant> = R & ResultFigures;

/** The run of a row and seed. */
const runOf = (folder: string, { name }: AnyContestant, seed: number) => join(folder, namedFolder(name, seed));

const isWritten = (row: AnyContestant): row is WrittenContestant => typeof row.depth === "string";

/** As settings keep it: the text as it is printed, or its number. */
function depthOf({ depth }: WrittenContestant): string | number {
  const printed = printDepth(parseDepth(depth));
  return /^\d+$/.test(printed) ? Number(printed) : printed;
}

/** The settings that are a row's own. */
function settingsOf(row: AnyContestant) {
  if (isWritten(row)) return { depth: depthOf(row) };
  const { unique, depth, share } = row;
  return { unique, depth, share };
}

/** All settings of a row's runs, but for the seed. */
const configOf = (settings: TrainConfig, row: AnyContestant) =>
  ({ ...settings, ...(isWritten(row) ? { unique: null } : {}), ...settingsOf(row) }) as TrainConfig;

/** What is compared, and where the runs go. */
export interface CompareOptions<R extends AnyContestant = Contestant> extends Stoppable {
  /** Settings that hold for all models. */
  readonly settings: TrainConfig;
  /** Default: the paper's rows at half its depth. `policies` are others. */
  readonly rows?: readonly R[] | undefined;
  /** Runs of each model, seeds 1 to n. */
  readonly seeds: number;
  /** The sweep's folder; runs that are there go on, or count as they are. */
  readonly folder: string;
  /** Where runs are made, as for `sweep`. Default: one after another in this process. */
  readonly on?: SweepOptions["on"];
}

/** The rows, as far as their runs are finished. */
export interface Comparison<R extends AnyContestant = Contestant> extends Pick<SweepResult, "reason" | "failed"> {
  readonly rows: readonly Result<R>[];
}

const PICTURE = "comparison.svg";

const rowsOf = <R extends AnyContestant>({ rows }: CompareOptions<R>): readonly R[] =>
  rows ?? (contestants as readonly AnyContestant[] as readonly R[]);

/** Trains models side by side, shared and unshared ones unless `rows` says otherwise: a sweep with a run per model and seed. */
export function compare<R extends AnyContestant = Contestant>(
  options: CompareOptions<R>,
): Session<SweepEvent, Comparison<R>> {
  const { on = hereLauncher() } = options;
  return startSession(async function* (signal) {
    return yield* together(await worldOf(on), {}, () => comparing({ ...options, on }, signal));
  }, options.signal);
}

async function* comparing<R extends AnyContestant>(
  options: CompareOptions<R>,
  signal: AbortSignal,
): AsyncGenerator<SweepEvent, Comparison<R>, void> {
  const { folder, on, settings, seeds } = options;
  const spec = specOf(options);
  await checkRows(options);
  await costsOf(configOf(settings, rowsOf(options)[0]!)); // mistakes in data show here
  for (const row of rowsOf(options)) {
    for (let seed = 1; seed <= seeds; seed++) {
      await refuseOther(runOf(folder, row, seed), { ...configOf(settings, row), seed });
    }
  }
  const { reason, failed } = yield* sweeping({ ...spec, into: folder, on, spare: [PICTURE] }, signal);
  return { reason, failed, rows: await figuresSoFar(options) };
}

/** The sweep of a comparison. */
function specOf<R extends AnyContestant>(options: CompareOptions<R>): SweepSpec {
  const { task, unique: _, depth: __, share: ___, seed: ____, ...shared } = options.settings;
  const candidates = Object.fromEntries(rowsOf(options).map((row) => [row.name, settingsOf(row)]));
  return { task, settings: shared, candidates, seeds: options.seeds };
}

/** Mistakes in the sizes or the depth of a row show before anything is opened. */
async function checkRows<R extends AnyContestant>(options: CompareOptions<R>): Promise<void> {
  const { translationModelOf } = await import("../tasks/translate/job.ts");
  for (const row of rowsOf(options)) {
    const config = configOf(options.settings, row);
    if (config.task === "translate") translationModelOf(config, 1);
    else modelOf(config, 1);
  }
}

/** What each model stores and costs, and what its finished runs say; nothing is trained. */
export async function figuresSoFar<R extends AnyContestant = Contestant>(
  options: CompareOptions<R>,
): Promise<Result<R>[]> {
  await planSweep(specOf(options), "compare"); // settings that do not go with a row are refused
  await checkRows(options);
  const results: Result<R>[] = [];
  for (const row of rowsOf(options)) results.push({ ...row, ...(await figuresOf(row, options)) });
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
async function figuresOf(
  row: AnyContestant,
  { folder, settings, seeds }: CompareOptions<AnyContestant>,
): Promise<ResultFigures> {
  const paths = Array.from({ length: seeds }, (_, i) => runOf(folder, row, i + 1));
  const runs: RunSummary[] = [];
  for (const path of paths) if (existsSync(join(path, "config.yaml"))) runs.push(await summarise(path));
  const finished = runs.filter(({ status }) => status === "finished");
  const costs = await costsOf(configOf(settings, row));
  return {
    ...costs.report,
    tokensPerSecond: median(finished.flatMap(({ tokensPerSecond }) => tokensPerSecond ?? [])),
    perplexity: spreadOf(finished.flatMap(({ best }) => best?.perplexity ?? [])),
    seconds: median(finished.flatMap(({ elapsedMs }) => (elapsedMs === null ? [] : elapsedMs / 1000))),
    ...(isWritten(row) ? meansOf(finished, costs) : {}),
  };
}

/** How deep tokens ran in the best evaluations. */
function meansOf(
  runs: readonly RunSummary[],
  { depthIn, flopsAt }: Costs,
): Required<Pick<ResultFigures, "meanDepth" | "meanFlopsPerToken">> {
  const depths = spreadOf(runs.flatMap(({ best }) => (best ? depthIn(best.scalars ?? {}) : [])));
  return { meanDepth: depths?.mean ?? null, meanFlopsPerToken: depths && flopsAt(depths.mean) };
}

/** What a model stores and costs; nothing of it runs. */
interface Costs {
  readonly report: ModelReport;
  /** Blocks that tokens ran through by the figures of an evaluation, of translation on both sides; all where they do not tell. */
  depthIn(figures: Readonly<Record<string, number>>): number;
  /** FLOPs per token where tokens run through so many blocks in the mean; null where it is not known. */
  flopsAt(depth: number): number | null;
}

async function costsOf(settings: TrainConfig): Promise<Costs> {
  const { length } = settings;
  if (settings.task === "translate") {
    const { openTranslate, translationReport } = await import("../tasks/translate/job.ts");
    const { model } = await openTranslate(settings, { engine: noEngine });
    const report = translationReport(model, length);
    return {
      report,
      depthIn: ({ encoderDepth = model.encoder.depth, decoderDepth = model.decoder.depth }) =>
        encoderDepth + decoderDepth,
      flopsAt: (depth) => (depth === report.executedDepth ? report.flopsPerToken : null),
    };
  }
  const { model } = await openLanguage(settings, { engine: noEngine });
  const report = reportOn(model, { length });
  return {
    report,
    depthIn: ({ depth = report.executedDepth }) => depth,
    flopsAt: (depth) => flopsAtDepth(model, { ...report, length, depth }),
  };
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
/** 41.5 ± 0.3; without a deviation where there is one seed. */
export const spreadText = ({ mean, deviation }: Spread) =>
  deviation === null ? formatNumber(mean, 2) : `${formatNumber(mean, 2)} ± ${formatNumber(deviation, 2)}`;

function tableRow({ name, parameters, executedDepth, ...rest }: Result) {
  return {
    model: name,
    "distinct parameters": million(parameters),
    "executed depth": executedDepth,
    "FLOPs/token": million(rest.flopsPerToken),
    "tokens/s": rest.tokensPerSecond === null ? null : formatNumber(rest.tokensPerSecond, 0),
    seconds: rest.seconds === null ? null : formatNumber(rest.seconds, 1),
    "valid perplexity": rest.perplexity && spreadText(rest.perplexity),
  };
}
