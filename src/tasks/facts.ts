/** Rows that the descriptions of several jobs have. */
import { formatNumber } from "../base/table.ts";
import type { Engine } from "../engine/engine.ts";
import { countParameters } from "../model/report.ts";
import type { OpenTokenizer } from "../text/tokenizer.ts";
import { type Batches, tokensIn } from "../train/evaluate.ts";
import type { Fact } from "./job.ts";

/** A large number, in millions. */
export const million = (n: number) => `${formatNumber(n / 1e6, 2)} M`;

/** A text and its tokenizer. */
export const textFact = (
  corpus: { readonly name: string },
  { name, tokenizer }: OpenTokenizer,
  what = "corpus",
): Fact => ({
  what,
  value: `${corpus.name}, ${name} (${formatNumber(tokenizer.size)} pieces)`,
});

/** The size of a model: shared weights count once. */
export const parametersFact = (parameters: Parameters<typeof countParameters>[0]): Fact => ({
  what: "distinct parameters",
  value: million(countParameters(parameters)),
});

/** The batches of an epoch. */
export const batchesFact = (batches: Batches): Fact => ({
  what: "batches per epoch",
  value: `${formatNumber(batches.count)} of ${formatNumber(tokensIn(batches))} tokens`,
});

/** How long a run is, and from where it goes on. */
export function lengthFact(
  { totalSteps, minutes }: { readonly totalSteps: number | null; readonly minutes: number | null },
  step: number,
): Fact {
  const length = minutes === null ? `${formatNumber(totalSteps ?? 0)} updates` : `${formatNumber(minutes, 2)} minutes`;
  return { what: "length", value: step === 0 ? length : `${length}, on from step ${formatNumber(step)}` };
}

/** What the job runs on. */
export const engineFact = ({ threads, device }: Engine): Fact => ({
  what: "threads",
  value: `${threads} on ${device}`,
});
