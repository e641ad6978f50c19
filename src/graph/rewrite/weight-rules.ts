/** Rules for a graph that is to be differentiated: what is done to every row of a product is done to its weights instead. */
import * as g from "../build.ts";
import { type Shape, sameShape, sizeOf } from "../dims.ts";
import { is, withInputs } from "../tensor.ts";
import type { Tensor } from "../vocabulary.ts";
import { type Context, eitherWay, type Rule, uniform } from "./rule.ts";

/** A parameter or a part of one. */
const isWeight = (tensor: Tensor): boolean =>
  tensor.op === "parameter" || (tensor.op === "slice" && isWeight(tensor.inputs[0]!));

/** Rows times a matrix of weights. */
function isLinear(node: Tensor): node is Tensor<"matmul"> {
  const [rows, weight] = node.inputs;
  return is(node, "matmul") && rows!.shape.length === 2 && !node.attributes.transposeA && isWeight(weight!);
}

const smaller = (a: Shape, b: Shape) => Number(sizeOf(a)) <= Number(sizeOf(b));

/** True when it makes the logits of classes: the gradients of their weights are worked out class by class. */
const isClassifier = (node: Tensor, context: Context): boolean =>
  !context.everyUse(node, (user) => user.op !== "logSoftmax" && (user.op !== "add" || !isClassifier(user, context)));

/** True when of these rows, reshaped or joined with others, only products with weights are wanted that are smaller than the rows. */
function onlyProjected(rows: Tensor, context: Context): boolean {
  return context.everyUse(rows, (user) => {
    if (user.op === "reshape" || user.op === "concat") return onlyProjected(user, context);
    return isLinear(user) && smaller(user.inputs[1]!.shape, user.inputs[0]!.shape) && !isClassifier(user, context);
  });
}

/** Rows x̂ ∘ gain + bias. */
interface Affine {
  readonly plain: Tensor;
  readonly gain: Tensor;
  readonly bias: Tensor;
}

/** Normalised rows, taken apart: those of one norm, or of the same one at several places, joined. */
function normalised(rows: Tensor, context: Context): Affine | undefined {
  if (is(rows, "layerNorm")) {
    const [x, gain, bias] = rows.inputs as [Tensor, Tensor, Tensor];
    if (uniform(gain) !== undefined || !onlyProjected(rows, context)) return undefined;
    const width = gain.shape as readonly number[];
    return { plain: g.layerNorm(x, g.full(1, width), g.full(0, width), rows.attributes.epsilon), gain, bias };
  }
  if (rows.op !== "reshape" && rows.op !== "concat") return undefined;
  const parts = rows.inputs.map((part) => normalised(part, context));
  const [first] = parts;
  if (!first || rows.shape.at(-1) !== first.plain.shape.at(-1)) return undefined;
  if (!parts.every((part) => part?.gain === first.gain && part.bias === first.bias)) return undefined;
  const plains = parts.map((part) => part!.plain);
  return { ...first, plain: withInputs(rows, plains) };
}

/**
 * (x̂ ∘ g + b) · W = x̂ · (g ∘ W) + b · W: gain and bias of a norm go into the weights, so norms of the same rows become one, and the
 * gradients of gain and bias come out of those of the weights.
 */
const normIntoWeights: Rule = (node, context) => {
  const affine = isLinear(node) ? normalised(node.inputs[0]!, context) : undefined;
  if (!affine) return undefined;
  const { transposeA, transposeB, scale } = (node as Tensor<"matmul">).attributes;
  const { weight, shift } = folded(node.inputs[1]!, affine, transposeB);
  return g.add(g.matmul(affine.plain, weight, { transposeA, transposeB, scale }), g.multiply(shift, scale));
};

/** g ∘ W and b · W; of some of the columns, cut from those of all, which others may want too. */
function folded(weight: Tensor, affine: Affine, transposed: boolean): { weight: Tensor; shift: Tensor } {
  const { gain, bias } = affine;
  const out = transposed ? 0 : 1;
  if (is(weight, "slice") && weight.attributes.axis === out) {
    const { start, end } = weight.attributes;
    const whole = folded(weight.inputs[0]!, affine, transposed);
    return { weight: g.slice(whole.weight, out, start, end), shift: g.slice(whole.shift, 0, start, end) };
  }
  const shift = g.matmul(g.expandDims(bias, 0), weight, { transposeB: transposed });
  const scaled = g.multiply(weight, transposed ? gain : g.expandDims(gain, -1));
  return { weight: scaled, shift: g.reshape(shift, [weight.shape[out]!]) };
}

/** (x + v) + w = x + (v + w), v and w being rows: the sum of rows is a bias. */
const addRowsFirst: Rule = (node, { usedOnce }) => {
  const [sum, row] = node.inputs;
  if (node.op !== "add" || sum?.op !== "add" || row!.shape.length !== 1 || !usedOnce(sum)) return undefined;
  const [x, first] = sum.inputs as [Tensor, Tensor];
  return first.shape.length === 1 && sameShape(first.shape, row!.shape) ? g.add(x, g.add(first, row!)) : undefined;
};

/** s ∘ mask ∘ (x · W + b) = mask ∘ (x · (s ∘ W) + s ∘ b), s being one number. */
const scaleIntoWeights: Rule = (node, context) => {
  if (node.op !== "multiply") return undefined;
  for (const [y, factor] of eitherWay(node)) {
    const isNumber = sizeOf(factor.shape) === 1 && uniform(factor) === undefined;
    const found = isNumber && sameShape(y.shape, node.shape) ? scaledLinear(y, factor, context) : undefined;
    if (found) return found;
  }
  return undefined;
};

function scaledLinear(y: Tensor, factor: Tensor, context: Context): Tensor | undefined {
  if (!context.usedOnce(y)) return undefined;
  const [left, right] = y.inputs as [Tensor, Tensor];
  if (isLinear(y))
    return smaller(right.shape, y.shape) ? g.matmul(left, g.multiply(right, factor), y.attributes) : undefined;
  const isMasked = y.op === "multiply" && right.op === "input" && sameShape(left.shape, y.shape);
  const isBiased = y.op === "add" && right.shape.length === 1;
  const inner = isMasked || isBiased ? scaledLinear(left, factor, context) : undefined;
  if (!inner) return undefined;
  return isMasked ? g.multiply(inner, right) : g.add(inner, g.multiply(right, factor));
}

export const weightRules: readonly Rule[] = [normIntoWeights, addRowsFirst, scaleIntoWeights];
