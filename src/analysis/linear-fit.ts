/** Linear maps from vectors to labels, with a penalty on their size; how large it is to be, rows that were left out say. */
import { reject } from "../base/errors.ts";

/** What is guessed: one of several classes, each of several by itself, or numbers. */
export type LinearKind = "single" | "multiple" | "regression";

/** Rows to learn from. */
export interface LinearData {
  readonly vectors: readonly ArrayLike<number>[];
  /** A number per output and row: 1 for a class that is right and 0 for others, or what is to be guessed. */
  readonly targets: readonly (readonly number[])[];
  readonly kind: LinearKind;
  /** Rows in succession that are learnt from or left out together, since they are of one text. Default: 1. */
  readonly together?: number | undefined;
}

/** Scores are weights · vector + bias, for each output. */
export interface LinearMap {
  readonly weights: readonly Float64Array[];
  readonly biases: readonly number[];
}

/** A map, and the penalty that served best on rows it had not seen. */
export interface ChosenFit {
  readonly map: LinearMap;
  readonly decay: number;
  /** Mean loss of rows left out. */
  readonly loss: number;
}

/** Penalties that are tried, strongest first; the weaker ones go on from what the stronger ones found. */
const DECAYS = [1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001];
/** Folds that are left out in turn; of many rows only the first is. */
const [FOLDS, MANY] = [5, 5000];
const [ITERATIONS, ENOUGH] = [400, 1e-4];

/** Fits with the penalty `decay` · |w|² / 2 on standardised columns, by gradients from weights 0: nothing is drawn. */
export function fitLinear(data: LinearData, decay: number): LinearMap {
  return new Standardised(data).fit([decay]).at(-1)!;
}

/** Fits with the penalty of least loss on rows left out. */
export function fitChosen(data: LinearData): ChosenFit {
  const { together = 1 } = data;
  const count = data.vectors.length / together;
  if (count < 2) {
    const needed = "at least two rows, of which some can be left out";
    reject({ code: "bad-data", who: "linear fit", needed, got: `${count}` });
  }
  const folds = data.vectors.length > MANY ? 1 : Math.min(FOLDS, count);
  const sums = DECAYS.map(() => 0);
  for (let fold = 0; fold < folds; fold++) {
    const [learnt, left] = [true, false].map((wanted) =>
      rowsOf(data, (i) => (Math.floor(i / together) % FOLDS !== fold) === wanted),
    );
    for (const [i, map] of new Standardised(learnt!).fit(DECAYS).entries()) sums[i]! += lossOf(map, left!) / folds;
  }
  const loss = Math.min(...sums);
  const decay = DECAYS[sums.indexOf(loss)]!;
  return { map: fitLinear(data, decay), decay, loss };
}

/** The scores of a vector. */
export function scoresOf({ weights, biases }: LinearMap, vector: ArrayLike<number>): number[] {
  return weights.map((own, k) => own.reduce((sum, w, i) => sum + w * vector[i]!, biases[k]!));
}

function rowsOf({ vectors, targets, kind }: LinearData, wanted: (row: number) => boolean): LinearData {
  const has = (_: unknown, row: number) => wanted(row);
  return { vectors: vectors.filter(has), targets: targets.filter(has), kind };
}

/** Turns the scores of a row into guesses, in place: guesses less targets are the slopes of the loss in the scores. */
const guess: Readonly<Record<LinearKind, (scores: Float64Array) => void>> = {
  single: (scores) => {
    const most = Math.max(...scores);
    let total = 0;
    for (let k = 0; k < scores.length; k++) total += scores[k] = Math.exp(scores[k]! - most);
    for (let k = 0; k < scores.length; k++) scores[k]! /= total;
  },
  multiple: (scores) => {
    for (let k = 0; k < scores.length; k++) scores[k] = 1 / (1 + Math.exp(-scores[k]!));
  },
  regression: () => {},
};

/** The largest second derivative of a row's loss in its scores. */
const curvature: Readonly<Record<LinearKind, number>> = { single: 0.5, multiple: 0.25, regression: 1 };

const softplus = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const each = (scores: readonly number[], of: (score: number, k: number) => number) =>
  scores.reduce((sum, score, k) => sum + of(score, k), 0);

const losses: Readonly<Record<LinearKind, (scores: readonly number[], target: readonly number[]) => number>> = {
  single: (scores, target) => {
    const most = Math.max(...scores);
    return most + Math.log(each(scores, (score) => Math.exp(score - most))) - scores[target.indexOf(1)]!;
  },
  multiple: (scores, target) => each(scores, (score, k) => softplus(score) - score * target[k]!),
  regression: (scores, target) => each(scores, (score, k) => (score - target[k]!) ** 2 / 2),
};

function lossOf(map: LinearMap, { vectors, targets, kind }: LinearData): number {
  const sum = vectors.reduce((total, vector, i) => total + losses[kind](scoresOf(map, vector), targets[i]!), 0);
  return sum / vectors.length;
}

