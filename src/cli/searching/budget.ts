/** The budget of a search: what the user may ask, checked against what candidates were measured to cost. */
import { reject } from "../../base/errors.ts";
import { formatNumber, table } from "../../base/table.ts";
import type { Budget } from "../../depth/searched.ts";
import { baselineCost, candidateName, costOfCandidate, type MeasuredCosts } from "../../model/latency.ts";
import type { CandidateChoice, ParModel } from "../../model/par.ts";
import type { Latency } from "../../train/events.ts";
import type { ParameterTensor } from "../../train/memory.ts";

type Choices = readonly (readonly CandidateChoice[])[];

/** `3.2ms`, or `0.65` of the baseline. */
export function parseBudget(text: string): { ms: number } | { part: number } {
  const found = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*(ms)?\s*$/.exec(text);
  const value = Number(found?.[1]);
  if (!(value > 0)) {
    const needed = "milliseconds above 0, such as 3.2ms, or a part of the (sf)-baseline's latency, such as 0.65";
    reject({ who: "budget", needed, got: JSON.stringify(text) }, 2);
  }
  return found![2] ? { ms: value } : { part: value };
}

const total = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** The target in milliseconds and the cost of every candidate; refuses what no network can meet. */
export function budgetOf(text: string, weight: number, choices: Choices, measured: MeasuredCosts): Budget {
  const asked = parseBudget(text);
  const baseline = baselineCost(measured, choices.length);
  const target = "ms" in asked ? asked.ms : asked.part * baseline;
  const costs = choices.map((block) => block.map((choice) => costOfCandidate(measured, choice)));
  const cheapest = measured.rest.ms + total(costs.map((block) => Math.min(...block)));
  if (target < cheapest) {
    const ms = (value: number) => `${value.toPrecision(3)} ms`;
    const needed = `at least ${ms(cheapest)}, the cheapest network here (the (sf)-baseline takes ${ms(baseline)})`;
    reject({ who: "budget", needed, got: ms(target), remedy: "give it more" }, 2);
  }
  return { costs, fixed: measured.rest.ms, target, weight };
}

/** Choices for the first blocks. */
interface Begun {
  readonly cost: number;
  /** Σ log π. */
  readonly score: number;
  readonly chosen: readonly number[];
}

/** The likeliest candidates, by the product of their π, that together cost at most so much; none where all cost more. */
export function likeliestWithin(
  shares: readonly (readonly number[])[],
  costs: readonly (readonly number[])[],
  most: number,
): readonly number[] | undefined {
  let front: Begun[] = [{ cost: 0, score: 0, chosen: [] }];
  for (const [i, block] of shares.entries()) {
    const longer = front.flatMap(({ cost, score, chosen }) =>
      block.flatMap((share, k) =>
        share > 0 ? [{ cost: cost + costs[i]![k]!, score: score + Math.log(share), chosen: [...chosen, k] }] : [],
      ),
    );
    front = undominated(longer.filter(({ cost }) => cost <= most));
  }
  return front.at(-1)?.chosen;
}

/** By rising cost, those that are likelier than all that cost less. */
function undominated(choices: readonly Begun[]): Begun[] {
  const kept: Begun[] = [];
  for (const each of choices.toSorted((a, b) => a.cost - b.cost || b.score - a.score)) {
    if (kept.length === 0 || each.score > kept.at(-1)!.score) kept.push(each);
  }
  return kept;
}

/** The place of each block's candidate of the largest share or, under a budget, those of the likeliest network that keeps to it. */
export function likeliest(
  { options: { budget } }: ParModel,
  shares: readonly (readonly number[])[],
): readonly number[] {
  const within = budget && likeliestWithin(shares, budget.costs, budget.target - budget.fixed);
  return within ?? shares.map((block) => block.indexOf(Math.max(...block)));
}

/**
 * How each candidate of each block stands: by its share or, under a budget, by the likeliest network within it that has this
 * candidate, ÷ the likeliest of all. So attention that would take the place of other attention stands no better than the two compare.
 */
export function standings(model: ParModel, shares: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const { budget } = model.options;
  if (!budget) return shares;
  const most = budget.target - budget.fixed;
  const scoreOf = (given: readonly (readonly number[])[]) =>
    likeliestWithin(given, budget.costs, most)?.reduce((sum, k, i) => sum + Math.log(given[i]![k]!), 0) ?? -Infinity;
  const best = scoreOf(shares);
  const forced = (block: number, place: number) =>
    shares.map((each, i) => (i === block ? each.map((share, k) => (k === place ? share : 0)) : each));
  return shares.map((each, block) => each.map((_, k) => Math.exp(scoreOf(forced(block, k)) - best)));
}

/** The place of each block's choice by π. */
export function chosenOf(model: ParModel, weights: ReadonlyMap<ParameterTensor, Float32Array>): readonly number[] {
  return likeliest(model, model.probabilities(weights));
}

const costsOf = ({ choices }: ParModel, measured: MeasuredCosts) =>
  choices.map((block) => block.map((choice) => costOfCandidate(measured, choice)));

/** What a model costs on average over π, by measured costs. */
export function expectedLatency(
  model: ParModel,
  measured: MeasuredCosts,
  weights: ReadonlyMap<ParameterTensor, Float32Array>,
): number {
  const costs = costsOf(model, measured);
  const expected = model.probabilities(weights).map((shares, i) => total(shares.map((p, k) => p * costs[i]![k]!)));
  return measured.rest.ms + total(expected);
}

/** That, and what its choices cost. */
export function latencyOf(
  model: ParModel,
  measured: MeasuredCosts,
  weights: ReadonlyMap<ParameterTensor, Float32Array>,
): Latency {
  const costs = costsOf(model, measured);
  const chosen = chosenOf(model, weights).map((k, i) => costs[i]![k]!);
  return { expectedMs: expectedLatency(model, measured, weights), chosenMs: measured.rest.ms + total(chosen) };
}

/** FLOPs and milliseconds of each candidate, the rest and the (sf)-baseline. */
export function costTable(measured: MeasuredCosts, choices: Choices): string {
  const { rest, candidates, shape, threads } = measured;
  const offered = new Set(choices.flat().map(candidateName));
  const row = (name: string, flops: number, ms: number) => ({
    name,
    mflops: formatNumber(flops / 1e6, 2),
    ms: formatNumber(ms, 3),
  });
  const named = (name: string) => candidates.find((each) => each.name === name)!.flops;
  const half = choices.length / 2;
  const flops = rest.flops + Math.ceil(half) * named("attention") + Math.floor(half) * named("feed-forward");
  const rows = [
    ...candidates.filter(({ name }) => offered.has(name)).map(({ name, flops, ms }) => row(name, flops, ms)),
    row("embedding and softmax", rest.flops, rest.ms),
    row(`(sf)-baseline, ${choices.length} blocks`, flops, baselineCost(measured, choices.length)),
  ];
  const title = `forward, batch ${shape.batch} × ${shape.length}, memory ${shape.memory}, ${threads} thread${threads > 1 ? "s" : ""}`;
  const columns = [
    { key: "name", title },
    { key: "mflops", title: "MFLOPs" },
    { key: "ms", title: "ms" },
  ];
  return table(rows, columns).trimEnd();
}
