/** What speaks against taking what a search found for a finding: π that did not decide, training that was too short. */
import type { Found } from "./result.ts";
import type { SearchConfig } from "./settings.ts";

/** From this probability on a block is decided. */
const DECIDED = 0.9;
/** A search whose π moved for fewer updates says little. */
const FEWEST_UPDATES = 300;

/**
 * How far π of the choice was above the next in each block: where candidates were cut, when they were, else at the end. The least of
 * these counts; a block that a budget decided against π has less than 0.
 */
export function marginsOf({ probabilities, cuts }: Pick<Found, "probabilities" | "cuts">): number[] {
  return probabilities.map((shares, block) => {
    const [first = 0, second = 0] = shares.toSorted((a, b) => b - a);
    const own = cuts.filter((cut) => cut.block === block).flatMap(({ margin }) => margin ?? []);
    return Math.min(first - second, ...own);
  });
}

/** A line on how sure a search is: the margins of π, and that one seed is one seed; none where nothing was searched by π. */
export function surenessOf(found: Pick<Found, "probabilities" | "cuts">, settings: SearchConfig, seeds = 1): string[] {
  if (typeof settings.blocks === "string" || settings.front) return [];
  const line = marginLine(found);
  return [seeds > 1 ? line : `${line}; one seed: --seeds 3 shows what others choose`];
}

/** The margins in a line, and the block that was closest. */
export function marginLine(found: Pick<Found, "probabilities" | "cuts">): string {
  const margins = marginsOf(found);
  const least = margins.indexOf(Math.min(...margins));
  return `margin of π per block ${margins.map((each) => each.toFixed(2)).join(" ")}; least sure of block ${least + 1}`;
}

/** Sentences for a person; none where every block is decided after enough updates. */
export function doubtsOf(found: Pick<Found, "probabilities" | "steps" | "cuts">, settings: SearchConfig): string[] {
  if (typeof settings.blocks === "string" || settings.front) return [];
  return doubtsIn(found, settings.freeze ?? 0);
}

/** The same of any search over blocks, in the first part of whose updates π rested. */
export function doubtsIn(
  { probabilities, steps, cuts }: Pick<Found, "probabilities" | "steps" | "cuts">,
  freeze = 0,
): string[] {
  const highest = probabilities.map((shares, block) => {
    return Math.min(Math.max(...shares), ...cuts.flatMap((cut) => (cut.block === block ? (cut.openAt ?? []) : [])));
  });
  const open = highest.flatMap((share, i) => (share < DECIDED ? [`${i + 1} (${share.toFixed(2)})`] : []));
  const isUniform = highest.every((share, i) => share < 1.5 / probabilities[i]!.length);
  const moving = steps * (1 - freeze);
  return [
    ...(isUniform ? ["no finding: π is nearly uniform, so the pattern is chance"] : []),
    ...(!isUniform && open.length > 0
      ? [`not decided by π: block ${open.join(", ")}; another seed may choose otherwise`]
      : []),
    ...(moving < FEWEST_UPDATES ? [`too few updates to tell: ${Math.round(moving)} in which π moved`] : []),
  ];
}
