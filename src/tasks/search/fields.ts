/** Settings of any search over blocks, whatever is trained: candidates, how π moves and hardens, what is cut, a budget. */
import { either, fraction, optional, pair, real, textLike, whole } from "../../runs/fields.ts";

/** How candidates are written. */
export const candidateForm = {
  pattern: /^\s*([sf](:[1-9]\d*)?|i)\s*(,\s*([sf](:[1-9]\d*)?|i)\s*)*$/,
  needed: "letters s, f and i with sizes where they have one, such as s,f,f:1024,i",
};
const budgetForm = {
  pattern: /^\s*(\d+(\.\d*)?|\.\d+)\s*(ms)?\s*$/,
  needed: "milliseconds above 0, such as 3.2ms, or a fraction of the (sf)-baseline's latency, such as 0.65",
  fits: (given: string) => Number.parseFloat(given) > 0,
};

/** The architecture's rate follows the length. */
export const AUTO = "auto";

/** What a block may be. */
export const candidates = optional(
  textLike("s,f,f:1024,i", "what a block may be, with heads or feed-forward width; default: s,f,i", candidateForm),
);

/** How π moves, when it hardens, and when candidates are given up. */
export const choiceFields = {
  architectureRate: optional(
    either(
      real(0.02, ""),
      textLike(AUTO, "", { pattern: /^auto$/, needed: "a number, or auto" }),
      "highest rate of the architecture; auto: the higher the shorter the search; none: that of the weights",
      "a number from 0, or auto",
    ),
    AUTO,
  ),
  freeze: optional(fraction(0.2, "fraction of the updates before π moves; with alternate: 0.2"), 0.15),
  temperatureStart: real(5, "first temperature", { above: 0 }),
  temperatureEnd: real(0.1, "last temperature", { above: 0 }),
  cut: optional(
    real(0.95, "cut candidates whose π is below 1 − this, and compile again; none: keep all to the end", {
      above: 0.5,
      below: 1,
    }),
    0.95,
  ),
  settle: optional(
    pair(
      fraction(0, ""),
      [0.25, 0.75],
      "between these fractions of the updates blocks settle, the surest first, for one candidate beside identity",
      "two fractions of the updates, such as 0.25,0.75",
    ),
    [0.25, 0.6] as [number, number],
  ),
  decide: optional(
    fraction(0.9, "fraction of the updates after which blocks that π has left open are decided for what is likeliest"),
    0.9,
  ),
  cutEvery: optional(whole(100, "updates between looks at π; default: a twentieth of them, at most 100")),
};

/** What a network may cost. */
export const budgetFields = {
  budget: optional(
    either(
      real(0.65, "", { above: 0 }),
      textLike("0.65", "", budgetForm),
      "penalise latency above this: 3.2ms, or 0.65 of the (sf)-baseline's",
      budgetForm.needed,
    ),
  ),
  budgetWeight: real(1, "weight of that penalty", { above: 0 }),
};

/** What of the updates the architecture's rate makes: 0.1 up to 600 of them, 0.02 from 3,000 on. docs/log.md has the trials. */
const rateIn = (total: number) => Math.min(0.1, Math.max(0.02, 60 / total));

/** The architecture's rate and the updates between looks at π, once the number of updates is known. */
export function pacedBy(
  { architectureRate, cutEvery }: { architectureRate: number | string | null; cutEvery: number | null },
  total: number,
): { architectureRate: number | null; cutEvery: number } {
  return {
    architectureRate: typeof architectureRate === "string" ? rateIn(total) : architectureRate,
    cutEvery: cutEvery ?? Math.min(100, Math.max(1, Math.round(total / 20))),
  };
}
