/** A sweep is a folder: sweep.yaml says what is tried, trials/N.yaml the settings of a trial, runs/N is its run, or a folder named after the candidate. */
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join, sep } from "node:path";
import { reject } from "../base/errors.ts";
import { type Spread, spreadOf } from "../base/spread.ts";
import { writeAtomically } from "../files/atomic.ts";
import { lockHolder, takeLock } from "../files/lock.ts";
import { readText } from "../files/text.ts";
import { COSTS_FILE, LOCK_FILE } from "../runs/folder.ts";
import { readSealed, sealedJson } from "../runs/sealed.ts";
import { type Values, yamlText } from "../runs/settings.ts";
import { parseSettings, parseYaml } from "../runs/settings-file.ts";
import { differences, type RunSummary, summarise } from "../runs/summary.ts";
import type { TaskEvent } from "../tasks/job.ts";
import type { Given } from "../tasks/text-data.ts";
import { Diverged } from "../train/diverged.ts";
import { relayed, type Session, type Stoppable, startSession } from "../train/session.ts";
import { carryOut, type RunOrder, type SingleOrder } from "./orders.ts";
import {
  type CompleteSpec,
  folderName,
  orderOf,
  planSweep,
  type SweepPlan,
  type SweepSpec,
  variedKeys,
} from "./sweep-plan.ts";

/** One run of a sweep. */
export interface SweepTrial {
  /** From 0: what `layerwise trial DIR INDEX` takes. */
  readonly index: number;
  readonly candidate: number;
  /** From 0; only halving has several. */
  readonly round: number;
  readonly seed: number;
  /** The settings that vary. */
  readonly values: Values;
  /** Of the candidate; null where candidates have none. */
  readonly name: string | null;
  /** Of the run, within the sweep's folder. */
  readonly folder: string;
}

/** A sweep on disk. */
export interface SweepFolder {
  readonly path: string;
  readonly plan: SweepPlan;
  readonly trials: readonly SweepTrial[];
}

/** How a trial is; `diverged` ones have ended too, without a figure. */
export interface TrialState extends SweepTrial {
  readonly status: "waiting" | RunSummary["status"] | "diverged";
  readonly figure: number | null;
  /** The run folder. */
  readonly run: string;
  readonly step: number;
}

/** A candidate in a round, over its seeds. */
export interface SweepRow {
  readonly round: number;
  readonly name: string | null;
  readonly values: Values;
  /** Over the seeds that have finished. */
  readonly figure: Spread | null;
  readonly trials: readonly TrialState[];
}

/** What a sweep came to so far. */
export interface SweepTable {
  readonly path: string;
  readonly spec: CompleteSpec;
  /** The last round first, in it the best figure. */
  readonly rows: readonly SweepRow[];
  /** Of the last round, once a candidate has finished all its seeds. */
  readonly best: SweepRow | null;
}

/** The file that makes a folder a sweep. */
export const SWEEP_FILE = "sweep.yaml";
const [LIST, TRIALS] = ["trials.json", "trials"];
const settingsPath = (path: string, index: number) => join(path, TRIALS, `${index}.yaml`);

/** The lock of the process that has a trial, from before there is a run until after it. */
const lockPath = (path: string, index: number) => join(path, TRIALS, `${index}.lock`);

/** Where a trial is in its sweep. */
export type TrialPlace = Pick<SweepTrial, "index" | "folder">;

/** The locks of whoever has a trial: by this module, and of a run that is resumed on its own. */
export const trialLocks = (path: string, trial: TrialPlace): string[] => [
  lockPath(path, trial.index),
  join(runPath(path, trial), LOCK_FILE),
];

/** The file that says why a trial diverged. */
export const divergedPath = (path: string, index: number): string => join(path, TRIALS, `${index}.diverged.json`);

/** The run folder of a trial. */
export const runPath = (path: string, { folder }: Pick<SweepTrial, "folder">): string => join(path, folder);

