/** The search for the settings of a fine-tuning: a sweep over rates, batches and seeds, and what its trials came to epoch by epoch. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { reject } from "../base/errors.ts";
import { RandomStream } from "../base/random.ts";
import { type Spread, spreadOf } from "../base/spread.ts";
import { table } from "../base/table.ts";
import { writeAtomically } from "../files/atomic.ts";
import { readSealed } from "../runs/sealed.ts";
import type { Values } from "../runs/settings.ts";
import { differences } from "../runs/summary.ts";
import { RESULT_FILE, type TaskResult } from "../tasks/finetune/result.ts";
import type { GlueSettings } from "../tasks/finetune/settings.ts";
import type { GlueTask } from "../text/labelled/glue-tasks.ts";
import { type Session, type Stoppable, startSession } from "../train/session.ts";
import type { SweepEvent } from "./launcher.ts";
import { type SweepOptions, type SweepResult, sweeping } from "./sweep.ts";
import {
  byCandidate,
  divergedPath,
  namedFolder,
  openSweep,
  type SweepFolder,
  type SweepTrial,
} from "./sweep-folder.ts";
import type { SweepSpec } from "./sweep-plan.ts";
import { together, worldOf } from "./together.ts";

/** What the command line says about a search for settings. */
export interface SearchFlags {
  /** grid, random or halving. */
  readonly strategy: string;
  readonly rates?: readonly number[] | undefined;
  readonly batches?: readonly number[] | undefined;
  readonly trials?: number | undefined;
  readonly seeds?: number | undefined;
  readonly from?: string | undefined;
}

/** What differs between candidates. */
export interface Setting {
  readonly rate: number;
  readonly batch: number;
}

/** A setting, trained for `epochs` and looked at after `epoch` of them. */
export interface SearchRow extends Setting, Spread {
  readonly epochs: number;
  readonly epoch: number;
}

/** What a search for settings found. */
export interface SearchResult {
  readonly task: string;
  readonly metric: string;
  readonly trials: number;
  /** The longest trained first, of those the best mean. */
  readonly rows: readonly SearchRow[];
  /** The best row, and of its best seed the run and the step of its best checkpoint. */
  readonly best: SearchRow & { readonly run: string; readonly step: number };
  /** Trials that diverged. */
  readonly failed: readonly { readonly trial: string; readonly why: string }[];
}

/** The original's grid. */
const RATES = [5e-5, 3e-5, 2e-5];
const BATCHES = [16, 32];
const EPOCHS = 4;
const SEEDS = 5;
/** Tasks with so much text that one seed must do. */
const LARGE = new Set(["MNLI", "QNLI", "QQP"]);
const DRAWN = 8;
const STRATEGIES = ["grid", "random", "halving"];

/** The sweep of a search; `given` are the settings that hold for all trials, `settings` those with defaults. */
export function searchSpec(
  { name: glueTask, metrics }: GlueTask,
  settings: GlueSettings,
  flags: SearchFlags,
  given: Partial<GlueSettings>,
): SweepSpec {
  const taken = (["rate", "batch", "seed"] as const).find((key) => given[key] !== undefined);
  if (taken) {
    const remedy = `use --rates, --batches and --seeds`;
    reject({ who: "glue search", needed: "settings that hold for all trials", got: `--${taken}`, remedy }, 2);
  }
  const { strategy } = flags;
  if (!STRATEGIES.includes(strategy))
    reject({ who: "--strategy", needed: `one of ${STRATEGIES.join(", ")}`, got: strategy }, 2);
  const { rate: _, batch: __, seed: ___, keep, ...shared } = settings;
  const epochs = given.epochs ?? EPOCHS;
  const found = strategy === "grid" ? grid(flags) : drawn(flags);
  return {
    task: "finetune",
    glueTask,
    figure: metrics[0],
    ...(flags.from === undefined ? {} : { from: flags.from }),
    settings: { ...shared, epochs, ...(given.keep === undefined ? {} : { keep }) },
    candidates: Object.fromEntries(found.map((each) => [nameOf(each), { ...each }])),
    // Each round is half as long as the next, down to one epoch.
    ...(strategy === "halving" ? { strategy, rounds: Math.floor(Math.log2(epochs)) + 1 } : {}),
    seeds: flags.seeds ?? (LARGE.has(glueTask) ? 1 : SEEDS),
  };
}

const nameOf = ({ rate, batch }: Setting) => `rate ${rate} batch ${batch}`;

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

/** A search for settings, where it goes and how it is run. */
export interface GlueSearchOptions extends Stoppable {
  readonly spec: SweepSpec;
  /** The sweep's folder. */
  readonly into: string;
  /** Where trials run, as for `sweep`. Default: one at a time in a process here. */
  readonly on?: SweepOptions["on"];
}

/** How a search for settings ended, and what it found once all trials have. */
export interface GlueSearched extends Pick<SweepResult, "reason"> {
  readonly found: SearchResult | null;
}

const RESULTS_FILE = "results.json";

/** Fine-tunes with many settings and seeds, and picks the best by the mean over seeds. */
export function searchGlue({ spec, into, on, signal }: GlueSearchOptions): Session<SweepEvent, GlueSearched> {
  return startSession(async function* (stop) {
    return yield* together(await worldOf(on), {}, async function* () {
      await convertTrials(spec, into);
      const { reason } = yield* sweeping({ ...spec, into, on, spare: [RESULTS_FILE] }, stop);
      if (reason !== "finished") return { reason, found: null };
      const found = await conclude(await openSweep(into));
      await writeAtomically(join(into, RESULTS_FILE), `${JSON.stringify(found, null, 2)}\n`);
      return { reason, found };
    });
  }, signal);
}

