/** What a PAR Transformer-XL is told, and what it refuses: mistakes show when the model is built. */

import { reject, rejectOption } from "../../base/errors.ts";
import { check, checkOptions } from "../../base/options.ts";
import { MOST_BLOCKS, patternBlocks, printPattern } from "../../depth/pattern.ts";
import type { Plan } from "../../depth/plan.ts";
import type { Budget, SearchedOptions } from "../../depth/searched.ts";
import { activationRule } from "../../nn/feed-forward.ts";
import type { Activation } from "../../nn/index.ts";
import { type CandidateChoice, candidateName, checkChoice, choiceOf, patternBlockOf } from "./candidates.ts";

type Choices = readonly (readonly CandidateChoice[])[];
type Alive = readonly (readonly number[])[];

/** Sizes of the network, its blocks or what they may be, and how they are searched. */
export interface ParOptions extends SearchedOptions {
  vocabulary: number;
  width: number;
  heads: number;
  /** Width of the feed-forward layers. Default: four times the width. */
  hidden?: number | undefined;
  /** A number of blocks to search, a pattern of found ones (`(sff)x2 i`, `s f:1024`), or the candidates of each block. */
  blocks: number | string | readonly (readonly CandidateChoice[])[];
  /** With a pattern: which block's weights each depth has, by a number. Default: each its own. `writtenNetwork` reads both out of a text. */
  plan?: Plan | undefined;
  /**
   * What a searched block may be: `[attention(), feedForward({ hidden: 64 }), custom("g", make), identity]`. A pattern may hold the
   * letters of those that are your own. Default: attention, feed-forward, identity.
   */
  candidates?: readonly CandidateChoice[] | undefined;
  /** Which candidates of each block are still there, by their place among all; their parameters keep their names. Default: all. */
  alive?: readonly (readonly number[])[] | undefined;
  /** Steps of memory in training; evaluation may take another number. */
  memory: number;
  dropout?: number | undefined;
  /** Fraction of attention's probabilities that is dropped in training. Default: 0. */
  attentionDropout?: number | undefined;
  activation?: Activation | undefined;
  /** Ends of the clusters of an adaptive softmax, but the last; none: an ordinary softmax. */
  cutoffs?: readonly number[] | undefined;
  projectionFactor?: number | undefined;
  projectionSizes?: readonly number[] | undefined;
  /** Give rare words shorter vectors on the way in, too; needs cutoffs. */
  adaptiveInput?: boolean | undefined;
  /** Embedding and softmax share vectors: all of them, or without `adaptiveInput` those of the words before the first cutoff. */
  tied?: boolean | undefined;
  clampLength?: number | undefined;
  sameLength?: boolean | undefined;
  /** A target that does not count. */
  padding?: number | undefined;
}

const everything: readonly CandidateChoice[] = [{ kind: "attention" }, { kind: "feed-forward" }, { kind: "identity" }];

/** A size that is there must be a whole number from 1. */
export function checkWhole(who: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  reject({ who, needed: "a whole number from 1", got: `${value}` }, 2);
}

/** Positions and masks are tables over every step of memory: beyond this they would be larger than the model. */
const LONGEST_MEMORY = 65_536;

/** Steps of memory are a whole number from 0, and not absurdly many. */
export function checkMemory(memory: number): void {
  if (!Number.isInteger(memory) || memory < 0) {
    reject({ who: "memory", needed: "a whole number of steps from 0", got: `${memory}` }, 2);
  }
  if (memory <= LONGEST_MEMORY) return;
  reject({ who: "memory", needed: `at most ${LONGEST_MEMORY} steps`, got: `${memory}`, remedy: "shorten it" }, 2);
}

const names: Readonly<Record<keyof ParOptions, true>> = {
  vocabulary: true,
  width: true,
  heads: true,
  hidden: true,
  blocks: true,
  plan: true,
  candidates: true,
  alive: true,
  memory: true,
  dropout: true,
  attentionDropout: true,
  activation: true,
  cutoffs: true,
  projectionFactor: true,
  projectionSizes: true,
  adaptiveInput: true,
  tied: true,
  clampLength: true,
  sameLength: true,
  padding: true,
  straightThrough: true,
  temperature: true,
  initialTemperature: true,
  finalTemperature: true,
  compat: true,
  budget: true,
};

/** What config.json of an exported network says besides its options. */
const described = ["kind", "programs"];

/** Mistakes that concern no single block. */
export function checkParOptions(options: ParOptions): void {
  checkOptions("PAR Transformer-XL", options, [...Object.keys(names), ...described]);
  check("activation", options.activation ?? "relu", activationRule);
  const { memory, compat, cutoffs, projectionSizes, adaptiveInput } = options;
  for (const key of ["vocabulary", "width", "heads", "hidden", "clampLength"] as const) checkWhole(key, options[key]);
  checkMemory(memory);
  for (const who of ["dropout", "attentionDropout"] as const) {
    const rate = options[who] ?? 0;
    if (!(rate >= 0 && rate < 1)) reject({ who, needed: "a rate from 0 to below 1", got: `${rate}` }, 2);
  }
  if (compat !== undefined && compat !== "original") {
    reject({ who: "compat", needed: "original, or nothing", got: `${compat}` }, 2);
  }
  if (projectionSizes && !cutoffs?.length) {
    const remedy = "give cutoffs, or leave the sizes out";
    reject({ who: "projection sizes", needed: "cutoffs to have tails", got: `[${projectionSizes}]`, remedy }, 2);
  }
  if (options.tied && compat === "original") {
    const remedy = "leave tied or compat out";
    rejectOption({ who: "tied", needed: "no compat: the original has two tables", got: "compat original", remedy });
  }
  if (adaptiveInput && (!cutoffs?.length || compat === "original")) {
    const got = compat === "original" ? "compat" : "none";
    rejectOption({
      who: "adaptiveInput",
      needed: "cutoffs, and no compat",
      got,
      remedy: "give cutoffs or leave it off",
    });
  }
}

