/** Parameters sorted by how they are updated: products inside blocks, other matrices, and what does not decay. */
import type { Parameter } from "../nn/index.ts";
import type { ParameterTensor } from "./memory.ts";

export interface SortedParameters {
  /** Weights of products inside blocks: what Muon is for. */
  readonly hidden: readonly ParameterTensor[];
  /** Look-up tables, heads, and whatever else has two axes. */
  readonly matrices: readonly ParameterTensor[];
  /** Biases and norms. */
  readonly rest: readonly ParameterTensor[];
}

export function sortParameters(parameters: readonly Parameter[]): SortedParameters {
  const isMatrix = ({ tensor }: Parameter) => tensor.attributes.shape.length > 1;
  const isHidden = (each: Parameter) => isMatrix(each) && /^blocks\..*\.weight$/.test(each.name);
  const pick = (test: (parameter: Parameter) => boolean) => parameters.filter(test).map(({ tensor }) => tensor);
  return {
    hidden: pick(isHidden),
    matrices: pick((each) => isMatrix(each) && !isHidden(each)),
    rest: pick((each) => !isMatrix(each)),
  };
}
