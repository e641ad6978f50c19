/** Multi-head self-attention over rows of a batch. */
import {
  add,
  concat,
  constant,
  type Dim,
  expandDims,
  matmul,
  multiply,
  reshape,
  softmax,
  split,
  sum,
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

/** Keys and values of a run of tokens: [B, S, C] each. */
export interface KeyValues {
  readonly keys: Tensor;
  readonly values: Tensor;
}

/** What attention remembers at one depth: it reads `past`, and hands over the keys and values of its own tokens. */
export interface Cache {
  /** Of the P tokens before: [B, P, C]. */
  readonly past?: KeyValues | undefined;
  store(added: KeyValues): void;
}

/** 1 where column c belongs to head h: [H, C]. */
function headColumns(width: number, heads: number): Tensor {
  const size = width / heads;
  const values = Float32Array.from({ length: heads * width }, (_, i) =>
    Math.floor((i % width) / size) === Math.floor(i / width) ? 1 : 0,
  );
  return constant(values, [heads, width]);
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

  /** x [B·T, C] → [B·T, C]; `mask` is added to the scores [B, H, T, P + T]. */
  apply(x: Tensor, rows: Rows, mode: Mode, mask?: Tensor, cache?: Cache): Tensor {
    const { width } = this.#options;
    const [q, k, v] = split(this.#qkv.apply(x), 1, [width, width, width]) as [Tensor, Tensor, Tensor];
    if (!cache) return this.#out.apply(this.#attend(q, { keys: k, values: v }, rows, rows.length, mode, mask));
    const added = this.#fold({ keys: k, values: v }, rows);
    cache.store(added);
    const all = cache.past ? join(cache.past, added) : added;
    const one = rows.length === 1 && cache.past !== undefined;
    const mixed = one ? this.#attendOnce(q, all) : this.#attend(q, all, rows, all.keys.shape[1]!, mode, mask);
    return this.#out.apply(mixed);
  }

  #fold({ keys, values }: KeyValues, { batch, length }: Rows): KeyValues {
    const shape = [batch, length, this.#options.width];
    return { keys: reshape(keys, shape), values: reshape(values, shape) };
  }

  /** Queries [B·T, C] over S keys and values, head by head → [B·T, C]. */
  #attend(q: Tensor, { keys, values }: KeyValues, rows: Rows, keyCount: Dim, mode: Mode, mask?: Tensor): Tensor {
    const { heads, width, dropout } = this.#options;
    const byHead = (x: Tensor, length: Dim) =>
      transpose(reshape(x, [rows.batch, length, heads, this.#headWidth]), [0, 2, 1, 3]); // [B, H, S, D]
    const scale = this.#headWidth ** -0.5;
    const scores = matmul(byHead(q, rows.length), byHead(keys, keyCount), { transposeB: true, scale }); // [B, H, T, S]
    const weights = mode.dropout(softmax(mask ? add(scores, mask) : scores), dropout);
    const mixed = transpose(matmul(weights, byHead(values, keyCount)), [0, 2, 1, 3]); // [B, T, H, D]
    return reshape(mixed, [q.shape[0]!, width]);
  }

  /**
   * One query a text, [B, C] → [B, C]. Transposing all keys and values to heads would cost more than the attention itself, so the
   * query is spread instead: row h holds head h's columns and zeros, and one product serves all heads.
   */
  #attendOnce(q: Tensor, { keys, values }: KeyValues): Tensor {
    const { heads, width } = this.#options;
    const columns = headColumns(width, heads);
    const spread = multiply(expandDims(q, 1), columns); // [B, H, C]
    const weights = softmax(matmul(spread, keys, { transposeB: true, scale: this.#headWidth ** -0.5 })); // [B, H, S]
    return sum(multiply(matmul(weights, values), columns), { axes: [1] }); // [B, C]
  }
}

function join(past: KeyValues, added: KeyValues): KeyValues {
  return { keys: concat([past.keys, added.keys], 1), values: concat([past.values, added.values], 1) };
}
