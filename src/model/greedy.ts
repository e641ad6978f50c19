/** Greedy choice inside a program: the likeliest token of each row of scores, so that no scores leave it. */
import { rejectData } from "../base/errors.ts";
import type { Feed } from "../engine/engine.ts";
import { add, argMax, gather, iota, is, max, multiply, multiplyDims, reshape, type Tensor } from "../graph/index.ts";

/** What a decoder's program gives: outputs by name. */
export type Results = Readonly<Record<string, Feed>>;

/** The outputs of a program with the likeliest tokens instead of scores [B, V]. The largest score goes along: it tells whether weights are broken. */
export function choosing(outputs: Readonly<Record<string, Tensor>>, scores: string): Record<string, Tensor> {
  const { [scores]: given, ...others } = outputs;
  const rows = is(given!, "logSoftmax") ? given.inputs[0]! : given!; // which keeps the order
  return { ...others, ...largest(rows) };
}

/** The largest divisor that is no larger than the square root. */
function divisor(size: number): number {
  let found = Math.floor(Math.sqrt(size));
  while (size % found > 0) found--;
  return found;
}

/** The first largest of each row [B, V], by its part of the row first: the runtime looks for a maximum eight times as fast as for its place. */
function largest(rows: Tensor): { readonly token: Tensor; readonly top: Tensor } {
  const [batch, size] = [rows.shape[0]!, Number(rows.shape[1])];
  const parts = divisor(size);
  const each = size / parts;
  const cut = reshape(rows, [multiplyDims(batch, parts), each]);
  const tops = reshape(max(cut, { axes: [1] }), [batch, parts]);
  const part = argMax(tops);
  const place = argMax(gather(cut, add(multiply(iota(batch), parts), part)));
  return { token: add(multiply(part, each), place), top: max(tops, { axes: [1] }) };
}

/** The tokens that such a program chose. */
export function chosenTokens({ token, top }: Results): ArrayLike<number> {
  const broken = top!.data.find((score) => !Number.isFinite(score));
  if (broken === undefined) return token!.data;
  const remedy = "check the weights for NaN";
  return rejectData({ who: "sampling", needed: "finite logits", got: `${broken}`, remedy });
}
