/** A sweep is a folder: sweep.yaml says what is tried, trials/N.yaml the settings of a trial, runs/N is its run. */
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { reject } from "../base/errors.ts";
import { writeAtomically } from "../files/atomic.ts";
import { takeLock } from "../files/lock.ts";
import { LOCK_FILE } from "../runs/folder.ts";
import { readSealed, sealedJson } from "../runs/sealed.ts";
import { type Values, yamlText } from "../runs/settings.ts";
import { parseSettings, parseYaml } from "../runs/settings-file.ts";
import { differences, type RunSummary, summarise } from "../runs/summary.ts";
import type { Handed, TaskEvent } from "../tasks/job.ts";
import { Diverged } from "../train/diverged.ts";
import { relayed, type Session, type Stoppable, startSession } from "../train/session.ts";
import { type Spread, spreadOf } from "./comparison.ts";
import { carryOut } from "./orders.ts";
import { type CompleteSpec, orderOf, planSweep, type SweepPlan, type SweepSpec } from "./sweep-plan.ts";

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

const [SWEEP, ROUNDS, TRIALS] = ["sweep.yaml", "rounds.json", "trials"];
const settingsPath = (path: string, index: number) => join(path, TRIALS, `${index}.yaml`);

/** The lock of the process that has a trial, from before there is a run until after it. */
const lockPath = (path: string, index: number) => join(path, TRIALS, `${index}.lock`);

/** The locks of whoever has a trial: by this module, and of a run that is resumed on its own. */
export const trialLocks = (path: string, index: number): string[] => [
  lockPath(path, index),
  join(runPath(path, index), LOCK_FILE),
];

/** The file that says why a trial diverged. */
export const divergedPath = (path: string, index: number): string => join(path, TRIALS, `${index}.diverged.json`);

/** The run folder of a trial. */
export const runPath = (path: string, index: number): string => join(path, "runs", `${index}`);

/** The texts that make a folder in which a trial can be run: the sweep, its rounds, the trial's settings. */
export async function trialFiles(path: string, index: number): Promise<Record<string, string>> {
  const names = [SWEEP, ...(existsSync(join(path, ROUNDS)) ? [ROUNDS] : []), `${TRIALS}/${index}.yaml`];
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(path, name), "utf8")] as const)),
  );
}

/** Whether nothing is left to do. */
export const hasEnded = ({ status }: TrialState): boolean => status === "finished" || status === "diverged";

/** Makes the folder, or goes on with the same sweep. `below`: defaults for settings that the sweep leaves open, such as threads. */
export async function beginSweep(path: string, plan: SweepPlan, below: Values = {}): Promise<SweepFolder> {
  if (existsSync(join(path, SWEEP))) return sameSweep(await openSweep(path), plan);
  refuseOther(path);
  const first = plan.candidates.map((_, i) => i);
  const folder = { path, plan, trials: trialsOf(plan, [first]) };
  await writeTrials(folder, folder.trials, below);
  await writeAtomically(join(path, SWEEP), yamlText(given(plan.spec))); // last: it makes the folder a sweep
  return folder;
}

const given = (values: object): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));

/** Reads a sweep. */
export async function openSweep(path: string): Promise<SweepFolder> {
  const file = join(path, SWEEP);
  if (!existsSync(file)) {
    const got = existsSync(path) ? `no ${SWEEP} in it` : "no such folder";
    reject({ who: path, needed: "the folder of a sweep", got, remedy: "make one with layerwise sweep FILE.yaml" }, 2);
  }
  const plan = await planSweep(readSpec(await readFile(file, "utf8"), file), file);
  return { path, plan, trials: trialsOf(plan, await roundsOf(path, plan)) };
}

/** A sweep's file, not checked yet but for being YAML. */
export const readSpec = (yaml: string, source: string): SweepSpec =>
  given(parseYaml(yaml, source)) as unknown as SweepSpec;

/** The candidates of each round so far. */
async function roundsOf(path: string, plan: SweepPlan): Promise<readonly (readonly number[])[]> {
  const file = join(path, ROUNDS);
  if (!existsSync(file)) return [plan.candidates.map((_, i) => i)];
  const { value } = readSealed(await readFile(file, "utf8"), file, "delete it: the rounds are worked out again");
  return (value as { rounds: number[][] }).rounds;
}

function trialsOf({ spec, candidates }: SweepPlan, rounds: readonly (readonly number[])[]): SweepTrial[] {
  const flat = rounds.flatMap((each, round) =>
    each.flatMap((candidate) => spec.seeds.map((seed) => ({ candidate, round, seed, values: candidates[candidate]! }))),
  );
  return flat.map((trial, index) => ({ index, ...trial }));
}

async function writeTrials({ path, plan }: SweepFolder, trials: readonly SweepTrial[], below: Values): Promise<void> {
  await mkdir(join(path, TRIALS), { recursive: true });
  for (const { index, candidate, round, seed } of trials) {
    await writeAtomically(settingsPath(path, index), plan.schema.yaml(plan.settingsOf(candidate, round, seed, below)));
  }
}

