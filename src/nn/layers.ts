/** The layers everything is made of: linear, embedding, norms. A layer owns its parameters; using it twice shares them. */
import { reject } from "../base/errors.ts";
import { anything, check, checkOptions, number, oneOf, type Rules, required, truth, whole } from "../base/options.ts";
import {
  add,
  divide,
  gather,
  layerNorm,
  matmul,
  mean,
  multiply,
  roles,
  sqrt,
  square,
  type Tensor,
} from "../graph/index.ts";
import {
  type Initial,
  kaimingUniform,
  newParameter,
  normal,
  ones,
  type Parameter,
  type Role,
  zeros,
} from "./parameter.ts";

/** Sizes, first values and role of a linear map. */
export interface LinearOptions {
  in: number;
  out: number;
  bias?: boolean;
  weight?: Initial;
  /** Of the weight. Default: matrix, for a product inside a block; outside of blocks it is a head. */
  role?: Role;
}

const linearRules: Rules<LinearOptions> = {
  in: required(whole(1)),
  out: required(whole(1)),
  bias: truth,
  weight: anything,
  role: oneOf(roles),
};

/** y = x · Wᵀ + b, with W of shape [out, in]. */
export class Linear {
  readonly weight: Parameter;
  readonly bias: Parameter | undefined;

  constructor(name: string, options: LinearOptions) {
    checkOptions(name, options, linearRules);
    const { in: width, out, bias = true, weight = kaimingUniform, role = "matrix" } = options;
    this.weight = newParameter(`${name}.weight`, [out, width], weight, role);
    this.bias = bias ? newParameter(`${name}.bias`, [out], zeros, "bias") : undefined;
  }

  get parameters(): Parameter[] {
    return this.bias ? [this.weight, this.bias] : [this.weight];
  }

  /** x [N, in] → [N, out] */
  apply(x: Tensor): Tensor {
    const y = matmul(x, this.weight.tensor, { transposeB: true });
    return this.bias ? add(y, this.bias.tensor) : y;
  }
}

/** Size, first values and role of a table. */
export interface EmbeddingOptions {
  /** Number of vectors. */
  count: number;
  width: number;
  weight?: Initial;
  /** Default: table. */
  role?: Role;
}

const embeddingRules: Rules<EmbeddingOptions> = {
  count: required(whole(1)),
  width: required(whole(1)),
  weight: anything,
  role: oneOf(roles),
};

/** A table of vectors, one per id; its transpose serves as the head of tied models. */
export class Embedding {
  readonly weight: Parameter;

  constructor(name: string, options: EmbeddingOptions) {
    checkOptions(name, options, embeddingRules);
    const { count, width, weight = normal(0.02), role = "table" } = options;
    this.weight = newParameter(`${name}.weight`, [count, width], weight, role);
  }

  get parameters(): Parameter[] {
    return [this.weight];
  }

  /** ids [I…] → [I…, C] */
  apply(ids: Tensor): Tensor {
    return gather(this.weight.tensor, ids);
  }

  /** x [N, C] → [N, V] */
  logits(x: Tensor): Tensor {
    return matmul(x, this.weight.tensor, { transposeB: true });
  }
}

/** Size of a norm. */
export interface NormOptions {
  width: number;
  /** Added to the variance or the mean square. Default: 1e-5. */
  epsilon?: number;
}

const normRules: Rules<NormOptions> = { width: required(whole(1)), epsilon: number({ above: 0 }) };

/** A norm over the last axis. */
export interface Norm {
  readonly parameters: readonly Parameter[];
  apply(x: Tensor): Tensor;
}

/** Layer norm over the last axis. */
export class LayerNorm implements Norm {
  readonly weight: Parameter;
  readonly bias: Parameter;
  readonly epsilon: number;

  constructor(name: string, options: NormOptions) {
    checkOptions(name, options, normRules);
    const { width, epsilon = 1e-5 } = options;
    this.weight = newParameter(`${name}.weight`, [width], ones, "norm");
    this.bias = newParameter(`${name}.bias`, [width], zeros, "norm");
    this.epsilon = epsilon;
  }

  get parameters(): Parameter[] {
    return [this.weight, this.bias];
  }

  apply(x: Tensor): Tensor {
    return layerNorm(x, this.weight.tensor, this.bias.tensor, this.epsilon);
  }
}

/** x / √(mean x² + epsilon) · gain, over the last axis: no mean is taken off, and nothing is added. */
export class RmsNorm implements Norm {
  readonly weight: Parameter;
  readonly epsilon: number;

  constructor(name: string, options: NormOptions) {
    checkOptions(name, options, normRules);
    const { width, epsilon = 1e-5 } = options;
    this.weight = newParameter(`${name}.weight`, [width], ones, "norm");
    this.epsilon = epsilon;
  }

  get parameters(): Parameter[] {
    return [this.weight];
  }

  apply(x: Tensor): Tensor {
    const size = sqrt(add(mean(square(x), { axes: [-1], keepDims: true }), this.epsilon));
    return multiply(divide(x, size), this.weight.tensor);
  }
}

/** The norms by name. */
export const norms = {
  layer: (name: string, options: NormOptions): Norm => new LayerNorm(name, options),
  rms: (name: string, options: NormOptions): Norm => new RmsNorm(name, options),
} as const;

/** Names of norms. */
export type NormName = keyof typeof norms;

/** Width of one head. */
export function headWidth(who: string, width: number, heads: number): number {
  check(`${who} / heads`, heads, whole(1));
  if (width % heads === 0) return width / heads;
  const remedy = `set width to ${Math.ceil(width / heads) * heads}`;
  return reject({ who, needed: "a width divisible by heads", got: `width ${width}, heads ${heads}`, remedy }, 2);
}
