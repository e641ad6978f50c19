/** Attention: the one function that weighs values by scores, and the self-attention that is made of it. */
import { reject } from "../base/errors.ts";
import { check, whole } from "../base/options.ts";
import {
  add,
  addDims,
  concat,
  currentScope,
  type Dim,
  expandDims,
  matmul,
  reshape,
  slice,
  softmax,
  split,
  type Tensor,
  transpose,
} from "../graph/index.ts";
import { headWidth, Linear, RmsNorm } from "./layers.ts";
import { inference, type Mode } from "./mode.ts";
import type { Initial, Parameter } from "./parameter.ts";
import { Rotary, type RotaryOptions } from "./rotary.ts";
import { maskOf, type Rows, type SomeRows } from "./running.ts";
import { byBlocks, partOf, seenBlocks } from "./seen-keys.ts";

/** Keys and values of a run of tokens: [B, S, C] each. */
export interface KeyValues {
  readonly keys: Tensor;
  readonly values: Tensor;
}

/** The past as it lies in memory, by heads, with room for more: what new tokens look at without moving any of it. */
export interface HeldKeys extends KeyValues {
  /**
   * T queries per text, [B·T, C] → [B·T, C], over all of it and their own keys and values [B, T, K·D]. For a single one positions [B, K, G, S + 1]
   * and the mask are added to the scores; several see of each other what the mask [T, P + T] says. Undefined where it has another shape.
   */
  attend(q: Tensor, own: KeyValues, options: HeldOptions): Tensor | undefined;
  /** Added to the scores of the S rows and the token's own, `HIDDEN` where a row holds nothing: [S + 1]. Default: all are seen. */
  readonly mask?: Tensor | undefined;
  /** Which place, from the oldest on, each of the S rows and the token's own has, where they lie in another order: int [S + 1]. */
  readonly places?: Tensor | undefined;
}

/** How new tokens look at what is held. */
export interface HeldOptions extends Pick<AttendOptions, "positions" | "mask"> {
  readonly scale: number;
}

/** Keys and values of the P tokens before: [B, P, C]; `held` has them as [B, H, S, D]. */
export interface PastKeys extends KeyValues {
  readonly held?: HeldKeys | undefined;
}

