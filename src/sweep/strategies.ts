/** The trials of a search: which settings there are, which wave comes when, and how settings compare by what their trials came to. */
import { reject } from "../base/errors.ts";
import { RandomStream } from "../base/random.ts";
import type { TaskResult } from "../tasks/finetune/result.ts";
import type { GlueSettings } from "../tasks/finetune/settings.ts";
import type { GlueTask } from "../text/labelled/glue-tasks.ts";
import { type Spread, spreadOf } from "./comparison.ts";

/** What the command line says about a search for settings. */
export interface SearchFlags {
  strategy: string;
  rates?: number[];
  batches?: number[];
  trials?: number;
  seeds?: number;
  parallel: number;
  from?: string;
}

/** What differs between candidates. */
export interface Setting {
  readonly rate: number;
  readonly batch: number;
}

/** One fine-tuning of a search. */
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

/** Results by the names of trials. */
export type Results = ReadonlyMap<string, TaskResult>;
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

/** Which trials come when. */
export const strategies = {
  grid: allAtOnce,
  random: allAtOnce,
  halving,
} as const satisfies Record<string, (plan: SearchPlan) => Waves>;
/** How candidates are tried: all, some drawn at random, or fewer and fewer for longer. */
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

/** The folder of a trial. */
export const trialName = ({ rate, batch, epochs, seed }: Trial) =>
  `rate-${rate}-batch-${batch}-epochs-${epochs}-seed-${seed}`;

/** A setting, trained for `epochs` and looked at after `epoch` of them. */
export interface SearchRow extends Setting, Spread {
  readonly epochs: number;
  readonly epoch: number;
}

/** No row where a trial of the setting diverged. */
export function rowOf(
  plan: SearchPlan,
  setting: Setting,
  epochs: number,
  epoch: number,
  results: Results,
): SearchRow[] {
  const values = trialsOf([setting], plan, epochs).flatMap((trial) => {
    return results.get(trialName(trial))?.epochs[epoch - 1]?.figures[plan.metric] ?? [];
  });
  return values.length < plan.seeds ? [] : [{ ...setting, epochs, epoch, ...spreadOf(values)! }];
}

/** Sorts the best mean first. */
export const byMean = (a: SearchRow, b: SearchRow) => b.mean - a.mean;
