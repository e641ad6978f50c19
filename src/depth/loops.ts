/** How many loops run at each update of training: a fixed count, one that grows, or one that is drawn. */
import { check, checkOptions, number, type Rules, required, whole } from "../base/options.ts";
import { RandomStream } from "../base/random.ts";
import type { Course } from "./policy.ts";

/** A count of loops that changes while a model is trained. The draws depend on seed and update only, so a resumed run repeats them. */
export interface Loops {
  /** The largest count: so many loops are unrolled. */
  most: number;
  /** Where given, the count is drawn at every update: 1 + Poisson(mean − 1), at most `most`. Left out: every update runs `most`. */
  mean?: number | undefined;
  /** Deviation of the logarithm of the Poisson's rate: above 0 its tail is heavier (log-normal Poisson). Default: 0. */
  spread?: number | undefined;
  /** Of the draws. Default: 1. */
  seed?: number | undefined;
  /** Progressive depth: the count, or its mean, at the first update. */
  from?: number | undefined;
  /** Updates over which it grows from there; below 1 a fraction of all updates. Default: 0.5. */
  over?: number | undefined;
}

const rules: Rules<Loops> = {
  most: required(whole(1)),
  mean: number({ from: 1 }),
  spread: number({ from: 0 }),
  seed: whole(),
  from: number({ from: 1 }),
  over: number({ above: 0 }),
};

/** Refuses options that are unknown or out of range, and means that no draw could have. */
export function checkLoops(who: string, loops: Loops): void {
  checkOptions(who, loops, rules);
  checkAtMost(`${who} / mean`, loops.mean, loops.most);
  checkAtMost(`${who} / from`, loops.from, loops.most);
}

/** Refuses more loops than there are. */
export function checkAtMost(who: string, got: number | undefined, most: number): void {
  if (got !== undefined) check(who, got, number({ from: 1, to: most }));
}

/** A value that grows evenly from one to another, over so many updates or a fraction of all of them. */
export function growing(from: number, to: number, over: number): Course {
  return (step, total) => from + (to - from) * Math.min(1, step / (over < 1 ? over * total : over));
}

/** Count of loops at an update. */
export function loopCourse({ most, mean, spread = 0, seed = 1, from, over = 0.5 }: Loops): Course {
  const goal = mean ?? most;
  const level = from === undefined ? () => goal : growing(from, goal, over);
  return (step, total) => {
    const now = level(step, total);
    const count =
      mean === undefined ? Math.round(now) : drawnCount(now, spread, new RandomStream(seed, `loops ${step}`));
    return Math.min(most, count);
  };
}

/** 1 + Poisson(mean − 1); with spread σ the rate is (mean − 1) · exp(σz − σ²/2), which has the same mean. */
function drawnCount(mean: number, spread: number, random: RandomStream): number {
  const rate = (mean - 1) * (spread === 0 ? 1 : Math.exp(spread * random.normal() - spread ** 2 / 2));
  return 1 + poisson(rate, random.uniform());
}

/** The smallest n at which P(N ≤ n) exceeds u. */
function poisson(rate: number, u: number): number {
  let [n, p] = [0, Math.exp(-rate)];
  for (let below = p; below <= u && p > 0; below += p) p *= rate / ++n;
  return n;
}