/** What attention remembers at one depth: it reads `past`, and hands over the keys and values of its own tokens. */
export interface Cache {
  readonly past?: PastKeys | undefined;
  /** `heads` of them, next to each other. Default: 1. */
  store(added: KeyValues, heads?: number): void;
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

/** What `attend` mixes, without its weights: in long texts block by block, where the mask says which keys a block does not see. */
export function mixedBy(queries: Tensor, { keys, values }: KeyValues, options: AttendOptions = {}): Tensor {
  const blocks = seenBlocks(options.mask);
  if (!blocks) return attend(queries, { keys, values }, options).mixed;
  return byBlocks(blocks, queries, (rows, of, seen) => {
    const [mask, positions] = [partOf(options.mask, seen), partOf(options.positions, seen)];
    return attend(rows, { keys: of(keys), values: of(values) }, { ...options, mask, positions }).mixed;
  });
}

/** Scores by heads, and how rows fold. */
export interface ByHeadsOptions extends AttendOptions {
  readonly heads: number;
  /** Heads of keys and values: each serves as many heads of queries. Default: as many as those. */
  readonly keyHeads?: number | undefined;
  /** How queries, keys and values fold that are given as rows. */
  readonly rows: Rows;
  /** Shown the weights of all heads, [B, H, T, S]. */
  readonly watch?: ((weights: Tensor) => void) | undefined;
}

/**
 * `attend` head by head: columns are cut into heads, and their results put side by side again. Queries, keys and values are rows [B·T, C] or
 * folded [B, T, C], each by itself; the result has the shape of the queries. The mask is added to scores [B, H, T, S].
 */
export function attendByHeads(queries: Tensor, { keys, values }: KeyValues, options: ByHeadsOptions): Tensor {
  const { rows, heads, keyHeads = heads } = options;
  const size = headWidth(currentScope() || "attention", Number(queries.shape.at(-1)), heads);
  const byHead = (x: Tensor, count: number) => {
    const length = x.shape.length === 3 ? x.shape[1]! : rows.length;
    return transpose(reshape(x, [rows.batch, length, count, size]), [0, 2, 1, 3]); // [B, H, S, D]
  };
  const pair = { keys: byHead(keys, keyHeads), values: byHead(values, keyHeads) };
  const asked = byHead(queries, heads);
  const grouped = keyHeads === heads ? { asked, pair, options } : inGroups(asked, pair, options);
  const mixed = options.watch
    ? watched(grouped, [rows.batch, heads], options.watch)
    : mixedBy(grouped.asked, grouped.pair, grouped.options);
  return reshape(transpose(reshape(mixed, asked.shape), [0, 2, 1, 3]), queries.shape);
}

interface Asked {
  readonly asked: Tensor;
  readonly pair: KeyValues;
  readonly options: AttendOptions;
}

/** G heads of queries [B, K·G, T, D] that share one of keys and values [B, K, S, D]. */
function inGroups(queries: Tensor, { keys, values }: KeyValues, options: AttendOptions): Asked {
  const [batch, heads, length, size] = queries.shape as [Dim, number, Dim, Dim];
  const keyHeads = Number(keys.shape[1]);
  const asked = reshape(queries, [batch, keyHeads, heads / keyHeads, length, size]);
  const pair = { keys: expandDims(keys, 2), values: expandDims(values, 2) };
  const mask = options.mask?.shape.length === 4 ? expandDims(options.mask, 1) : options.mask;
  return { asked, pair, options: { ...options, mask } };
}

/** What is mixed, after somebody has seen the weights [B, H, T, S]. */
function watched(
  { asked, pair, options }: Asked,
  heads: readonly [Dim, Dim],
  watch: (weights: Tensor) => void,
): Tensor {
  const { weights, mixed } = attend(asked, pair, options);
  watch(reshape(weights, [...heads, ...weights.shape.slice(-2)]));
  return mixed;
}

/** Keys and values [B·S, C] → [B, S, C]. */
export function foldPair({ keys, values }: KeyValues, { batch, length }: Rows): KeyValues {
  const shape = [batch, length, keys.shape[1]!];
  return { keys: reshape(keys, shape), values: reshape(values, shape) };
}

/** Keys and values of new tokens after those that a cache remembers; it is handed the new ones. */
export function withPast(added: KeyValues, cache: Cache | undefined, heads?: number): KeyValues {
  cache?.store(added, heads);
  const past = cache?.past;
  if (!past) return added;
  return { keys: concat([past.keys, added.keys], 1), values: concat([past.values, added.values], 1) };
}

/** What self-attention is told about the place where it runs: see `Context`. */
export interface AttentionContext {
  readonly rows: Rows;
  readonly mode: Mode;
  readonly mask?: Tensor | undefined;
  readonly cache?: Cache | undefined;
  readonly seen?: ((own: KeyValues) => KeyValues) | undefined;
}

/** Sizes of self-attention, and how it knows positions. */
export interface AttentionOptions {
  width: number;
  heads: number;
  dropout: number;
  weight?: Initial;
  /** Heads of keys and values, each of which serves several heads of queries. Default: as many as heads. */
  keyHeads?: number | undefined;
  /** Whether products add a bias. Default: true. */
  bias?: boolean | undefined;
  /** Whether every head's queries and keys are brought to one size first. Default: false. */
  queryKeyNorm?: boolean | undefined;
  /** Turns queries and keys by their places; layers may share one. Default: positions are in the rows already. */
  rotary?: Rotary | RotaryOptions | undefined;
}

/** Multi-head self-attention over rows of a batch. */
export class SelfAttention {
  readonly #qkv: Linear;
  readonly #out: Linear;
  readonly #norms: readonly RmsNorm[];
  readonly #rotary: Rotary | undefined;
  readonly #options: AttentionOptions & { readonly keyHeads: number };
  readonly #headWidth: number;

