/** One sentence per part on what was seen, from its figures, whatever they are. */
import { formatNumber } from "../../base/table.ts";
import type { DepthRow } from "../../depth/tally.ts";
import type { AdaptResult, SearchedResult, ShareResult } from "./results.ts";

const million = (value: number) => `${formatNumber(value / 1e6, 2)} M`;
const percent = (value: number) => `${formatNumber(100 * Math.abs(value), 1)} %`;

/** `0.9 % higher`, `0.4 % lower` or `the same`. */
export function change(value: number, than: number): string {
  const ratio = value / than - 1;
  if (Math.abs(ratio) < 0.0005) return "the same";
  return `${percent(ratio)} ${ratio > 0 ? "higher" : "lower"}`;
}

/** A loss that is worse by more than this is no price for fewer parameters. */
const ACCEPTABLE = 0.1;

/** What sharing stores, and what it costs in loss. */
export function shareFinding({ shared, unshared }: ShareResult): string {
  const unique = (plan: readonly number[]) => new Set(plan).size;
  const fraction = formatNumber((100 * shared.parameters) / unshared.parameters, 0);
  const layers = `${unique(shared.plan)} layers of weights run ${shared.plan.length} deep store ${fraction} % of the parameters`;
  const sizes = `(${million(shared.parameters)} of ${million(unshared.parameters)})`;
  const losses = `at a valid loss of ${shared.loss.toFixed(3)} against ${unshared.loss.toFixed(3)}, ${change(shared.loss, unshared.loss)}`;
  const verdict = shared.loss / unshared.loss - 1 > ACCEPTABLE ? "; at this length sharing costs too much" : "";
  return `${layers} ${sizes} ${losses}${verdict}.`;
}

/** A block is decided from here on. */
export const DECIDED = 0.9;
/** Mean of the largest π below which nothing is found: a third is none, a half is two candidates left that are equal. */
const UNIFORM = 0.6;

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

/** What the search chose, how sure it is, and what that is worth. */
export function searchFinding({ pattern, certainty, found, baseline }: SearchedResult): string {
  const decided = certainty.filter((share) => share >= DECIDED).length;
  const least = Math.min(...certainty).toFixed(2);
  if (mean(certainty) < UNIFORM) {
    return `No finding: π stayed nearly uniform (largest shares of ${mean(certainty).toFixed(2)} on average), so ${pattern} is not a choice.`;
  }
  const surely = `${decided} of ${certainty.length} blocks decided (π at least ${DECIDED}), the least certain at ${least}`;
  const ratio = formatNumber((100 * found.parameters) / baseline.parameters, 0);
  const beside = `${ratio} % of the parameters of ${baseline.pattern} at a perplexity of ${found.perplexity.toFixed(1)} against ${baseline.perplexity.toFixed(1)}, ${change(found.perplexity, baseline.perplexity)}`;
  return `The search chose ${pattern}, ${surely}; from scratch that has ${beside}.`;
}

/** Kinds whose mean depths differ by less run equally deep. */
const EQUAL = 0.2;

/** Which kinds of tokens stop early, and which run on. */
export function adaptFinding({ kinds, meanDepth, cap }: AdaptResult): string {
  const order = kinds.toSorted((a, b) => a.mean - b.mean);
  const [first, last] = [order[0]!, order.at(-1)!];
  const average = `tokens took ${meanDepth.toFixed(2)} of at most ${cap} passes`;
  if (last.mean - first.mean < EQUAL) {
    return `No finding: ${average}, and every kind about as many (${first.mean.toFixed(2)} to ${last.mean.toFixed(2)}).`;
  }
  const said = ({ name, mean }: DepthRow) => `${name} ${mean.toFixed(2)}`;
  return `On average ${average}: ${order.map(said).join(", ")}.`;
}
