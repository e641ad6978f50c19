/** The position-wise feed-forward layer, and the activations it may use. */
import { gelu, relu, silu, type Tensor, tanh } from "../graph/index.ts";
import { Linear } from "./layers.ts";
import type { Initial, Parameter } from "./parameter.ts";

export const activations = {
  relu,
  silu,
  tanh,
  /** The exact form. */
  gelu: (x: Tensor) => gelu(x, "erf"),
  /** The tanh form. */
  gelu_new: (x: Tensor) => gelu(x, "tanh"),
} as const;

export type Activation = keyof typeof activations;

export interface FeedForwardOptions {
  width: number;
  hidden: number;
  activation: Activation;
  weight?: Initial;
}

export class FeedForward {
  readonly #up: Linear;
  readonly #down: Linear;
  readonly #activate: (x: Tensor) => Tensor;

  constructor(name: string, { width, hidden, activation, weight }: FeedForwardOptions) {
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
