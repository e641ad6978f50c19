/** What a rule of the simplifier is, what it may ask, and how it sees numbers. */
import { sameShape } from "../dims.ts";
import { is } from "../tensor.ts";
import type { DType, Tensor } from "../vocabulary.ts";

/** What a rule may ask about the graph as it was. */
export interface Context {
  /** True when this node's value is wanted by one user only, so that it may be merged into that user. */
  usedOnce(tensor: Tensor): boolean;
  /** True when softmax of x is computed too. */
  hasSoftmax(x: Tensor): boolean;
  /** True when this node is no output and every user of it, as it was, is of this kind. */
  everyUse(tensor: Tensor, kind: (user: Tensor) => boolean): boolean;
  /** The same node, where it is computed already. */
  known(tensor: Tensor): Tensor | undefined;
}

/** A cheaper equal of the node, or undefined. */
export type Rule = (node: Tensor, context: Context) => Tensor | undefined;

/** The number a node holds everywhere, looking through broadcasts and reshapes. */
export function uniform(tensor: Tensor | undefined, dtype: DType = "float"): number | undefined {
  if (tensor?.dtype !== dtype) return undefined;
  if (is(tensor, "constant")) return tensor.attributes.data.length === 1 ? tensor.attributes.data[0] : undefined;
  return tensor.op === "broadcast" || tensor.op === "reshape" ? uniform(tensor.inputs[0], dtype) : undefined;
}

/** x and c where the node is x · c. */
export function scaled(node: Tensor): [Tensor, number] | undefined {
  if (node.op === "negate") return [node.inputs[0]!, -1];
  if (node.op !== "multiply") return undefined;
  const [a, b] = [node.inputs[0]!, node.inputs[1]!];
  const [onRight, onLeft] = [uniform(b), uniform(a)];
  if (onRight !== undefined && sameShape(a.shape, node.shape)) return [a, onRight];
  return onLeft !== undefined && sameShape(b.shape, node.shape) ? [b, onLeft] : undefined;
}

/** A node's two inputs, and the same turned round. */
export const eitherWay = (node: Tensor) => [node.inputs, node.inputs.toReversed()] as [Tensor, Tensor][];