function sameSweep(found: SweepFolder, { spec }: SweepPlan): SweepFolder {
  const other = [...differences([{ ...found.plan.spec }, { ...spec }])];
  if (other.length === 0) return found;
  const said = (side: 0 | 1) =>
    other.map(([key, values]) => `${key} ${JSON.stringify(values[side]) ?? "absent"}`).join(", ");
  const remedy = "give the file that it was begun with, or another --out";
  return reject({ who: found.path, needed: `the sweep it was begun with (${said(0)})`, got: said(1), remedy }, 2);
}

/** What a sweep that was killed before it had its file may have left. */
const isOwn = (name: string) => ["lock", TRIALS].includes(name) || /^\..*\.tmp$/.test(name);

function refuseOther(path: string): void {
  const found = existsSync(path) ? readdirSync(path).filter((name) => !isOwn(name)) : [];
  if (found.length === 0) return;
  reject(
    { who: path, needed: "an empty or new folder", got: found.slice(0, 3).join(", "), remedy: "choose another" },
    2,
  );
}

/** Who says how a run is; the default reads all its events. */
export type LookAtRun = (run: string) => Promise<Pick<RunSummary, "status" | "best" | "step">>;

/** How a trial is, from its run folder. */
export async function stateOf(
  { path, plan }: SweepFolder,
  trial: SweepTrial,
  look: LookAtRun = summarise,
): Promise<TrialState> {
  const run = runPath(path, trial.index);
  const none = { ...trial, run, figure: null, step: 0 };
  if (existsSync(divergedPath(path, trial.index))) return { ...none, status: "diverged" };
  if (!existsSync(join(run, "config.yaml"))) return { ...none, status: "waiting" };
  const { status, best, step } = await look(run);
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
  const groups = grouped(states);
  const rows = [...groups.values()].map((trials) => ({
    round: trials[0]!.round,
    values: trials[0]!.values,
    figure: spreadOf(trials.flatMap(({ figure }) => figure ?? [])),
    trials,
  }));
  const worth = (row: SweepRow) =>
    row.figure === null ? Infinity : plan.spec.goal === "lowest" ? row.figure.mean : -row.figure.mean;
  return rows.sort((a, b) => b.round - a.round || (worth(a) === worth(b) ? 0 : worth(a) - worth(b)));
}

const keyOf = ({ round, candidate }: SweepTrial) => `${round} ${candidate}`;

function grouped(states: readonly TrialState[]): Map<string, TrialState[]> {
  const groups = new Map<string, TrialState[]>();
  for (const state of states) groups.set(keyOf(state), [...(groups.get(keyOf(state)) ?? []), state]);
  return groups;
}

/** Adds the next round of halving: the better half of the last one. The same sweep where there is none. */
export async function nextRound(sweep: SweepFolder, below: Values): Promise<SweepFolder> {
  const { path, plan, trials } = sweep;
  const last = trials.at(-1)!.round;
  if (last + 1 === plan.rounds) return sweep;
  const rows = rowsOf(sweep, await statesOf(sweep)).filter(({ round }) => round === last);
  const ranked = rows.filter(({ figure }) => figure?.values.length === plan.spec.seeds.length);
  const kept = ranked.slice(0, Math.ceil(rows.length / 2)).map((row) => row.trials[0]!.candidate);
  if (kept.length === 0) return sweep;
  const rounds = [...(await roundsOf(path, plan)), kept.sort((a, b) => a - b)];
  const grown = { path, plan, trials: trialsOf(plan, rounds) };
  await writeTrials(grown, grown.trials.slice(trials.length), below);
  await writeAtomically(join(path, ROUNDS), sealedJson({ rounds }));
  return grown;
}

/** What a trial may be told. */
export interface TrialOptions extends Pick<Handed, "say">, Stoppable {
  /** Where the trial's settings leave them open. Default: as many as the machine has. */
  readonly threads?: number | undefined;
}

/** Runs one trial: begins it, goes on with it, or does nothing where it has ended. The run's lock keeps a second process out. */
export function runTrial(path: string, index: number, options: TrialOptions = {}): Session<TaskEvent, TrialState> {
  return startSession((signal) => trying(path, index, options, signal), options.signal);
}

async function* trying(
  path: string,
  index: number,
  { say = () => {}, threads }: TrialOptions,
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
    const { run, ...before } = await stateOf(sweep, trial);
    if (before.status !== "waiting") yield* relayed(await carryOut({ do: "resume", path: run }, signal, say));
    else {
      const file = settingsPath(path, index);
      const written = parseSettings(sweep.plan.schema, await readFile(file, "utf8"), file) as Values;
      const settings = threads === undefined || written.threads != null ? written : { ...written, threads };
      yield* relayed(await carryOut({ do: "begin", order: orderOf(sweep.plan, settings), into: run }, signal, say));
    }
  } catch (error) {
    if (!(error instanceof Diverged)) throw error;
    await writeAtomically(divergedPath(path, index), sealedJson({ why: error.message }));
  } finally {
    lock.release();
  }
  return stateOf(sweep, trial);
}
