/** The position-wise feed-forward layer, and the activations it may use. */
import { anything, checkOptions, oneOf, type Rules, required, whole } from "../base/options.ts";
import { gelu, relu, silu, type Tensor, tanh } from "../graph/index.ts";
import { Linear } from "./layers.ts";
import type { Initial, Parameter } from "./parameter.ts";

/** The activations by name. */
export const activations = {
  relu,
  silu,
  tanh,
  /** The exact form. */
  gelu: (x: Tensor) => gelu(x, "erf"),
  /** The tanh form. */
  gelu_new: (x: Tensor) => gelu(x, "tanh"),
} as const;

/** Names of activations. */
export type Activation = keyof typeof activations;

/** Sizes of a feed-forward layer. */
export interface FeedForwardOptions {
  width: number;
  hidden: number;
  activation: Activation;
  weight?: Initial;
}

const rules: Rules<FeedForwardOptions> = {
  width: required(whole(1)),
  hidden: required(whole(1)),
  activation: required(oneOf(Object.keys(activations))),
  weight: anything,
};

/** down(activation(up x)). */
export class FeedForward {
  readonly #up: Linear;
  readonly #down: Linear;
  readonly #activate: (x: Tensor) => Tensor;

  constructor(name: string, options: FeedForwardOptions) {
    checkOptions(name, options, rules);
    const { width, hidden, activation, weight } = options;
    const initial = weight ? { weight } : {};
    this.#up = new Linear(`${name}.up`, { in: width, out: hidden, ...initial });
    this.#down = new Linear(`${name}.down`, { in: hidden, out: width, ...initial });
    this.#activate = activations[activation];
  }

  get parameters(): Parameter[] {
    return [...this.#up.parameters, ...this.#down.parameters];
  }

  apply(x: Tensor): Tensor {
    return this.#down.apply(this.#activate(this.#up.apply(x)));
  }
}
