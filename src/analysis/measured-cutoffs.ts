/** Where to cut a vocabulary by what clusters cost on this machine, beside the cutoffs of size × mass. */
import type { Engine } from "../engine/engine.ts";
import { type Cutoffs, costsOfClusters, cutoffsText, optimalCutoffs } from "../text/cutoffs.ts";
import { measureSoftmax, type SoftmaxShape } from "./softmax-cost.ts";

/** The optimum under measured costs, in milliseconds of a training step. */
export interface MeasuredCutoffs {
  readonly found: Cutoffs;
  /** Of each of its clusters. */
  readonly times: readonly number[];
  /** The cutoffs of size × mass, and what they would cost. */
  readonly plain: Cutoffs;
  readonly plainMs: number;
  /** Mean error of the fit. */
  readonly error: number;
}

/** Measures the softmax and finds the cutoffs with the least time; `tell` hears the done part of the work. */
export async function measureCutoffs(
  engine: Engine,
  counts: Float64Array,
  shape: Omit<SoftmaxShape, "vocabulary">,
  tell?: (done: number) => void,
): Promise<MeasuredCutoffs> {
  const { rows, clusters } = shape;
  const { costs, error } = await measureSoftmax(engine, { ...shape, vocabulary: counts.length }, tell);
  const total = counts.reduce((a, b) => a + b, 0) || 1;
  const masses = counts.map((count) => (rows * count) / total);
  const costOf = (k: number) => costs[k]!;
  const found = optimalCutoffs(masses, clusters, costOf);
  const plain = optimalCutoffs(counts, clusters);
  const plainMs = costsOfClusters(plain, masses, costOf).reduce((a, b) => a + b, 0);
  return { found, times: costsOfClusters(found, masses, costOf), plain, plainMs, error };
}

/** The optimum in words, beside what the cutoffs of size × mass would take. */
export function measuredCutoffsText(
  { found, times, plain, plainMs, error }: MeasuredCutoffs,
  counts: Float64Array,
  { rows, width }: Pick<SoftmaxShape, "rows" | "width">,
): string {
  const others = plain.cutoffs.join(",") || "none";
  const sums = `${found.cost.toFixed(3)} ms a step; ${others}, the cutoffs of size × mass, ${plainMs.toFixed(3)} ms`;
  const fitted = `fitted to times at ${rows} rows and width ${width}, mean error ${(100 * error).toFixed(1)} %`;
  return cutoffsText(found, counts, { times, cost: `${sums} (${fitted})` });
}
