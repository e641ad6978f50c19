/** Attention: the one function that weighs values by scores, and the self-attention that is made of it. */
import {
  add,
  concat,
  constant,
  currentScope,
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
import { inference, type Mode } from "./mode.ts";
import type { Initial, Parameter } from "./parameter.ts";

/** Activations are kept as rows [B·T, C]; this says how they fold. */
export interface Rows {
  readonly batch: Dim;
  readonly length: Dim;
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

/** What scores and weights depend on besides queries and keys. */
export interface AttendOptions {
  /** Factor of the products. Default: 1 / √D. */
  readonly scale?: number | undefined;
  /** Added to the products, where positions have a say: […, T, S]. */
  readonly positions?: Tensor | undefined;
  /** Added to the scores: `HIDDEN` where a key may not be seen. */
  readonly mask?: Tensor | undefined;
  /** Drops weights out where it trains. Default: inference. */
  readonly mode?: Mode | undefined;
  /** Fraction of the weights. Default: 0. */
  readonly dropout?: number | undefined;
}

/** What attention computes. */
export interface Attended {
  /** […, T, S], after dropout. */
  readonly weights: Tensor;
  /** […, T, D] */
  readonly mixed: Tensor;
}

/** softmax(scale · q·kᵀ + positions + mask) · v, for queries […, T, D] and keys and values […, S, D]. */
export function attend(queries: Tensor, { keys, values }: KeyValues, options: AttendOptions = {}): Attended {
  const { scale = Number(queries.shape.at(-1)) ** -0.5, positions, mask, mode = inference, dropout = 0 } = options;
  const content = matmul(queries, keys, { transposeB: true, scale });
  const scores = positions ? add(content, positions) : content;
  const weights = mode.dropout(softmax(mask ? add(scores, mask) : scores), dropout);
  return { weights, mixed: matmul(weights, values) };
}

/** Scores by heads, and how rows fold. */
export interface ByHeadsOptions extends AttendOptions {
  readonly heads: number;
  /** How queries, keys and values fold that are given as rows. */
  readonly rows: Rows;
}

/**
 * `attend` head by head: columns are cut into heads, and their results put side by side again. Queries, keys and values are rows [B·T, C] or
 * folded [B, T, C], each by itself; the result has the shape of the queries. The mask is added to scores [B, H, T, S].
 */
export function attendByHeads(queries: Tensor, { keys, values }: KeyValues, options: ByHeadsOptions): Tensor {
  const { rows, heads } = options;
  const size = headWidth(currentScope() || "attention", Number(queries.shape.at(-1)), heads);
  const byHead = (x: Tensor) => {
    const length = x.shape.length === 3 ? x.shape[1]! : rows.length;
    return transpose(reshape(x, [rows.batch, length, heads, size]), [0, 2, 1, 3]); // [B, H, S, D]
  };
  const pair = { keys: byHead(keys), values: byHead(values) };
  const { mixed } = attend(byHead(queries), pair, options);
  return reshape(transpose(mixed, [0, 2, 1, 3]), queries.shape);
}

/** Keys and values [B·S, C] → [B, S, C]. */
export function foldPair({ keys, values }: KeyValues, { batch, length }: Rows): KeyValues {
  const shape = [batch, length, keys.shape[1]!];
  return { keys: reshape(keys, shape), values: reshape(values, shape) };
}

/** Keys and values of new tokens after those that a cache remembers; it is handed the new ones. */
export function withPast(added: KeyValues, cache: Cache | undefined): KeyValues {
  cache?.store(added);
  const past = cache?.past;
  if (!past) return added;
  return { keys: concat([past.keys, added.keys], 1), values: concat([past.values, added.values], 1) };
}

/** Sizes of self-attention. */
export interface AttentionOptions {
  width: number;
  heads: number;
  dropout: number;
  weight?: Initial;
}

/** Multi-head self-attention over rows of a batch. */
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
    const { width, heads, dropout } = this.#options;
    const [q, k, v] = split(this.#qkv.apply(x), 1, [width, width, width]) as [Tensor, Tensor, Tensor];
    const own = { keys: k, values: v };
    const all = cache ? withPast(foldPair(own, rows), cache) : own;
    const once = cache?.past && rows.length === 1;
    const mixed = once ? this.#attendOnce(q, all) : attendByHeads(q, all, { heads, rows, mask, mode, dropout });
    return this.#out.apply(mixed);
  }

  /**
   * One query per text, [B, C] → [B, C]. Transposing all keys and values to heads would cost more than the attention itself, so the
   * query is spread instead: row h holds head h's columns and zeros, and one product serves all heads.
   */
  #attendOnce(q: Tensor, all: KeyValues): Tensor {
    const { heads, width } = this.#options;
    const columns = headColumns(width, heads);
    const spread = multiply(expandDims(q, 1), columns); // [B, H, C]
    const { mixed } = attend(spread, all, { scale: this.#headWidth ** -0.5 });
    return sum(multiply(mixed, columns), { axes: [1] }); // [B, C]
  }
}

/** 1 where column c belongs to head h: [H, C]. */
function headColumns(width: number, heads: number): Tensor {
  const size = width / heads;
  const values = Float32Array.from({ length: heads * width }, (_, i) =>
    Math.floor((i % width) / size) === Math.floor(i / width) ? 1 : 0,
  );
  return constant(values, [heads, width]);
}