/** The texts that make a folder in which a trial can be run: the sweep, its trials, latencies, the trial's settings. */
export async function trialFiles(path: string, index: number): Promise<Record<string, string>> {
  const optional = [LIST, COSTS_FILE].filter((name) => existsSync(join(path, name)));
  const names = [SWEEP_FILE, ...optional, `${TRIALS}/${index}.yaml`];
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(path, name), "utf8")] as const)),
  );
}

/** Whether nothing is left to do. */
export const hasEnded = ({ status }: TrialState): boolean => status === "finished" || status === "diverged";

/**
 * Makes the folder, or goes on with the same sweep; one with more seeds or named candidates grows. `below`: defaults for settings that the
 * sweep leaves open, such as threads. `spare`: what else the folder may hold.
 */
export async function beginSweep(
  path: string,
  plan: SweepPlan,
  below: Values = {},
  spare: readonly string[] = [],
): Promise<SweepFolder> {
  if (existsSync(join(path, SWEEP_FILE))) return grown(await openSweep(path), plan, below);
  const folder = { path, plan, trials: trialsOf(plan, placesOf(plan)) };
  refuseOther(folder, spare);
  const costs = await costsIn(plan.spec);
  await writeTrials(folder, folder.trials, below);
  if (costs !== undefined) await writeAtomically(join(path, COSTS_FILE), costs);
  await writeAtomically(join(path, SWEEP_FILE), yamlText(given(plan.spec))); // last: it makes the folder a sweep
  return folder;
}

/** The file of latencies that all trials go by: the folder has a copy. */
async function costsIn({ costs }: CompleteSpec): Promise<string | undefined> {
  if (costs === null) return undefined;
  const { readCosts } = await import("../tasks/search/known-costs.ts");
  return sealedJson(await readCosts(costs));
}

/** What a file says: neither nothing nor empty settings. */
const given = (values: object): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && JSON.stringify(value) !== "{}"));

/** Reads a sweep. */
export async function openSweep(path: string): Promise<SweepFolder> {
  const file = join(path, SWEEP_FILE);
  if (!existsSync(file)) {
    const got = existsSync(path) ? `no ${SWEEP_FILE} in it` : "no such folder";
    reject({ who: path, needed: "the folder of a sweep", got, remedy: "make one with layerwise sweep FILE.yaml" }, 2);
  }
  const plan = await planSweep(readSpec(await readFile(file, "utf8"), file), file);
  return { path, plan, trials: trialsOf(plan, (await keptPlaces(path, plan)) ?? placesOf(plan)) };
}

/** A sweep's file, not checked yet but for being YAML. */
export const readSpec = (yaml: string, source: string): SweepSpec => readable(parseYaml(yaml, source));

/** The same of a file by name. */
export const readSpecFile = async (file: string): Promise<SweepSpec> => readSpec(await readText(file, "sweep"), file);

const readable = (values: object): SweepSpec => given(values) as unknown as SweepSpec;

/** What a trial is: candidate, round and seed. */
type Place = readonly [candidate: number, round: number, seed: number];

/** The trials with which a sweep begins. */
const placesOf = ({ candidates, spec }: SweepPlan): Place[] =>
  candidates.flatMap((_, candidate) => spec.seeds.map((seed): Place => [candidate, 0, seed]));

/** The trials of a sweep that has grown, in the order of their indices; without those of a growth that was cut short. */
async function keptPlaces(path: string, { candidates, spec }: SweepPlan): Promise<Place[] | undefined> {
  const file = join(path, LIST);
  if (!existsSync(file)) return undefined;
  const { value } = readSealed(await readFile(file, "utf8"), file, "delete it: the trials are worked out again");
  const { trials } = value as { trials: Place[] };
  return trials.filter(([candidate, , seed]) => candidate < candidates.length && spec.seeds.includes(seed));
}

const trialsOf = (plan: SweepPlan, places: readonly Place[]): SweepTrial[] =>
  places.map((place, index) => {
    const [candidate, round, seed] = place;
    const name = plan.names[candidate] ?? null;
    return {
      index,
      candidate,
      round,
      seed,
      values: plan.candidates[candidate]!,
      name,
      folder: folderOf(plan, place, index),
    };
  });

