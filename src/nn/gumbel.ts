/** Gumbel-softmax: differentiable draws from a learned distribution. */
import {
  add,
  argMax,
  divide,
  log,
  maximum,
  type Operand,
  oneHot,
  softmax,
  stopGradient,
  subtract,
  type Tensor,
} from "../graph/index.ts";

/** log(max(π, 0) + 10⁻⁵): how the original turns its weights into logits. Gradients pass where π ≥ 0. */
export function clippedLog(weights: Tensor): Tensor {
  return log(add(maximum(weights, 0), 1e-5));
}

/** softmax((logits + g) / τ) over the last axis, g standard Gumbel numbers: a soft draw. */
export function gumbelSoftmax(logits: Tensor, noise: Tensor, temperature: Operand): Tensor {
  return softmax(divide(add(logits, noise), temperature));
}

/** The one-hot of the largest value, with the gradient of the soft draw. */
export function straightThrough(soft: Tensor): Tensor {
  return add(soft, stopGradient(subtract(oneHot(argMax(soft), soft.shape.at(-1)!), soft)));
}
