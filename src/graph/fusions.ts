/** Rules that recognise what a runtime computes in one go, where no pull-back wants what lies between. */
import * as g from "./build.ts";
import { type Dim, multiplyDims, sameShape } from "./dims.ts";
import { type Rule, uniform } from "./rule.ts";
import { is } from "./tensor.ts";
import type { Tensor } from "./vocabulary.ts";

/** 1 / (e^−x + 1) = sigmoid x, where no pull-back wants what comes between. */
export const recogniseSigmoid: Rule = (node, { usedOnce }) => {
  const [one, total] = node.inputs;
  if (node.op !== "divide" || uniform(one) !== 1 || total!.op !== "add" || uniform(total!.inputs[1]) !== 1)
    return undefined;
  const power = total!.inputs[0]!;
  const negated = power.op === "exp" ? power.inputs[0]! : undefined;
  if (negated?.op !== "negate" || ![total!, power, negated].every(usedOnce)) return undefined;
  return sameShape(negated.shape, node.shape) ? g.sigmoid(negated.inputs[0]!) : undefined;
};

/** w · y + (1 − w) · x = x + w · (y − x), where no pull-back wants the products. */
export const blendOnce: Rule = (node, { usedOnce }) => {
  const [share, rest] = node.inputs;
  if (node.op !== "add" || share!.op !== "multiply" || rest!.op !== "multiply") return undefined;
  const [w, y] = share!.inputs as [Tensor, Tensor];
  const [remaining, x] = rest!.inputs as [Tensor, Tensor];
  const isRest = remaining.op === "subtract" && uniform(remaining.inputs[0]) === 1 && remaining.inputs[1] === w;
  if (!isRest || !sameShape(x.shape, y.shape) || !sameShape(x.shape, node.shape)) return undefined;
  return [share!, rest!, remaining].every(usedOnce) ? g.add(x, g.multiply(w, g.subtract(y, x))) : undefined;
};

const swapsHeads = (node: Tensor) => is(node, "transpose") && String(node.attributes.permutation) === "0,2,1,3";

/** [B, S, H·D] where the node is that by head, [B, H, S, D]. */
function beforeHeads(node: Tensor): Tensor | undefined {
  if (!swapsHeads(node)) return undefined;
  const [batch, length, heads, width] = node.inputs[0]!.shape as [Dim, Dim, Dim, Dim];
  return g.reshape(node.inputs[0]!, [batch, length, multiplyDims(heads, width)]);
}

/** The node where it is a · b, or a · bᵀ where that is asked for. */
function product(node: Tensor | undefined, transposed: boolean): Tensor<"matmul"> | undefined {
  if (!node || !is(node, "matmul") || node.attributes.transposeA) return undefined;
  return node.attributes.transposeB === transposed ? node : undefined;
}

/** softmax(scale · q · kᵀ) · v, by head and back, is one operation: neither heads nor scores are written. */
export const recogniseAttention: Rule = (node, { usedOnce }) => {
  const mixed = swapsHeads(node) ? product(node.inputs[0], false) : undefined;
  const weights = mixed?.attributes.scale === 1 && mixed.inputs[0]!.op === "softmax" ? mixed.inputs[0]! : undefined;
  const scores = product(weights?.inputs[0], true);
  if (!mixed || !weights || !scores || ![mixed, weights, scores].every(usedOnce)) return undefined;
  const folded = [scores.inputs[0]!, scores.inputs[1]!, mixed.inputs[1]!];
  const [batch, heads] = folded[0]!.shape;
  const [q, k, v] = folded.map(beforeHeads);
  const alike = folded.every(({ shape }) => shape[0] === batch && shape[1] === heads && typeof shape[3] === "number");
  if (!q || !k || !v || !alike || typeof heads !== "number") return undefined;
  return g.reshape(g.attention(q, k, v, { heads, scale: scores.attributes.scale }), node.shape);
};