/** Named candidates, and seeds where nothing else varies, have folders that people can read. */
function folderOf({ names, spec, rounds }: SweepPlan, [candidate, round, seed]: Place, index: number): string {
  if (variedKeys(spec).length === 0) return `seed-${seed}`;
  if (names.length === 0) return join("runs", `${index}`);
  return namedFolder(names[candidate]!, seed, rounds > 1 ? round : undefined);
}

/** The folder of a named candidate's run: `vanilla 6/6`, seed 2 → `vanilla-6-6/seed-2`. */
export const namedFolder = (name: string, seed: number, round?: number): string =>
  join(folderName(name), ...(round === undefined ? [] : [`round-${round + 1}`]), `seed-${seed}`);

async function writeTrials({ path, plan }: SweepFolder, trials: readonly SweepTrial[], below: Values): Promise<void> {
  await mkdir(join(path, TRIALS), { recursive: true });
  for (const { index, candidate, round, seed } of trials) {
    await writeAtomically(settingsPath(path, index), plan.schema.yaml(plan.settingsOf(candidate, round, seed, below)));
  }
}

/** The folder with more trials than it has. */
async function extended(sweep: SweepFolder, places: readonly Place[], below: Values): Promise<SweepFolder> {
  const all = [...sweep.trials.map(({ candidate, round, seed }): Place => [candidate, round, seed]), ...places];
  const folder = { ...sweep, trials: trialsOf(sweep.plan, all) };
  await writeTrials(folder, folder.trials.slice(sweep.trials.length), below);
  await writeAtomically(join(sweep.path, LIST), sealedJson({ trials: all }));
  return folder;
}

/** The same sweep, with the seeds and named candidates that it did not have. */
async function grown(found: SweepFolder, asked: SweepPlan, below: Values): Promise<SweepFolder> {
  const [own, other] = [found.plan.spec, asked.spec];
  refuseDifferent(found, asked);
  const seeds = [...new Set([...own.seeds, ...other.seeds])];
  const plan = await planSweep(readable({ ...own, seeds, candidates: { ...own.candidates, ...other.candidates } }));
  const known = new Set(found.trials.map(({ candidate, seed }) => `${candidate} ${seed}`));
  const missing = placesOf(plan).filter(([candidate, , seed]) => !known.has(`${candidate} ${seed}`));
  if (missing.length === 0) return found;
  const folder = await extended({ ...found, plan }, missing, below);
  await writeAtomically(join(found.path, SWEEP_FILE), yamlText(given(plan.spec)));
  return folder;
}

function refuseDifferent({ path, plan }: SweepFolder, asked: SweepPlan): void {
  const other = [...differences([comparable(plan, asked), comparable(asked, plan)])];
  if (other.length === 0) return;
  const said = (side: 0 | 1) =>
    other.map(([key, values]) => `${key} ${JSON.stringify(values[side]) ?? "absent"}`).join(", ");
  const remedy = "give the file that it was begun with, or another --out";
  reject({ who: path, needed: `the sweep it was begun with (${said(0)})`, got: said(1), remedy }, 2);
}

/** What two sweeps of one folder must have in common: all but seeds and the names that one of them lacks, unless candidates are halved. */
function comparable({ spec, schema, names, rounds }: SweepPlan, other: SweepPlan): Values {
  const { preset, settings: own, seeds, candidates, ...rest } = spec;
  const layers = [...(preset === null ? [] : [schema.preset(preset)]), { source: "settings", values: own }];
  const settings = { ...schema.defaults, ...schema.merge(layers) };
  if (rounds > 1) return { ...rest, settings, seeds, candidates };
  const shared = names.filter((name) => other.names.includes(name)).map((name) => [name, candidates[name]]);
  return { ...rest, settings, named: names.length > 0, candidates: Object.fromEntries(shared) };
}

