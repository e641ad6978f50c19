/** Multi-head self-attention over rows of a batch. */
import {
  add,
  cast,
  constant,
  type Dim,
  expandDims,
  greater,
  iota,
  matmul,
  multiply,
  reshape,
  softmax,
  split,
  type Tensor,
  transpose,
} from "../graph/index.ts";
import { headWidth, Linear } from "./layers.ts";
import type { Mode } from "./mode.ts";
import type { Initial, Parameter } from "./parameter.ts";

/** Activations are kept as rows [B·T, C]; this says how they fold. */
export interface Rows {
  readonly batch: Dim;
  readonly length: Dim;
}

export interface AttentionOptions {
  width: number;
  heads: number;
  dropout: number;
  weight?: Initial;
}

/** −∞ above the diagonal: [T, T], to be added to scores. */
export function causalMask(length: Dim): Tensor {
  if (typeof length === "number") {
    const values = Float32Array.from({ length: length * length }, (_, i) =>
      i % length > Math.floor(i / length) ? Number.NEGATIVE_INFINITY : 0,
    );
    return constant(values, [length, length]);
  }
  const later = greater(expandDims(iota(length), 0), expandDims(iota(length), 1));
  return multiply(cast(later, "float"), -1e9);
}

export class SelfAttention {
  readonly #qkv: Linear;
  readonly #out: Linear;
  readonly #options: AttentionOptions;
  readonly #headWidth: number;

  constructor(name: string, options: AttentionOptions) {
    const { width, heads, weight } = options;
    const initial = weight ? { weight } : {};
    this.#options = options;
    this.#headWidth = headWidth(name, width, heads);
    this.#qkv = new Linear(`${name}.qkv`, { in: width, out: 3 * width, ...initial });
    this.#out = new Linear(`${name}.out`, { in: width, out: width, ...initial });
  }

  get parameters(): Parameter[] {
    return [...this.#qkv.parameters, ...this.#out.parameters];
  }

  /** x [B·T, C] → [B·T, C]; `mask` is added to the scores [B, H, T, T]. */
  apply(x: Tensor, { batch, length }: Rows, mode: Mode, mask?: Tensor): Tensor {
    const { heads, width, dropout } = this.#options;
    const [q, k, v] = split(this.#qkv.apply(x), 1, [width, width, width]).map((each) => {
      return transpose(reshape(each, [batch, length, heads, this.#headWidth]), [0, 2, 1, 3]); // [B, H, T, D]
    }) as [Tensor, Tensor, Tensor];
    const scores = matmul(q, k, { transposeB: true, scale: this.#headWidth ** -0.5 }); // [B, H, T, T]
    const weights = mode.dropout(softmax(mask ? add(scores, mask) : scores), dropout);
    const mixed = transpose(matmul(weights, v), [0, 2, 1, 3]); // [B, T, H, D]
    return this.#out.apply(reshape(mixed, [x.shape[0]!, width]));
  }
}