/** Below this fraction of its mean a deviation is rounding. */
const ROUNDING = 1e-7;

/** Rows whose columns have mean 0 and deviation 1, one after another, each with a 1 at its end for the bias. */
class Standardised {
  readonly #count: number;
  readonly #width: number;
  readonly #rows: Float64Array;
  readonly #targets: Float64Array;
  readonly #outputs: number;
  readonly #kind: LinearKind;
  readonly #means: Float64Array;
  readonly #deviations: Float64Array;

  constructor({ vectors, targets, kind }: LinearData) {
    const width = vectors[0]!.length;
    [this.#count, this.#width, this.#outputs, this.#kind] = [vectors.length, width + 1, targets[0]!.length, kind];
    this.#means = new Float64Array(width);
    for (const vector of vectors) addScaled(this.#means, 0, vector, 0, width, 1 / vectors.length);
    this.#deviations = this.#means.map((mean, i) => {
      const variance = vectors.reduce((sum, vector) => sum + (vector[i]! - mean) ** 2, 0) / vectors.length;
      // A column that never changes says nothing.
      return Math.sqrt(variance) > ROUNDING * Math.abs(mean) ? Math.sqrt(variance) : Number.POSITIVE_INFINITY;
    });
    this.#rows = new Float64Array(vectors.length * this.#width).fill(1);
    for (const [row, vector] of vectors.entries()) {
      const own = this.#means.map((mean, i) => (vector[i]! - mean) / this.#deviations[i]!);
      this.#rows.set(own, row * this.#width);
    }
    this.#targets = Float64Array.from(targets.flat());
  }

  /** A map per penalty, each begun where the one before ended. */
  fit(decays: readonly number[]): LinearMap[] {
    const steepest = curvature[this.#kind] * Math.max(1, this.#spread());
    let found: Float64Array = new Float64Array(this.#outputs * this.#width);
    return decays.map((decay) => {
      found = this.#descended(found, decay, 1 / (steepest + decay));
      return this.#unscaled(found);
    });
  }

  /** Accelerated gradient descent. */
  #descended(from: Float64Array, decay: number, rate: number): Float64Array {
    let [last, ahead] = [from, from];
    for (let step = 0; step < ITERATIONS; step++) {
      const slopes = this.#slopes(ahead, decay);
      const next = ahead.map((w, i) => w - rate * slopes[i]!);
      const momentum = step / (step + 3);
      ahead = next.map((w, i) => w + momentum * (w - last[i]!));
      last = next;
      if (norm(slopes) < ENOUGH) break;
    }
    return last;
  }

  #slopes(weights: Float64Array, decay: number): Float64Array {
    const [width, outputs, rows] = [this.#width, this.#outputs, this.#rows];
    const slopes = weights.map((w, i) => ((i + 1) % width === 0 ? 0 : decay * w)); // biases have no penalty
    const scores = new Float64Array(outputs);
    for (let row = 0; row < this.#count; row++) {
      for (let k = 0; k < outputs; k++) scores[k] = dot(weights, k * width, rows, row * width, width);
      guess[this.#kind](scores);
      for (let k = 0; k < outputs; k++) {
        const error = (scores[k]! - this.#targets[row * outputs + k]!) / this.#count;
        addScaled(slopes, k * width, rows, row * width, width, error);
      }
    }
    return slopes;
  }

  /** The largest variance in any direction, by power iteration, and a little more. */
  #spread(): number {
    const width = this.#width;
    let direction: Float64Array = new Float64Array(width).map((_, i) => 1 + (i % 7) / 7);
    let size = 0;
    for (let turn = 0; turn < 20; turn++) {
      const next = new Float64Array(width);
      for (let row = 0; row < this.#count; row++) {
        const along = dot(this.#rows, row * width, direction, 0, width) / this.#count;
        addScaled(next, 0, this.#rows, row * width, width, along);
      }
      size = norm(next) / norm(direction);
      direction = next;
    }
    return 1.1 * size;
  }

  /** The same map for vectors as they were given. */
  #unscaled(found: Float64Array): LinearMap {
    const own = Array.from({ length: this.#outputs }, (_, k) => found.subarray(k * this.#width, (k + 1) * this.#width));
    const weights = own.map((each) => this.#deviations.map((deviation, i) => each[i]! / deviation));
    const biases = own.map((each, k) => each.at(-1)! - dot(weights[k]!, 0, this.#means, 0, this.#means.length));
    return { weights, biases };
  }
}

function addScaled(
  to: Float64Array,
  at: number,
  by: ArrayLike<number>,
  from: number,
  length: number,
  factor: number,
): void {
  for (let i = 0; i < length; i++) to[at + i]! += factor * by[from + i]!;
}

function dot(a: Float64Array, at: number, b: Float64Array, from: number, length: number): number {
  let sum = 0;
  for (let i = 0; i < length; i++) sum += a[at + i]! * b[from + i]!;
  return sum;
}

const norm = (numbers: Float64Array) => Math.sqrt(dot(numbers, 0, numbers, 0, numbers.length));
