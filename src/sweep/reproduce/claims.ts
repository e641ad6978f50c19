/** What a paper claims beside what was measured: agreed, not agreed, or a difference that seeds alone would make. */

import type { Spread } from "../../base/spread.ts";
import { formatNumber } from "../../base/table.ts";
import { wrapped } from "../../base/wrapped.ts";

/** What figures say of a claim. */
export type Verdict = "agreed" | "not agreed" | "within deviation" | "not measured";

/** A claim of a paper, the paper's figures for it, and ours. */
export interface Claim {
  readonly sentence: string;
  readonly paper: string;
  readonly ours: string;
  readonly verdict: Verdict;
}

/** How verdicts come about, for reports. */
export const RULE =
  "A difference of two means counts where it is larger than the deviation of such a difference over seeds, √(s₁² + s₂²); otherwise it is within deviation.";

/** Our figures, as far as they were measured. */
export type Measured = Spread | null;

const doubtOf = (a: Spread, b: Spread) => Math.hypot(a.deviation ?? 0, b.deviation ?? 0);

/** Whether one figure lies above another. */
export function above(high: Measured, low: Measured): Verdict {
  if (!high || !low) return "not measured";
  const gap = high.mean - low.mean;
  if (Math.abs(gap) <= doubtOf(high, low)) return "within deviation";
  return gap > 0 ? "agreed" : "not agreed";
}

/** Whether a figure is no higher than another; one that is higher by less than the deviation is within it. */
export function noHigher(figure: Measured, limit: Measured): Verdict {
  if (!figure || !limit) return "not measured";
  const gap = figure.mean - limit.mean;
  if (gap <= 0) return "agreed";
  return gap <= doubtOf(figure, limit) ? "within deviation" : "not agreed";
}

/** What a rule says of one figure that has no deviation. */
export const holds = (figure: number | null, rule: (figure: number) => boolean): Verdict =>
  figure === null ? "not measured" : rule(figure) ? "agreed" : "not agreed";

/** A figure that is exact, such as a limit. */
export const exactly = (value: number): Spread => ({ mean: value, deviation: null, values: [value] });

/** `27.13 ± 0.20`, `27.13` of one seed, `–` of none. */
export function spreadText(figure: Measured, digits = 2): string {
  if (!figure) return "–";
  const mean = figure.mean.toFixed(digits);
  return figure.deviation === null ? mean : `${mean} ± ${figure.deviation.toFixed(digits)}`;
}

/** `27.13 ± 0.20 against 26.57 ± 0.10`. */
export const against = (one: Measured, other: Measured, digits = 2): string =>
  one && other ? `${spreadText(one, digits)} against ${spreadText(other, digits)}` : "–";

/** `5 of 8 claims agreed, 2 within deviation, 1 not agreed.` */
export function verdictLine(claims: readonly Claim[]): string {
  const count = (verdict: Verdict) => claims.filter((claim) => claim.verdict === verdict).length;
  const others = (["within deviation", "not agreed", "not measured"] as const)
    .filter((verdict) => count(verdict) > 0)
    .map((verdict) => `, ${count(verdict)} ${verdict}`);
  return `${count("agreed")} of ${formatNumber(claims.length)} claims agreed${others.join("")}.`;
}

/** Claims for a terminal: the verdict, the claim, and below it our figures and the paper's, in lines that fit. */
export function claimsText(claims: readonly Claim[], width = 80): string {
  const indent = " ".repeat(18);
  const lines = claims.map(({ sentence, paper, ours, verdict }) => {
    const figures = `here ${ours}; paper ${paper}`;
    const below = [sentence, figures].map((text) => wrapped(text, width, indent));
    return `${verdict.padEnd(indent.length)}${below.join("\n").trimStart()}`;
  });
  return [...lines, verdictLine(claims)].join("\n");
}
