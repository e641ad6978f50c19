/** Rules on numbers one by one: arithmetic, broadcasts, layout, choices, rows. */
import * as g from "../build.ts";
import { broadcastShapes, type Shape, sameShape, sizeOf } from "../dims.ts";
import { is, withInputs } from "../tensor.ts";
import type { Op, Tensor } from "../vocabulary.ts";
import { type Rule, scaled, uniform } from "./rule.ts";

const elementwise = new Set<Op>([
  ...(["add", "subtract", "multiply", "divide", "maximum", "minimum", "equal", "less", "greater"] as const),
  ...(["and", "or", "select"] as const),
]);
const unary = new Set<Op>(["negate", "abs", "exp", "log", "sqrt", "erf", "tanh", "sigmoid", "relu", "silu", "not"]);

const folds: Partial<Record<Op, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  maximum: Math.max,
  minimum: Math.min,
  negate: (a) => -a,
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
};

/** Arithmetic on numbers that are the same everywhere. */
const foldNumbers: Rule = (node) => {
  const fold = folds[node.op];
  const values = node.inputs.map((each) => uniform(each));
  if (!fold || values.some((value) => value === undefined)) return undefined;
  return g.full(fold(values[0]!, values[1] ?? 0), node.shape);
};

/** x + 0, x − 0, x · 1, x / 1 */
const dropNeutral: Rule = (node) => {
  const neutral =
    node.op === "add" || node.op === "subtract" ? 0 : node.op === "multiply" || node.op === "divide" ? 1 : undefined;
  if (neutral === undefined) return undefined;
  const [a, b] = [node.inputs[0]!, node.inputs[1]!];
  if (uniform(b) === neutral && sameShape(a.shape, node.shape)) return a;
  const commutes = node.op === "add" || node.op === "multiply";
  return commutes && uniform(a) === neutral && sameShape(b.shape, node.shape) ? b : undefined;
};

/** Element-wise operations broadcast by themselves: an explicit broadcast that changes nothing goes. */
const dropBroadcast: Rule = (node) => {
  if (!elementwise.has(node.op) || !node.inputs.some((input) => input.op === "broadcast")) return undefined;
  for (let i = 0; i < node.inputs.length; i++) {
    const input = node.inputs[i]!;
    if (input.op !== "broadcast") continue;
    const inputs = node.inputs.with(i, input.inputs[0]!);
    const shape = inputs.reduce<Shape | undefined>((all, each) => all && broadcastShapes(all, each.shape), []);
    if (shape && sameShape(shape, node.shape)) return withInputs(node, inputs);
  }
  return undefined;
};

/** f(broadcast x) = broadcast f(x); reshape of one number is that number. */
const sinkBroadcast: Rule = (node) => {
  const input = node.inputs[0];
  if (input?.op !== "broadcast") return undefined;
  const source = input.inputs[0]!;
  if (node.op === "reshape" && sizeOf(source.shape) === 1) return g.broadcast(g.reshape(source, []), node.shape);
  if (!unary.has(node.op)) return undefined;
  return g.broadcast({ ...withInputs(node, [source]), shape: source.shape }, node.shape);
};

/** (x · c) · d = x · (c·d) */
const mergeScales: Rule = (node) => {
  const [inner, c] = scaled(node) ?? [];
  const [x, d] = (inner && scaled(inner)) ?? [];
  return x && sameShape(x.shape, node.shape) ? g.multiply(x, c! * d!) : undefined;
};

/** a + (−b) = a − b, a − (−b) = a + b. */
const dropNegation: Rule = (node) => {
  const [a, b] = node.inputs;
  if (node.op === "add" && b?.op === "negate") return g.subtract(a!, b.inputs[0]!);
  if (node.op === "add" && a?.op === "negate") return g.subtract(b!, a.inputs[0]!);
  if (node.op === "subtract" && b?.op === "negate") return g.add(a!, b.inputs[0]!);
  return undefined;
};

const mergeLayout: Rule = (node) => {
  const [x] = node.inputs;
  if (is(node, "reshape")) {
    if (sameShape(x!.shape, node.shape)) return x;
    return x!.op === "reshape" ? g.reshape(x!.inputs[0]!, node.shape) : undefined;
  }
  if (!is(node, "transpose")) return undefined;
  const { permutation } = node.attributes;
  if (permutation.every((axis, i) => axis === i)) return x;
  if (!is(x!, "transpose")) return undefined;
  const before = x.attributes.permutation;
  return g.transpose(
    x.inputs[0]!,
    permutation.map((axis) => before[axis]!),
  );
};

const dropCast: Rule = (node) =>
  node.op === "cast" && node.dtype === node.inputs[0]!.dtype ? node.inputs[0] : undefined;

/** A choice that is the same everywhere is no choice. */
const chooseOnce: Rule = (node) => {
  const [condition, yes, no] = node.inputs;
  const value = node.op === "select" ? uniform(condition, "bool") : undefined;
  if (value === undefined) return undefined;
  const chosen = value ? yes! : no!;
  return sameShape(chosen.shape, node.shape) ? chosen : g.broadcast(chosen, node.shape);
};

/** 1 / (e^−x + 1) = sigmoid x, where no pull-back wants what comes between. */
const recogniseSigmoid: Rule = (node, { usedOnce }) => {
  const [one, total] = node.inputs;
  if (node.op !== "divide" || uniform(one) !== 1 || total!.op !== "add" || uniform(total!.inputs[1]) !== 1)
    return undefined;
  const power = total!.inputs[0]!;
  const negated = power.op === "exp" ? power.inputs[0]! : undefined;
  if (negated?.op !== "negate" || ![total!, power, negated].every(usedOnce)) return undefined;
  return sameShape(negated.shape, node.shape) ? g.sigmoid(negated.inputs[0]!) : undefined;
};

/** w · y + (1 − w) · x = x + w · (y − x), where no pull-back wants the products. */
const blendOnce: Rule = (node, { usedOnce }) => {
  const [share, rest] = node.inputs;
  if (node.op !== "add" || share!.op !== "multiply" || rest!.op !== "multiply") return undefined;
  const [w, y] = share!.inputs as [Tensor, Tensor];
  const [remaining, x] = rest!.inputs as [Tensor, Tensor];
  const isRest = remaining.op === "subtract" && uniform(remaining.inputs[0]) === 1 && remaining.inputs[1] === w;
  if (!isRest || !sameShape(x.shape, y.shape) || !sameShape(x.shape, node.shape)) return undefined;
  return [share!, rest!, remaining].every(usedOnce) ? g.add(x, g.multiply(w, g.subtract(y, x))) : undefined;
};

export const elementRules: readonly Rule[] = [
  foldNumbers,
  dropNeutral,
  dropBroadcast,
  sinkBroadcast,
  mergeScales,
  dropNegation,
  mergeLayout,
  dropCast,
  chooseOnce,
  recogniseSigmoid,
  blendOnce,
];