/** Whether a trial of the folder is one of a sweep that may ask for fewer than there are. */
export const isTrialOf = ({ spec }: SweepPlan, { name, seed }: SweepTrial): boolean =>
  spec.seeds.includes(seed) && (name === null || name in spec.candidates);

/** What a sweep that was killed before it had its file may have left, and runs of its own from before it was one. */
function refuseOther({ path, trials }: SweepFolder, spare: readonly string[]): void {
  const own = trials.map(({ folder }) => folder.split(sep)[0]!).filter((name) => name !== "runs");
  const expected = new Set(["lock", TRIALS, COSTS_FILE, ...spare, ...own]);
  const isOwn = (name: string) => expected.has(name) || /^\..*\.tmp$/.test(name);
  const found = existsSync(path) ? readdirSync(path).filter((name) => !isOwn(name)) : [];
  if (found.length === 0) return;
  reject(
    { who: path, needed: "an empty or new folder", got: found.slice(0, 3).join(", "), remedy: "choose another" },
    2,
  );
}

/** Who says how a run is; the default reads all its events. */
export type LookAtRun = (run: string) => Promise<Pick<RunSummary, "status" | "best" | "step">>;

/** What a run of some tasks keeps after its last event. */
const results: Readonly<Record<string, string>> = {
  search: "architecture.json",
  retrain: "retrain.json",
  finetune: "result.json",
};

/** Whether a run whose training is over has its result, too: one that was killed in between goes on to it. */
const isConcluded = ({ spec: { task } }: SweepPlan, run: string) =>
  results[task] === undefined || existsSync(join(run, results[task]));

/** How a trial is, from its run folder. */
export async function stateOf(
  { path, plan }: SweepFolder,
  trial: SweepTrial,
  look: LookAtRun = summarise,
): Promise<TrialState> {
  const run = runPath(path, trial);
  const none = { ...trial, run, figure: null, step: 0 };
  if (existsSync(divergedPath(path, trial.index))) return { ...none, status: "diverged" };
  if (!existsSync(join(run, "config.yaml"))) return { ...none, status: "waiting" };
  const { status: said, best, step } = await look(run);
  const status = said === "finished" && !isConcluded(plan, run) ? "killed" : said;
  return { ...none, status, step, figure: status === "finished" ? figureIn(best, plan.spec.figure) : null };
}

function figureIn(best: RunSummary["best"], name: string): number | null {
  const found = (best as Values | null)?.[name] ?? best?.scalars?.[name];
  return typeof found === "number" ? found : null;
}

/** How all trials are. */
export function statesOf(sweep: SweepFolder, look?: LookAtRun): Promise<TrialState[]> {
  return Promise.all(sweep.trials.map((trial) => stateOf(sweep, trial, look)));
}

/** What the runs of a sweep say; `look` for who knows them already. */
export async function readSweep(path: string, look?: LookAtRun): Promise<SweepTable> {
  const sweep = await openSweep(path);
  const { spec } = sweep.plan;
  const rows = rowsOf(sweep, await statesOf(sweep, look));
  const last = sweep.plan.rounds - 1;
  const best = rows.find(({ round, figure }) => round === last && figure?.values.length === spec.seeds.length);
  return { path, spec, rows, best: best ?? null };
}

function rowsOf({ plan }: SweepFolder, states: readonly TrialState[]): SweepRow[] {
  const rows = byCandidate(states).map((trials) => ({
    round: trials[0]!.round,
    name: trials[0]!.name,
    values: trials[0]!.values,
    figure: spreadOf(trials.flatMap(({ figure }) => figure ?? [])),
    trials,
  }));
  const worth = (row: SweepRow) =>
    row.figure === null ? Infinity : plan.spec.goal === "lowest" ? row.figure.mean : -row.figure.mean;
  return rows.sort((a, b) => b.round - a.round || (worth(a) === worth(b) ? 0 : worth(a) - worth(b)));
}

/** Trials that differ in nothing but their seed, together. */
export function byCandidate<T extends SweepTrial>(trials: readonly T[]): T[][] {
  const groups = new Map<string, T[]>();
  for (const trial of trials) {
    const key = `${trial.round} ${trial.candidate}`;
    groups.set(key, [...(groups.get(key) ?? []), trial]);
  }
  return [...groups.values()];
}