interface Ended extends SweepTrial {
  readonly run: string;
  /** Absent of one that diverged. */
  readonly result?: TaskResult | undefined;
  readonly why?: string | undefined;
}

async function endOf({ path }: SweepFolder, trial: SweepTrial): Promise<Ended> {
  const [run, diverged] = [join(path, trial.folder), divergedPath(path, trial.index)];
  const read = async <T>(file: string) => readSealed(await readFile(file, "utf8"), file, `delete ${run}`).value as T;
  if (existsSync(diverged)) return { ...trial, run, ...(await read<{ why: string }>(diverged)) };
  return { ...trial, run, result: await read<TaskResult>(join(run, RESULT_FILE)) };
}

/** What trials say that have ended. Looked at are epochs from the second, as the original has it, of settings that were trained to the end. */
async function conclude(folder: SweepFolder): Promise<SearchResult> {
  const { spec, rounds } = folder.plan;
  const ended = await Promise.all(folder.trials.map((trial) => endOf(folder, trial)));
  const rows = byCandidate(ended).flatMap((trials) => rowsOf(trials, spec.figure, rounds > 1));
  rows.sort((a, b) => b.row.epochs - a.row.epochs || b.row.mean - a.row.mean);
  const failed = ended.flatMap(({ folder: trial, why }) => (why === undefined ? [] : [{ trial, why }]));
  const best = rows[0];
  if (!best) {
    const got = failed[0]?.why ?? "none";
    return reject({ who: folder.path, needed: "a setting that trains", got, remedy: "lower --rates" });
  }
  const { run, result } = best.trials[best.row.values.indexOf(Math.max(...best.row.values))]!;
  return {
    task: spec.glueTask!,
    metric: spec.figure,
    trials: ended.length,
    rows: rows.map(({ row }) => row),
    best: { ...best.row, run, step: result!.epochs[result!.best - 1]!.step },
    failed,
  };
}

/** A row per epoch of a setting, of halving for the last one; none where a seed of it diverged. */
function rowsOf(
  trials: readonly Ended[],
  metric: string,
  isLast: boolean,
): { row: SearchRow; trials: readonly Ended[] }[] {
  if (trials.some(({ result }) => result === undefined)) return [];
  const { rate, batch } = trials[0]!.values as unknown as Setting;
  const epochs = trials[0]!.result!.epochs.length;
  const from = isLast ? epochs : Math.min(2, epochs);
  return Array.from({ length: epochs - from + 1 }, (_, i) => {
    const values = trials.map(({ result }) => result!.epochs[from + i - 1]!.figures[metric]!);
    return { row: { rate, batch, epochs, epoch: from + i, ...spreadOf(values)! }, trials };
  });
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

const OLD_PLAN = "search.json";

/** What version 0.1.0 left of a search becomes the runs of a sweep; trials that had not ended begin again, as they did then. */
async function convertTrials(spec: SweepSpec, path: string): Promise<void> {
  const file = join(path, OLD_PLAN);
  if (!existsSync(file)) return;
  refuseOther(JSON.parse(await readFile(file, "utf8")) as OldPlan, spec, path);
  const { rounds = 1, settings } = spec;
  const [epochs, seeds] = [settings!.epochs as number, spec.seeds as number];
  for (const [name, own] of Object.entries(spec.candidates!)) {
    for (let round = 0; round < rounds; round++) {
      const length = Math.floor(epochs / 2 ** (rounds - 1 - round));
      for (let seed = 1; seed <= seeds; seed++) {
        const old = join(path, `rate-${own.rate}-batch-${own.batch}-epochs-${length}-seed-${seed}`);
        await moveTrial(old, join(path, namedFolder(name, seed, rounds > 1 ? round : undefined)));
      }
    }
  }
  for (const name of [OLD_PLAN, "settings.yaml", RESULTS_FILE]) await rm(join(path, name), { force: true });
}

/** What version 0.1.0 wrote of a search, as far as it says which one it is. */
interface OldPlan {
  readonly task: string;
  readonly strategy: string;
  readonly candidates: readonly Setting[];
  readonly epochs: number;
  readonly seeds: number;
  readonly from: string | null;
  readonly settings: Values;
}

function refuseOther(old: OldPlan, spec: SweepSpec, path: string): void {
  const { task, strategy, candidates, epochs, seeds, from, settings } = old;
  const shared = Object.keys(spec.settings!).filter((key) => key in settings && !["threads", "epochs"].includes(key));
  const pick = (values: Values) => Object.fromEntries(shared.map((key) => [key, values[key]]));
  const then = {
    ...{ task, halving: strategy === "halving", epochs, seeds, from, settings: pick(settings) },
    candidates: candidates.map(nameOf),
  };
  const now = {
    ...{ task: spec.glueTask, halving: spec.strategy === "halving", epochs: spec.settings!.epochs, seeds: spec.seeds },
    ...{ from: spec.from ?? null, settings: pick(spec.settings!), candidates: Object.keys(spec.candidates!) },
  };
  const other = [...differences([then, now]).keys()];
  if (other.length === 0) return;
  const remedy = "give the flags it was begun with, or another --out";
  reject({ who: path, needed: "the search it was begun with", got: `another ${other.join(", ")}`, remedy }, 2);
}

async function moveTrial(old: string, to: string): Promise<void> {
  const file = join(old, RESULT_FILE);
  if (!existsSync(old)) return;
  if (!existsSync(file) || (JSON.parse(await readFile(file, "utf8")) as TaskResult).failed !== undefined)
    return rm(old, { recursive: true });
  await mkdir(dirname(to), { recursive: true });
  await rename(old, to);
}