  constructor(name: string, options: AttentionOptions) {
    const { width, heads, weight, keyHeads = heads, bias = true, queryKeyNorm, rotary } = options;
    const given = { bias, ...(weight ? { weight } : {}) };
    this.#options = { ...options, keyHeads };
    this.#headWidth = headWidth(name, width, heads);
    checkKeyHeads(name, heads, keyHeads);
    this.#qkv = new Linear(`${name}.qkv`, { in: width, out: width + 2 * keyHeads * this.#headWidth, ...given });
    this.#out = new Linear(`${name}.out`, { in: width, out: width, ...given });
    const norm = (of: string) => new RmsNorm(`${name}.${of}`, { width: this.#headWidth });
    this.#norms = queryKeyNorm ? [norm("query_norm"), norm("key_norm")] : [];
    this.#rotary = rotary && rotaryOf(name, rotary, this.#headWidth);
  }

  get parameters(): Parameter[] {
    return [this.#qkv, this.#out, ...this.#norms].flatMap((layer) => layer.parameters);
  }

  /** x [B·T, C] → [B·T, C]; `mask` is added to the scores [B, H, T, P + T]. */
  apply(x: Tensor, { rows, mode, mask, cache, seen }: AttentionContext): Tensor {
    const { width, heads, keyHeads, dropout } = this.#options;
    const narrow = keyHeads * this.#headWidth;
    const [query, key, v] = split(this.#qkv.apply(x), 1, [width, narrow, narrow]) as [Tensor, Tensor, Tensor];
    const past = cache?.past?.keys.shape[1] ?? 0;
    const [q, k] = [this.#placed(query, heads, rows, past, 0), this.#placed(key, keyHeads, rows, past, 1)];
    const own = seen ? seen({ keys: k, values: v }) : { keys: k, values: v };
    const how = { heads, keyHeads, rows, mask, mode, dropout };
    if (!cache) return this.#out.apply(attendByHeads(q, own, how));
    const added = foldPair(own, rows);
    return this.#out.apply(
      this.#attendHeld(q, added, cache, mask) ?? attendByHeads(q, withPast(added, cache, keyHeads), how),
    );
  }

  /** Keys and values of some rows: x [K, C] → [K, ·] each. */
  keyValues(x: Tensor, some: SomeRows, { rows, cache }: AttentionContext): KeyValues {
    const { width, keyHeads } = this.#options;
    const narrow = keyHeads * this.#headWidth;
    const [key, values] = split(this.#columns(x, width, width + 2 * narrow), 1, [narrow, narrow]) as [Tensor, Tensor];
    return { keys: this.#placedRows(key, keyHeads, some, rows, cache, 1), values };
  }

  /** x [R, C] → [R, C]: some rows look at keys and values [B·T, ·] of all, and at those of the cache. */
  applyRows(x: Tensor, all: KeyValues, some: SomeRows, { rows, mask, cache }: AttentionContext): Tensor {
    const { width, heads, keyHeads } = this.#options;
    const query = this.#placedRows(this.#columns(x, 0, width), heads, some, rows, cache, 0);
    const added = foldPair(all, rows);
    const once = rows.batch === 1 && rows.length === 1 ? this.#attendHeld(query, added, cache) : undefined; // one row, or none
    if (once) return this.#out.apply(once);
    const how = { heads, keyHeads, rows, mask: mask && maskOf(some, mask, rows) };
    return this.#out.apply(some.fromText(attendByHeads(some.byText(query), withPast(added, cache, keyHeads), how)));
  }

  /** New tokens after keys and values that lie by heads, where a cache has them so. */
  #attendHeld(q: Tensor, added: KeyValues, cache: Cache | undefined, mask?: Tensor): Tensor | undefined {
    const mixed = cache?.past?.held?.attend(q, added, { scale: this.#headWidth ** -0.5, mask });
    if (mixed) cache!.store(added, this.#options.keyHeads);
    return mixed;
  }

  /** Some columns of what the joined product of queries, keys and values gives. */
  #columns(x: Tensor, from: number, to: number): Tensor {
    const { weight, bias } = this.#qkv;
    const y = matmul(x, slice(weight.tensor, 0, from, to), { transposeB: true });
    return bias ? add(y, slice(bias.tensor, 0, from, to)) : y;
  }

  /** `#placed` of some rows, [R, H·D]. */
  #placedRows(x: Tensor, heads: number, some: SomeRows, { length }: Rows, cache: Cache | undefined, side: 0 | 1) {
    const norm = this.#norms[side];
    if (!norm && !this.#rotary) return x;
    const byHead = reshape(x, [x.shape[0]!, heads, this.#headWidth]);
    const sized = norm ? norm.apply(byHead) : byHead;
    const past = cache?.past?.keys.shape[1] ?? 0;
    const turned = this.#rotary
      ? this.#rotary.applyAt(sized, (table) => some.placed(slice(table, 0, past, addDims(past, length))))
      : sized;
    return reshape(turned, x.shape);
  }

  /** Queries or keys [B·T, H·D], head by head brought to one size and turned by their places. */
  #placed(x: Tensor, heads: number, { batch, length }: Rows, past: Dim, side: 0 | 1): Tensor {
    const norm = this.#norms[side];
    if (!norm && !this.#rotary) return x;
    const byHead = reshape(x, [batch, length, heads, this.#headWidth]);
    const sized = norm ? norm.apply(byHead) : byHead;
    return reshape(this.#rotary ? this.#rotary.apply(sized, past) : sized, x.shape);
  }
}

function checkKeyHeads(name: string, heads: number, keyHeads: number): void {
  check(`${name} / keyHeads`, keyHeads, whole(1, heads));
  if (heads % keyHeads === 0) return;
  reject({ who: `${name} / keyHeads`, needed: `a divisor of ${heads} heads`, got: `${keyHeads}` }, 2);
}

function rotaryOf(name: string, given: Rotary | RotaryOptions, width: number): Rotary {
  if (!(given instanceof Rotary)) return new Rotary(name, { ...given, width });
  if (given.width === width) return given;
  return reject({ who: `${name} / rotary`, needed: `heads of width ${given.width}`, got: `${width}` }, 2);
}