/** Adds the next round of halving: the better half of the last one. The same sweep where there is none. */
export async function nextRound(sweep: SweepFolder, below: Values): Promise<SweepFolder> {
  const { plan, trials } = sweep;
  const last = trials.at(-1)!.round;
  if (last + 1 === plan.rounds) return sweep;
  const rows = rowsOf(sweep, await statesOf(sweep)).filter(({ round }) => round === last);
  const ranked = rows.filter(({ figure }) => figure?.values.length === plan.spec.seeds.length);
  const kept = ranked.slice(0, Math.ceil(rows.length / 2)).map((row) => row.trials[0]!.candidate);
  if (kept.length === 0) return sweep;
  kept.sort((a, b) => a - b);
  const places = kept.flatMap((candidate) => plan.spec.seeds.map((seed): Place => [candidate, last + 1, seed]));
  return extended(sweep, places, below);
}

/** Clears away what killed processes left: locks of trials that have ended, which nobody opens again, and temporary files beside the settings. */
export async function clearSweep(sweep: SweepFolder): Promise<void> {
  const folder = join(sweep.path, TRIALS);
  for (const name of await readdir(folder)) if (/^\..*\.tmp$/.test(name)) await rm(join(folder, name), { force: true });
  for (const trial of (await statesOf(sweep)).filter(hasEnded)) {
    for (const path of trialLocks(sweep.path, trial)) if (lockHolder(path)?.live === false) takeLock(path).release();
  }
}

/** What a trial may be told. */
export interface TrialOptions extends Given, Stoppable {
  /** Where the trial's settings leave them open. Default: as many as the machine has. */
  readonly threads?: number | undefined;
  /** Told what is begun, or gone on with, before it is. */
  readonly onOrder?: ((order: RunOrder<SingleOrder>) => Promise<unknown>) | undefined;
}

/** Runs one trial: begins it, goes on with it, or does nothing where it has ended. The run's lock keeps a second process out. */
export function runTrial(path: string, index: number, options: TrialOptions = {}): Session<TaskEvent, TrialState> {
  return startSession((signal) => trying(path, index, options, signal), options.signal);
}

async function* trying(
  path: string,
  index: number,
  { signal: _, threads, onOrder, ...given }: TrialOptions,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, TrialState, void> {
  const sweep = await openSweep(path);
  const trial = sweep.trials[index];
  if (!trial)
    return reject(
      { who: `${path} / trial`, needed: `an index from 0 to ${sweep.trials.length - 1}`, got: `${index}` },
      2,
    );
  if (hasEnded(await stateOf(sweep, trial)) || signal.aborted) return stateOf(sweep, trial);
  const lock = takeLock(lockPath(path, index));
  try {
    const order = await trialOrder(sweep, trial, threads);
    await onOrder?.(order);
    yield* relayed(await carryOut(order, signal, given));
  } catch (error) {
    if (!(error instanceof Diverged)) throw error;
    await writeAtomically(divergedPath(path, index), sealedJson({ why: error.message }));
  } finally {
    lock.release();
  }
  return stateOf(sweep, trial);
}

/** What a trial that has not ended comes to: its run is begun, or gone on with. */
async function trialOrder(sweep: SweepFolder, trial: SweepTrial, threads?: number): Promise<RunOrder<SingleOrder>> {
  const { run, status } = await stateOf(sweep, trial);
  if (status !== "waiting") return { do: "resume", path: run };
  const file = settingsPath(sweep.path, trial.index);
  const written = parseSettings(sweep.plan.schema, await readFile(file, "utf8"), file) as Values;
  const settings = threads === undefined || written.threads != null ? written : { ...written, threads };
  const costs = join(sweep.path, COSTS_FILE);
  const order = orderOf(sweep.plan, settings, existsSync(costs) ? costs : undefined);
  return { do: "begin", order, into: run };
}
