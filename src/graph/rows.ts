/** Gradients of look-up tables: the sparse part leaves the graph as rows, to be added by a kernel. */
import * as g from "./build.ts";
import { sameShape } from "./dims.ts";
import { is } from "./tensor.ts";
import type { Tensor } from "./vocabulary.ts";

/** sign · rows, to be added to the table at ids. */
export interface Rows {
  readonly ids: Tensor;
  readonly rows: Tensor;
  readonly sign: 1 | -1;
}

/** gradient = dense + Σ scatter-added rows; `dense` is undefined when there is no such part. */
export interface SplitGradient {
  readonly dense: Tensor | undefined;
  readonly rows: readonly Rows[];
}

interface Term {
  readonly tensor: Tensor;
  readonly sign: 1 | -1;
}

function termsOf(tensor: Tensor, sign: 1 | -1): Term[] {
  const opposite = sign === 1 ? -1 : 1;
  const [a, b] = tensor.inputs;
  if (is(tensor, "add")) return [...termsOf(a!, sign), ...termsOf(b!, sign)];
  if (is(tensor, "subtract")) return [...termsOf(a!, sign), ...termsOf(b!, opposite)];
  if (is(tensor, "negate")) return termsOf(a!, opposite);
  return [{ tensor, sign }];
}

function combine(terms: readonly Term[]): Tensor | undefined {
  return terms.reduce<Tensor | undefined>((total, { tensor, sign }) => {
    if (!total) return sign === 1 ? tensor : g.negate(tensor);
    return sign === 1 ? g.add(total, tensor) : g.subtract(total, tensor);
  }, undefined);
}

/** Takes the scatter-added terms out of a gradient's sum. What is left may have been broadcast by them, and is so again. */
export function splitRows(gradient: Tensor): SplitGradient {
  const isScattered = ({ tensor }: Term) => is(tensor, "scatterAdd") && sameShape(tensor.shape, gradient.shape);
  const terms = termsOf(gradient, 1);
  const scattered = terms.filter(isScattered);
  if (scattered.length === 0) return { dense: gradient, rows: [] };
  const rows = scattered.map(({ tensor, sign }) => ({ ids: tensor.inputs[0]!, rows: tensor.inputs[1]!, sign }));
  const rest = combine(terms.filter((term) => !isScattered(term)));
  return { dense: rest && g.broadcast(rest, gradient.shape), rows };
}
