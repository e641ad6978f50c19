/** How well predictions agree with the truth: accuracy, F1, Matthews, R², Pearson and Spearman, as scikit-learn and SciPy count. */
import { rejectData } from "../../base/errors.ts";

/** A figure of guesses against the truth, both of one length. */
export type Metric = (truth: ArrayLike<number>, guess: ArrayLike<number>) => number;

const mean = (values: ArrayLike<number>) => Array.from(values).reduce((a, b) => a + b, 0) / values.length;

/** A quotient whose divisor is 0 where one side is constant: 0 says that nothing is known. */
const orZero = (part: number, whole: number) => (whole === 0 ? 0 : part / whole);

/** Part of the guesses that are right. */
export function accuracy(truth: ArrayLike<number>, guess: ArrayLike<number>): number {
  return mean(Array.from(truth, (value, i) => Number(value === guess[i])));
}

/** 2·TP / (2·TP + FP + FN) of class 1. */
export function f1(truth: ArrayLike<number>, guess: ArrayLike<number>): number {
  let [both, one] = [0, 0];
  for (let i = 0; i < truth.length; i++) {
    const found = Number(truth[i] === 1) + Number(guess[i] === 1);
    if (found === 2) both++;
    if (found === 1) one++;
  }
  return orZero(2 * both, 2 * both + one);
}

/** The correlation of two sides with any number of classes: (c·n − Σ tₖ·gₖ) / √((n² − Σ tₖ²)·(n² − Σ gₖ²)), c of n right. */
export function matthews(truth: ArrayLike<number>, guess: ArrayLike<number>): number {
  const n = truth.length;
  const right = accuracy(truth, guess) * n;
  const [t, g] = [countsOf(truth), countsOf(guess)];
  const dot = (a: Counts, b: Counts) =>
    [...a].reduce((total, [label, count]) => total + count * (b.get(label) ?? 0), 0);
  return orZero(right * n - dot(t, g), Math.sqrt((n * n - dot(t, t)) * (n * n - dot(g, g))));
}

type Counts = ReadonlyMap<number, number>;

function countsOf(labels: ArrayLike<number>): Counts {
  const counts = new Map<number, number>();
  for (const label of Array.from(labels)) counts.set(label, (counts.get(label) ?? 0) + 1);
  return counts;
}

/** Σ (x − x̄)(y − ȳ) / √(Σ (x − x̄)² · Σ (y − ȳ)²); 0 where a side is constant. */
export function pearson(truth: ArrayLike<number>, guess: ArrayLike<number>): number {
  const [x, y] = [truth, guess].map((side) => {
    const middle = mean(side);
    return Array.from(side, (value) => value - middle);
  }) as [number[], number[]];
  const dot = (a: readonly number[], b: readonly number[]) => a.reduce((total, value, i) => total + value * b[i]!, 0);
  return orZero(dot(x, y), Math.sqrt(dot(x, x)) * Math.sqrt(dot(y, y)));
}

/** 1 − Σ (x − y)² / Σ (x − x̄)²: 1 for perfect guesses, 0 for the mean, below 0 for worse; 0 where the truth is constant. */
export function r2(truth: ArrayLike<number>, guess: ArrayLike<number>): number {
  const middle = mean(truth);
  const [error, spread] = [(i: number) => truth[i]! - guess[i]!, (i: number) => truth[i]! - middle].map((off) =>
    Array.from(truth, (_, i) => off(i) ** 2).reduce((a, b) => a + b, 0),
  ) as [number, number];
  return spread === 0 ? 0 : 1 - error / spread;
}

/** Pearson's of the ranks. */
export function spearman(truth: ArrayLike<number>, guess: ArrayLike<number>): number {
  return pearson(ranks(truth), ranks(guess));
}

/** Ranks from 1; equal values share the mean of their ranks. */
export function ranks(values: ArrayLike<number>): Float64Array {
  const order = Array.from(values, (_, i) => i).sort((a, b) => values[a]! - values[b]!);
  const found = new Float64Array(values.length);
  for (let first = 0; first < order.length; ) {
    let end = first + 1;
    while (end < order.length && values[order[end]!] === values[order[first]!]) end++;
    for (let i = first; i < end; i++) found[order[i]!] = (first + 1 + end) / 2;
    first = end;
  }
  return found;
}

/** All metrics by name. */
export const metrics = { accuracy, f1, matthews, r2, pearson, spearman } as const satisfies Record<string, Metric>;
/** A metric by name. */
export type MetricName = keyof typeof metrics;

/** Several figures of one set of guesses. */
export function figuresOf(
  names: readonly MetricName[],
  truth: ArrayLike<number>,
  guess: ArrayLike<number>,
): Record<string, number> {
  if (truth.length === 0 || truth.length !== guess.length) {
    rejectData({ who: "metrics", needed: "one guess an example", got: `${guess.length} for ${truth.length}` });
  }
  return Object.fromEntries(names.map((name) => [name, metrics[name](truth, guess)]));
}
