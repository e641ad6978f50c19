/** The depth policy: how blocks become depth. the policies are siblings, `nested` composes them; shared code never asks which it has. */
import type { Tensor } from "../graph/index.ts";
import type { Block, Context, Parameter } from "../nn/index.ts";

/** A depth at which a text may be read off: its state, and what it counts for in the loss. */
export interface Exit {
  /** [B·T, C] */
  readonly hidden: Tensor;
  /** [B·T, 1] or [1, 1]; those of all exits add up to 1 for every token. */
  readonly probability: Tensor;
}

/** What a policy makes of a hidden state. */
export interface Deepened {
  /** [B·T, C], like the input. */
  readonly hidden: Tensor;
  /** In training, where several depths are to predict: the loss is the sum of theirs by probability instead of that of `hidden`. */
  readonly exits?: readonly Exit[] | undefined;
  /** A scalar to be added to the loss, where the policy has one (ponder cost, expected latency). */
  readonly penalty?: Tensor;
  /** Tokens that the penalty is a mean over, where batches differ in that. */
  readonly penaltyCount?: Tensor;
  /** What is worth looking at: architecture weights, iterations per token, halting probabilities. */
  readonly probes: Readonly<Record<string, Tensor>>;
}

/** Value of a scalar at an update: `step` counts from 0, `total` is the number of updates in all. */
export type Course = (step: number, total: number) => number;

/** A scalar input of training, such as a temperature or the scale of a penalty, and the course it takes. */
export interface TrainingScalar {
  readonly input: Tensor<"input">;
  readonly at: Course;
}

/** Scalars under the names of their inputs. */
export type TrainingScalars = Readonly<Record<string, TrainingScalar>>;

/**
 * How blocks become depth. A policy owns its blocks, is applied to the embedded rows, and says what training, generation and reports
 * have to know of it. Yours is an object of this shape.
 */
export interface DepthPolicy {
  /** Distinct parameters of all blocks and of the policy itself, in a fixed order. */
  readonly parameters: readonly Parameter[];
  /** Blocks that run at most. */
  readonly depth: number;
  /** Blocks that own weights. Default: as many as run. */
  readonly unique?: number;
  /** Caches with which it continues a text token by token, all of its blocks' together (see `Block`); absent: it cannot. */
  readonly caches?: number | undefined;
  /** What training has to feed as it goes on, under the names of the inputs, with the value at each update. */
  readonly scalars?: TrainingScalars;
  /** Blocks as every token runs through all of them in use, where that is all that it does: drafts and their checks divide it. */
  readonly order?: readonly Block[] | undefined;
  /**
   * The same weights with at most so many blocks, for drafts that the whole then checks; undefined where so few make no model, absent where
   * there is none.
   */
  shallower?(depth: number): DepthPolicy | undefined;
  /** x [B·T, C] → the state after all depths. */
  apply(x: Tensor, context: Context): Deepened;
}

/** The inputs of a policy's scalars, as an objective lists them. */
export function scalarInputs({ scalars = {} }: Pick<DepthPolicy, "scalars">): Record<string, Tensor<"input">> {
  return Object.fromEntries(Object.entries(scalars).map(([name, { input }]) => [name, input]));
}

/** The courses of a policy's scalars, as an objective hands them to training. */
export function scalarCourses({ scalars = {} }: Pick<DepthPolicy, "scalars">): Record<string, Course> {
  return Object.fromEntries(Object.entries(scalars).map(([name, { at }]) => [name, at]));
}
