/** The report on a model: distinct parameters, executed depth, FLOPs per token, side by side, so that no one figure misleads. */
import { cost, gradients, simplify, type Tensor } from "../graph/index.ts";
import type { CausalModel } from "./causal.ts";

/** The figures of a model that belong side by side. */
export interface ModelReport {
  /** Numbers that are stored: shared blocks count once. */
  readonly parameters: number;
  /** Blocks that own weights. */
  readonly uniqueBlocks: number;
  /** Blocks that run; the most of them where tokens halt. */
  readonly executedDepth: number;
  /** Of one forward pass, at the given length and through all depths. */
  readonly flopsPerToken: number;
  /** Of one training step, at the given length and through all depths. */
  readonly trainingFlopsPerToken: number;
}

/** Numbers in distinct parameters. */
export function countParameters(parameters: readonly { tensor: Tensor<"parameter"> }[]): number {
  return parameters.reduce((total, { tensor }) => total + tensor.attributes.shape.reduce((a, b) => a * b, 1), 0);
}

/** Counts from the graphs themselves, not from a formula: any causal model over any depth policy. */
export function reportOn(model: CausalModel, { length }: { length: number }): ModelReport {
  const { outputs, sizes } = model.forward({ batch: 1, length });
  const { loss } = model.objective({ batch: 1, length, training: true });
  const wanted = model.parameters.map(({ tensor }) => tensor);
  const training = simplify([loss, ...gradients(loss, wanted)]);
  const { depth, unique = depth } = model.policy;
  return {
    parameters: countParameters(model.parameters),
    uniqueBlocks: unique,
    executedDepth: depth,
    flopsPerToken: cost(outputs, sizes).flops / length,
    trainingFlopsPerToken: cost(training, sizes).flops / length,
  };
}
