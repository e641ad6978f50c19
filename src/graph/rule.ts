/** What a rule of the simplifier is, what it may ask, and how it sees numbers. */
import { is } from "./tensor.ts";
import type { DType, Tensor } from "./vocabulary.ts";

/** What a rule may ask about the graph as it was. */
export interface Context {
  /** True when this node's value is wanted by one user only, so that it may be merged into that user. */
  usedOnce(tensor: Tensor): boolean;
  /** True when softmax of x is computed too. */
  hasSoftmax(x: Tensor): boolean;
}

/** A cheaper equal of the node, or undefined. */
export type Rule = (node: Tensor, context: Context) => Tensor | undefined;

/** The number a node holds everywhere, looking through broadcasts and reshapes. */
export function uniform(tensor: Tensor | undefined, dtype: DType = "float"): number | undefined {
  if (tensor?.dtype !== dtype) return undefined;
  if (is(tensor, "constant")) return tensor.attributes.data.length === 1 ? tensor.attributes.data[0] : undefined;
  return tensor.op === "broadcast" || tensor.op === "reshape" ? uniform(tensor.inputs[0], dtype) : undefined;
}
