/** The network that a search would take as π stands: the likeliest, or the likeliest that keeps to the budget. */
import type { Supernet } from "../../model/supernet.ts";
import type { Weights } from "../../train/stages.ts";

/** A number for each candidate of each block. */
type Shares = readonly (readonly number[])[];

/** Choices for the first blocks. */
interface Begun {
  readonly cost: number;
  /** Σ log π. */
  readonly score: number;
  readonly chosen: readonly number[];
}

/** The likeliest candidates, by the product of their π, that together cost at most so much; none where all cost more. */
export function likeliestWithin(shares: Shares, costs: Shares, most: number): readonly number[] | undefined {
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
export function likeliest({ options: { budget } }: Supernet, shares: Shares): readonly number[] {
  const within = budget && likeliestWithin(shares, budget.costs, budget.target - budget.fixed);
  return within ?? shares.map((block) => block.indexOf(Math.max(...block)));
}

/**
 * How each candidate of each block stands: by its share or, under a budget, by the likeliest network within it that has this
 * candidate, ÷ the likeliest of all. So attention that would take the place of other attention stands no better than the two compare.
 */
export function standings(model: Supernet, shares: Shares): Shares {
  const { budget } = model.options;
  if (!budget) return shares;
  const most = budget.target - budget.fixed;
  const scoreOf = (given: Shares) =>
    likeliestWithin(given, budget.costs, most)?.reduce((sum, k, i) => sum + Math.log(given[i]![k]!), 0) ?? -Infinity;
  const best = scoreOf(shares);
  const forced = (block: number, place: number) =>
    shares.map((each, i) => (i === block ? each.map((share, k) => (k === place ? share : 0)) : each));
  return shares.map((each, block) => each.map((_, k) => Math.exp(scoreOf(forced(block, k)) - best)));
}

/** Whether a candidate of a block is more than identity. */
export const computes = (model: Supernet, block: number) => (k: number) =>
  model.choices[block]![k]!.kind !== "identity";

/** So much less likely than anything that computes that it is taken only where nothing else keeps to the budget. */
const LAST_RESORT = 1e-100;

/** π with identity as the last resort. */
export function computingShares(model: Supernet, weights: Weights): number[][] {
  return model.probabilities(weights).map((block, i) => {
    const doesCompute = computes(model, i);
    return block.map((share, k) => (doesCompute(k) ? share : share * LAST_RESORT));
  });
}

/**
 * The same while blocks settle under a budget: identity's share counts for the cheapest candidate that computes. A block that may as
 * well be skipped needs nothing dear, however attention and dense compare in it.
 */
export function frugalShares(model: Supernet, weights: Weights): Shares {
  const { budget } = model.options;
  const shares = computingShares(model, weights);
  if (!budget) return shares;
  return model.probabilities(weights).map((block, i) => {
    const rivals = model.alive[i]!.filter(computes(model, i));
    if (rivals.length === 0) return shares[i]!;
    const cheapest = rivals.reduce((a, b) => (budget.costs[i]![b]! < budget.costs[i]![a]! ? b : a));
    const dear = rivals.reduce((sum, k) => (k === cheapest ? sum : sum + block[k]!), 0);
    return shares[i]!.map((share, k) => (k === cheapest ? 1 - dear : share));
  });
}

/** The likeliest network of candidates that compute; under a budget, with as little identity as keeps to it. */
export function likeliestComputing(model: Supernet, weights: Weights): readonly number[] {
  return likeliest(model, computingShares(model, weights));
}

/**
 * The place of each block's choice: by π or, under a budget, by the likeliest network that keeps to it. What the budget leaves is
 * used: identity is taken where nothing else is left, or affordable.
 */
export function chosenOf(model: Supernet, weights: Weights): readonly number[] {
  return model.options.budget ? likeliestComputing(model, weights) : model.chosen(weights);
}
