/** Gradients of a loss of which little is kept: what lies between two cuts is computed again. Fetched where it is asked for. */
import { after, full } from "./build.ts";
import type { Sizes } from "./dims.ts";
import { type Arrived, pullThrough, total } from "./gradients.ts";
import { topological } from "./order.ts";
import { isLeaf, segmentsOf } from "./segments.ts";
import { is, withInputs } from "./tensor.ts";
import type { Tensor } from "./vocabulary.ts";

/**
 * Gradients as `gradients` takes them, in less memory and more time: the loss is cut into segments, of which only what enters them is kept; the rest is
 * computed again when the gradient has come so far. `sizes` are those of named dimensions.
 */
export function recomputingGradients(
  loss: Tensor,
  wanted: readonly Tensor[],
  { sizes = new Map(), seed = full(1, loss.shape) }: { sizes?: Sizes | undefined; seed?: Tensor | undefined } = {},
): Tensor[] {
  const finished = new Set<Tensor>();
  return pullThrough(segmentsOf(topological([loss]), sizes), loss, wanted, seed, {
    enter: recomputed,
    leave: (...ended) => finishFirst(...ended, finished),
  });
}

/**
 * The nodes of a segment once more, not before the gradients that arrived at it. What is made of parameters alone, such as weights with a
 * norm's gain in them, waits by its vectors: the copies are small.
 */
function recomputed(segment: readonly Tensor[], arrived: Arrived): Map<Tensor, Tensor> {
  const again = new Map<Tensor, Tensor>();
  const incoming = segment.flatMap((tensor) => (isLeaf(tensor) ? [] : (arrived.get(tensor) ?? [])));
  const late = new Map<Tensor, Tensor>();
  const later = (tensor: Tensor) => {
    const known = late.get(tensor) ?? (tensor.dtype === "float" ? after(tensor, incoming) : tensor);
    late.set(tensor, known);
    return known;
  };
  const own = new Set(segment);
  const isStill = new Set<Tensor>();
  for (const node of segment) {
    if (isLeaf(node)) continue;
    const stays = node.inputs.every((input) => isLeaf(input) || isStill.has(input));
    if (stays) isStill.add(node);
    const inputs = node.inputs.map((input) => {
      if (isLeaf(input)) return stays && is(input, "parameter") && input.shape.length === 1 ? later(input) : input;
      return own.has(input) ? again.get(input)! : later(input);
    });
    again.set(node, withInputs(node, inputs));
  }
  return again;
}

/** Gradients of parameters are worked out before the gradient goes on: what they are made of need not wait for the end. */
function finishFirst(
  segment: readonly Tensor[],
  found: ReadonlyMap<Tensor, Tensor>,
  arrived: Arrived,
  finished: Set<Tensor>,
): void {
  for (const [tensor, contributions] of arrived) arrived.set(tensor, [total(contributions, tensor.shape)]);
  const whole = segment.map((tensor) => [tensor, found.get(tensor)] as const);
  const partly = [...arrived].map(([tensor, [sum]]) => [tensor, sum] as const);
  const others = [...whole, ...partly].flatMap(([tensor, sum]) => {
    if (!isLeaf(tensor) || !sum || finished.has(sum)) return [];
    finished.add(sum);
    return [sum];
  });
  for (const [tensor, [sum]] of arrived) if (!isLeaf(tensor)) arrived.set(tensor, [after(sum!, others)]);
}
