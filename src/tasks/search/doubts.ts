/** What speaks against taking what a search found for a finding: π that did not decide, training that was too short. */
import type { Found } from "./result.ts";
import type { SearchConfig } from "./settings.ts";

/** From this probability on a block is decided. */
const DECIDED = 0.9;
/** A search whose π moved for fewer updates says little. */
const FEWEST_UPDATES = 300;

/** Sentences for a person; none where every block is decided after enough updates. */
export function doubtsOf(
  { probabilities, steps }: Pick<Found, "probabilities" | "steps">,
  settings: SearchConfig,
): string[] {
  if (typeof settings.blocks === "string" || settings.front) return [];
  const highest = probabilities.map((shares) => Math.max(...shares));
  const open = highest.flatMap((share, i) => (share < DECIDED ? [`${i + 1} (${share.toFixed(2)})`] : []));
  const isUniform = highest.every((share, i) => share < 1.5 / probabilities[i]!.length);
  const moving = steps * (1 - (settings.freeze ?? 0));
  return [
    ...(isUniform ? ["no finding: π is nearly uniform, so the pattern is chance"] : []),
    ...(!isUniform && open.length > 0
      ? [`not decided: block ${open.join(", ")}; another seed may choose otherwise`]
      : []),
    ...(moving < FEWEST_UPDATES ? [`too few updates to tell: ${Math.round(moving)} in which π moved`] : []),
  ];
}
