/** The report on a model: distinct parameters, executed depth, FLOPs per token, side by side, so that no one figure misleads. */
import { cost, gradients, namesIn, simplify, type Tensor, topological } from "../graph/index.ts";
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

/**
 * FLOPs per token of an evaluation in which tokens run through `depth` blocks in the mean: what is left of `flopsPerToken` where blocks
 * compute only tokens that still run. Keys and values that stopped tokens show to the others count. Where every block computes all tokens
 * nothing is saved.
 */
export function flopsAtDepth(
  model: CausalModel,
  { length, depth, flopsPerToken }: { length: number; depth: number } & Pick<ModelReport, "flopsPerToken">,
): number {
  const { loss } = model.objective({ batch: 1, length, training: false });
  const nodes = topological([loss]);
  const names = new Set(nodes.flatMap(({ shape }) => shape.flatMap(namesIn)));
  if (names.size === 0) return flopsPerToken;
  const narrow = nodes.filter(({ op, shape }) => op === "matmul" && shape.some((dim) => typeof dim === "string"));
  const narrowed = new Set(narrow.flatMap(({ scope }) => DEPTH.exec(scope)?.[0] ?? [])).size;
  const atRows = (rows: number) => cost([loss], new Map([...names].map((name) => [name, rows]))).flops / length;
  // Costs are linear in how many rows run, so that depths with the same fraction of them stand for any with this mean.
  const fraction = Math.max(0, 1 - (model.policy.depth - depth) / narrowed);
  return flopsPerToken - (atRows(length) - atRows(fraction * length));
}

/** Where a block runs, in the scope of what it computes: `part 1 / depth 3`. */
const DEPTH = /^.*\bdepth \d+/;
