/** Greedy choice inside a program: the likeliest token of each row of scores, so that no scores leave it. */
import { rejectData } from "../base/errors.ts";
import type { Feed } from "../engine/engine.ts";
import { argMax, is, pick, type Tensor } from "../graph/index.ts";

/** What a decoder's program gives: outputs by name. */
export type Results = Readonly<Record<string, Feed>>;

/** The outputs of a program with the likeliest tokens instead of scores [B, V]. The largest score goes along: it tells whether weights are broken. */
export function choosing(outputs: Readonly<Record<string, Tensor>>, scores: string): Record<string, Tensor> {
  const { [scores]: given, ...others } = outputs;
  const rows = is(given!, "logSoftmax") ? given.inputs[0]! : given!; // which keeps the order
  const token = argMax(rows);
  return { ...others, token, top: pick(rows, token) };
}

/** The tokens that such a program chose. */
export function chosenTokens({ token, top }: Results): ArrayLike<number> {
  const broken = top!.data.find((score) => !Number.isFinite(score));
  if (broken === undefined) return token!.data;
  const remedy = "check the weights for NaN";
  return rejectData({ who: "sampling", needed: "finite logits", got: `${broken}`, remedy });
}
