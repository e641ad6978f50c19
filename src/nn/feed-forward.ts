/** The position-wise feed-forward layer, and the activations it may use. */
import { anything, checkOptions, oneOf, type Rules, required, truth, whole } from "../base/options.ts";
import { gelu, multiply, relu, silu, square, type Tensor, tanh } from "../graph/index.ts";
import { Linear } from "./layers.ts";
import type { Initial, Parameter } from "./parameter.ts";

/** The activations by name. */
export const activations = {
  relu,
  /** max(x, 0)². */
  relu2: (x: Tensor) => square(relu(x)),
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
  /** Whether products add a bias. Default: true. */
  bias?: boolean | undefined;
  /** down(activation(gate x) · up x), such as SwiGLU with silu. Default: false. */
  gated?: boolean | undefined;
}

/** The rule of options that name an activation. */
export const activationRule = oneOf(Object.keys(activations));

const rules: Rules<FeedForwardOptions> = {
  width: required(whole(1)),
  hidden: required(whole(1)),
  activation: required(activationRule),
  weight: anything,
  bias: truth,
  gated: truth,
};

/** down(activation(up x)), or down(activation(gate x) · up x). */
export class FeedForward {
  readonly #gate: Linear | undefined;
  readonly #up: Linear;
  readonly #down: Linear;
  readonly #activate: (x: Tensor) => Tensor;

  constructor(name: string, options: FeedForwardOptions) {
    checkOptions(name, options, rules);
    const { width, hidden, activation, weight, bias = true, gated = false } = options;
    const given = { bias, ...(weight ? { weight } : {}) };
    this.#gate = gated ? new Linear(`${name}.gate`, { in: width, out: hidden, ...given }) : undefined;
    this.#up = new Linear(`${name}.up`, { in: width, out: hidden, ...given });
    this.#down = new Linear(`${name}.down`, { in: hidden, out: width, ...given });
    this.#activate = activations[activation];
  }

  get parameters(): Parameter[] {
    return [...(this.#gate?.parameters ?? []), ...this.#up.parameters, ...this.#down.parameters];
  }

  apply(x: Tensor): Tensor {
    const up = this.#up.apply(x);
    return this.#down.apply(this.#gate ? multiply(this.#activate(this.#gate.apply(x)), up) : this.#activate(up));
  }
}
