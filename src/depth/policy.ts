/** The depth policy: how blocks become depth. `fixed`, `searched` and `halting` are siblings, `nested` composes them; shared code never asks which it has. */
import type { Tensor } from "../graph/index.ts";
import type { Context, Parameter } from "../nn/index.ts";

/** What a policy makes of a hidden state. */
export interface Deepened {
  /** [B·T, C], like the input. */
  readonly hidden: Tensor;
  /** A scalar to be added to the loss, where the policy has one (ponder cost, expected latency). */
  readonly penalty?: Tensor;
  /** What one may want to look at: architecture weights, iterations per token, halting probabilities. */
  readonly probes: Readonly<Record<string, Tensor>>;
}

export interface DepthPolicy {
  /** Distinct parameters of all blocks and of the policy itself, in a fixed order. */
  readonly parameters: readonly Parameter[];
  /** Blocks that run at most. */
  readonly depth: number;
  /** Scalar inputs that training has to feed as it goes on, by name: a temperature, the scale of a penalty. */
  readonly scalars?: Readonly<Record<string, Tensor<"input">>>;
  /** x [B·T, C] → the state after all depths. */
  apply(x: Tensor, context: Context): Deepened;
}
