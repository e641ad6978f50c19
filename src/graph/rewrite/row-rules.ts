/** Rules for rows that are taken out of a table, put into it, or added to it. */
import * as g from "../build.ts";
import { type Shape, sameShape } from "../dims.ts";
import { is } from "../tensor.ts";
import type { Op, Tensor } from "../vocabulary.ts";
import { type Context, eitherWay, type Rule, uniform } from "./rule.ts";

/** True when no id can stand there twice. */
export function isDistinct(ids: Tensor): boolean {
  if (is(ids, "input")) return ids.attributes.distinct === true;
  return ids.op === "iota" || ids.op === "which" || (ids.op === "gather" && ids.inputs.every(isDistinct));
}

/** Rows that were just put somewhere need not be looked up there: their ids are distinct. */
const gatherOfReplaced: Rule = (node) => {
  const [table, ids] = node.inputs;
  return node.op === "gather" && table?.op === "replaceRows" && table.inputs[1] === ids ? table.inputs[2] : undefined;
};

/** Looked up or put, the same number everywhere stays that. */
const rowsOfNumbers: Rule = (node) => {
  const value = uniform(node.inputs[0]);
  if (value === undefined) return undefined;
  if (node.op === "gather") return g.full(value, node.shape);
  return node.op === "replaceRows" && uniform(node.inputs[2]) === value ? node.inputs[0] : undefined;
};

/** Rows at distinct ids, or a sum of nothing but such, of the shape of the sum that wants them. */
function isSpread(term: Tensor, shape: Shape, context: Context): boolean {
  const [first] = term.inputs;
  if (!sameShape(term.shape, shape) || !context.usedOnce(term)) return false;
  if (term.op === "add") return term.inputs.every((each) => isSpread(each, shape, context));
  return term.op === "scatterAdd" && first!.shape.length === 1 && isDistinct(first!);
}

/** Rows that are added at distinct ids are added there only, x[ids] += rows; of several sets, one after the other. */
const addAtRows: Rule = (node, context) => {
  if (node.op !== "add") return undefined;
  for (const [x, term] of eitherWay(node)) {
    if (!sameShape(x.shape, node.shape) || isSpread(x, node.shape, context)) continue;
    if (!isSpread(term, node.shape, context)) continue;
    const [a, b] = term.inputs as [Tensor, Tensor];
    return term.op === "add" ? g.add(g.add(x, a), b) : g.replaceRows(x, a, g.add(g.gather(x, a), b));
  }
  return undefined;
};

/** What a gradient that holds added rows is made of: the rows are added outside the graph, so nobody shall wait for their sum. */
function awaited(other: Tensor): Tensor[] {
  if (other.op === "scatterAdd") return [other.inputs[1]!];
  const holdsRows = (each: Tensor): boolean =>
    each.op === "scatterAdd" || (sums.has(each.op) && each.inputs.some(holdsRows));
  return holdsRows(other) ? other.inputs.flatMap(awaited) : [other];
}

const sums: ReadonlySet<Op> = new Set<Op>(["add", "subtract", "negate"]);

/** Who waits for rows that are added up waits for the rows; each is waited for once, and numbers not at all. */
const awaitRows: Rule = (node) => {
  if (node.op !== "after") return undefined;
  const [x, ...others] = node.inputs as [Tensor, ...Tensor[]];
  const apart = [...new Set(others.flatMap(awaited))].filter((each) => uniform(each) === undefined);
  return apart.length === others.length && apart.every((each, i) => each === others[i]) ? undefined : g.after(x, apart);
};

export const rowRules: readonly Rule[] = [gatherOfReplaced, rowsOfNumbers, addAtRows, awaitRows];
