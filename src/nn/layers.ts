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
  /** What is added to the weight: scale · B·A, at first 0. Default: nothing. */
  lowRank?: LowRank | undefined;
}

/** The low-rank addition to a weight: A is [rank, in], B [out, rank]. */
export interface LowRank {
  readonly rank: number;
  /** Factor of B·A. */
  readonly scale: number;
}

const linearRules: Rules<LinearOptions> = {
  in: required(whole(1)),
  out: required(whole(1)),
  bias: truth,
  weight: anything,
  role: oneOf(roles),
  lowRank: anything,
};

/** y = x · Wᵀ + b, with W of shape [out, in]. */
export class Linear {
  readonly weight: Parameter;
  readonly bias: Parameter | undefined;
  /** A and B, where something is added to the weight. */
  readonly added: readonly Parameter[];
  /** What the input is multiplied with: the weight, and what is added to it. */
  readonly matrix: Tensor;

  constructor(name: string, options: LinearOptions) {
    checkOptions(name, options, linearRules);
    const { in: width, out, bias = true, weight = kaimingUniform, role = "matrix", lowRank } = options;
    this.weight = newParameter(`${name}.weight`, [out, width], weight, role);
    this.bias = bias ? newParameter(`${name}.bias`, [out], zeros, "bias") : undefined;
    this.added = lowRank ? lowRankFactors(name, [out, width], lowRank.rank) : [];
    const [a, b] = this.added;
    const sum = (down: Parameter, up: Parameter) => multiply(matmul(up.tensor, down.tensor), lowRank!.scale);
    this.matrix = a && b ? add(this.weight.tensor, sum(a, b)) : this.weight.tensor;
  }

  get parameters(): Parameter[] {
    return [this.weight, ...(this.bias ? [this.bias] : []), ...this.added];
  }

  /** x [N, in] → [N, out] */
  apply(x: Tensor): Tensor {
    const y = matmul(x, this.matrix, { transposeB: true });
    return this.bias ? add(y, this.bias.tensor) : y;
  }
}

/** A [rank, in] and B [out, rank], under the names that Hugging Face's PEFT has for them. */
function lowRankFactors(name: string, [out, width]: readonly [number, number], rank: number): Parameter[] {
  check(`${name} / rank`, rank, whole(1));
  return [
    newParameter(`${name}.lora_A.weight`, [rank, width], kaimingUniform, "matrix"),
    newParameter(`${name}.lora_B.weight`, [out, rank], zeros, "matrix"),
  ];
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

function gainOf(name: string, options: NormOptions): [gain: Parameter, epsilon: number] {
  checkOptions(name, options, normRules);
  return [newParameter(`${name}.weight`, [options.width], ones, "norm"), options.epsilon ?? 1e-5];
}

/** Layer norm over the last axis. */
export class LayerNorm implements Norm {
  readonly weight: Parameter;
  readonly bias: Parameter;
  readonly epsilon: number;

  constructor(name: string, options: NormOptions) {
    [this.weight, this.epsilon] = gainOf(name, options);
    this.bias = newParameter(`${name}.bias`, [options.width], zeros, "norm");
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
    [this.weight, this.epsilon] = gainOf(name, options);
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
