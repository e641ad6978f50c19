/** The report on a model: distinct parameters, executed depth, FLOPs per token, side by side, so that no one figure misleads. */
import { cost, gradients, input, simplify, type Tensor } from "../graph/index.ts";
import type { LanguageModel } from "./language/language.ts";

export interface ModelReport {
  /** Numbers that are stored: shared blocks count once. */
  readonly parameters: number;
  /** Blocks that own weights. */
  readonly uniqueBlocks: number;
  /** Blocks that run. */
  readonly executedDepth: number;
  /** Of one forward pass, at the given length. */
  readonly flopsPerToken: number;
  /** Of one training step, at the given length. */
  readonly trainingFlopsPerToken: number;
}

export function countParameters(parameters: readonly { tensor: Tensor<"parameter"> }[]): number {
  return parameters.reduce((total, { tensor }) => total + tensor.attributes.shape.reduce((a, b) => a * b, 1), 0);
}

/** Counts from the graphs themselves, not from a formula. */
export function reportOn(model: LanguageModel, { length }: { length: number }): ModelReport {
  const logits = model.logits(input("ids", [1, length], "int"));
  const { loss } = model.objective({ batch: 1, length, training: true });
  const wanted = model.parameters.map(({ tensor }) => tensor);
  const training = simplify([loss, ...gradients(loss, wanted)]);
  return {
    parameters: countParameters(model.parameters),
    uniqueBlocks: new Set(model.options.plan).size,
    executedDepth: model.options.plan.length,
    flopsPerToken: cost([logits]).flops / length,
    trainingFlopsPerToken: cost(training).flops / length,
  };
}