/** What each block may be. */
export function choicesOf(options: Pick<ParOptions, "blocks" | "candidates">): Choices {
  const choices = choicesIn(options);
  for (const [i, block] of choices.entries()) {
    for (const choice of block) checkChoice(`block ${i + 1}`, choice);
    const names = block.map((choice) => printPattern([patternBlockOf(choice)]));
    const twin = names.find((name, k) => names.indexOf(name) < k);
    if (twin) reject({ who: `block ${i + 1}`, needed: "each candidate once", got: names.join(",") }, 2);
  }
  checkNames(choices);
  return choices;
}

function choicesIn({ blocks, candidates = everything }: Pick<ParOptions, "blocks" | "candidates">): Choices {
  if (typeof blocks === "string") {
    return patternBlocks(blocks, candidates).map((block) => [choiceOf(block, candidates)]);
  }
  if (typeof blocks !== "number") return blocks;
  if (!Number.isInteger(blocks) || blocks < 1 || blocks > MOST_BLOCKS) {
    reject({ who: "blocks", needed: `a whole number from 1 to ${MOST_BLOCKS}, or a pattern`, got: `${blocks}` }, 2);
  }
  return Array.from({ length: blocks }, () => candidates);
}

/** Whose weights each depth has; depths that share must have the same block. */
export function planOf({ plan, blocks }: Pick<ParOptions, "plan" | "blocks">, choices: Choices): Plan {
  if (plan === undefined) return choices.map((_, i) => i);
  const letters = choices.map(([choice]) => printPattern([patternBlockOf(choice!)]));
  const isOf = (own: number, i: number) => letters[plan.indexOf(own)] === letters[i];
  if (typeof blocks === "string" && plan.length === letters.length && plan.every(isOf)) return plan;
  const needed = "a pattern, and a number per block, of which equal ones are alike";
  return reject({ who: "plan", needed, got: `[${plan}] for ${letters.join("")}` }, 2);
}

/** Candidates are known by their names in tables of costs: two that differ must not share one. */
function checkNames(choices: Choices): void {
  const units = new Map<string, string>();
  for (const choice of choices.flat()) {
    const [name, unit] = [candidateName(choice), printPattern([patternBlockOf(choice)])];
    if (units.get(name) !== undefined && units.get(name) !== unit) {
      const got = `${units.get(name)} and ${unit}, both called ${name}`;
      reject({ who: "candidates", needed: "names of their own", got, remedy: "give one another name" }, 2);
    }
    units.set(name, unit);
  }
}

/** The places among the choices that are still there. */
export function aliveOf({ alive }: Pick<ParOptions, "alive">, choices: Choices): Alive {
  const every = choices.map((block) => block.map((_, k) => k));
  const own = (places: readonly number[], i: number) =>
    new Set(places).size === places.length && places.every((k) => every[i]!.includes(k));
  const fits = alive?.length === every.length && alive.every(own);
  if (alive && !fits) {
    const needed = `places among the ${every.map(({ length }) => length).join(", ")} candidates`;
    rejectOption({ who: "alive", needed, got: JSON.stringify(alive) });
  }
  return alive ?? every;
}

const whole = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** The budget of the candidates that are still there; refuses one that says nothing of this network, or that none could meet. */
export function budgetOf(
  { budget, blocks }: Pick<ParOptions, "budget" | "blocks">,
  choices: Choices,
  alive: Alive,
): Budget | undefined {
  if (!budget) return undefined;
  const { costs, fixed, target, weight } = budget;
  const amount = (value: number) => value >= 0 && value < Number.POSITIVE_INFINITY;
  const sizes = choices.map(({ length }) => length);
  if (costs.length !== sizes.length || costs.some((row, i) => row.length !== sizes[i] || !row.every(amount))) {
    const needed = `costs from 0 of the ${sizes.join(", ")} candidates of the blocks`;
    reject({ who: "budget / costs", needed, got: JSON.stringify(costs) }, 2);
  }
  if (!(amount(fixed) && amount(target) && target > 0 && amount(weight) && weight > 0)) {
    const got = `fixed ${fixed}, target ${target}, weight ${weight}`;
    reject({ who: "budget", needed: "a fixed cost from 0, a target and a weight above 0", got }, 2);
  }
  if (sizes.every((size) => size === 1)) {
    const got = typeof blocks === "string" ? "a pattern" : "one candidate a block";
    reject({ who: "budget", needed: "blocks to choose", got, remedy: "leave the budget out" }, 2);
  }
  const cheapest = fixed + whole(costs.map((row) => Math.min(...row)));
  if (target < cheapest) {
    const needed = `a target from ${cheapest}, what the cheapest network costs`;
    reject({ who: "budget", needed, got: `${target}`, remedy: "give it more" }, 2);
  }
  return { ...budget, costs: alive.map((places, i) => places.map((k) => costs[i]![k]!)) };
}
