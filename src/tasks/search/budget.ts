/** The budget of a search: what the user may ask, checked against what candidates were measured to cost. */

import {
  baselineCost,
  type CandidateCost,
  candidateName,
  costOfCandidate,
  costOfNetwork,
  type MeasuredCosts,
} from "../../analysis/latency.ts";
import { reject } from "../../base/errors.ts";
import { formatNumber, table } from "../../base/table.ts";
import type { Budget } from "../../depth/searched.ts";
import type { CandidateChoice } from "../../model/par/par.ts";
import type { Supernet } from "../../model/supernet.ts";
import type { Latency } from "../../train/events.ts";
import type { Weights } from "../../train/stages.ts";
import { chosenOf } from "./choice.ts";

type Choices = readonly (readonly CandidateChoice[])[];

/** `3.2ms`, or `0.65` of the baseline. */
export function parseBudget(text: string): { ms: number } | { part: number } {
  const found = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*(ms)?\s*$/.exec(text);
  const value = Number(found?.[1]);
  if (!(value > 0)) {
    const needed = "milliseconds above 0, such as 3.2ms, or a fraction of the (sf)-baseline's latency, such as 0.65";
    reject({ who: "budget", needed, got: JSON.stringify(text) }, 2);
  }
  return found![2] ? { ms: value } : { part: value };
}

const total = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** What a budget comes to in milliseconds. */
export function targetOf(text: string, baselineMs: number): number {
  const asked = parseBudget(text);
  return "ms" in asked ? asked.ms : asked.part * baselineMs;
}

/** The target in milliseconds and the cost of every candidate; refuses what no network can meet. */
export function budgetOf(text: string, weight: number, choices: Choices, measured: MeasuredCosts): Budget {
  const baseline = baselineCost(measured, choices.length);
  const target = targetOf(text, baseline);
  const costs = choices.map((block) => block.map((choice) => costOfCandidate(measured, choice)));
  const cheapest = measured.rest.ms + total(costs.map((block) => Math.min(...block)));
  if (target < cheapest) {
    const ms = (value: number) => `${value.toPrecision(3)} ms`;
    const needed = `at least ${ms(cheapest)}, the cheapest network here (the (sf)-baseline takes ${ms(baseline)})`;
    reject({ who: "budget", needed, got: ms(target), remedy: "give it more" }, 2);
  }
  return { costs, fixed: measured.rest.ms, target, weight };
}

const costsOf = ({ choices }: Supernet, measured: MeasuredCosts) =>
  choices.map((block) => block.map((choice) => costOfCandidate(measured, choice)));

/** What a model costs on average over π, by measured costs. */
export function expectedLatency(model: Supernet, measured: MeasuredCosts, weights: Weights): number {
  const costs = costsOf(model, measured);
  const expected = model.probabilities(weights).map((shares, i) => total(shares.map((p, k) => p * costs[i]![k]!)));
  return measured.rest.ms + total(expected);
}

/** That, and what its choices cost. */
export function latencyOf(model: Supernet, measured: MeasuredCosts, weights: Weights): Latency {
  const chosen = chosenOf(model, weights).map((k, i) => model.choices[i]![k]!);
  return { expectedMs: expectedLatency(model, measured, weights), chosenMs: costOfNetwork(measured, chosen) };
}

/** FLOPs and milliseconds of each candidate, the rest and the (sf)-baseline. */
export function costTable(measured: MeasuredCosts, choices: Choices, others = "embedding and softmax"): string {
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
    row(others, rest.flops, rest.ms),
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

/** What was measured by itself: every candidate, and how near whole networks are to what their pieces say. */
export function latencyTable(measured: MeasuredCosts): string {
  const { rest, candidates, networks = [], shape, threads } = measured;
  const title = `forward, batch ${shape.batch} × ${shape.length}, memory ${shape.memory}, ${threads} thread${threads > 1 ? "s" : ""}`;
  const pieces = [...candidates, { name: "embedding and softmax", flops: rest.flops, ms: rest.wholeMs ?? rest.ms }].map(
    ({ name, ms, flops, firstMs, furtherMs }: CandidateCost) => ({
      name,
      mflops: formatNumber(flops / 1e6, 2),
      ms: formatNumber(ms, 3),
      first: firstMs === undefined ? "" : formatNumber(firstMs, 3),
      further: furtherMs === undefined ? "" : formatNumber(furtherMs, 3),
    }),
  );
  const columns = [
    { key: "name", title },
    { key: "mflops", title: "MFLOPs" },
    { key: "ms", title: "ms" },
    { key: "first", title: "the first" },
    { key: "further", title: "each further" },
  ];
  const whole = networks.map(({ pattern, ms, predictedMs }) => ({
    "whole network": pattern,
    ms: formatNumber(ms, 2),
    "by its pieces": formatNumber(predictedMs, 2),
    apart: `${(100 * (predictedMs / ms - 1)).toFixed(1)} %`,
  }));
  return [table(pieces, columns), ...(whole.length > 0 ? [table(whole)] : [])]
    .map((text) => text.trimEnd())
    .join("\n\n");
}
