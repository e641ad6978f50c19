/** Relative attention over a segment of text and a memory of what came before it: positions, shift, the layer. */
import { rejectShape } from "../base/errors.ts";
import {
  add,
  concat,
  constant,
  type Dim,
  expandDims,
  full,
  gather,
  iota,
  matmul,
  maximum,
  multiply,
  multiplyDims,
  relu,
  reshape,
  slice,
  split,
  subtract,
  type Tensor,
  transpose,
} from "../graph/index.ts";
import { type Attended, attend, type Cache, foldPair, type HeldKeys, type KeyValues } from "./attention.ts";
import type { Context } from "./block.ts";
import { headWidth, Linear } from "./layers.ts";
import type { SegmentOptions } from "./masks.ts";
import { type Initial, newParameter, normal, type Parameter, xavierUniform } from "./parameter.ts";

/** What a block of one depth is told where text comes in segments. */
export interface SegmentContext extends Context {
  /** This depth's inputs of the segments before: [B, M, C], the newest last. */
  readonly memory?: Tensor | undefined;
  /** Sinusoids of the distances at which keys can stand, one row per column of position logits: [K + 1, C]. */
  readonly positions?: Tensor | undefined;
  /** A cache for each attention that asks, instead of a memory: keys and values of the M tokens before a single one, or of none. */
  readonly newCache?: (() => Cache) | undefined;
}

/** angle(p, j) = p · 10⁻⁴^(2⌊j/2⌋/C); even j hold cos, odd j sin: one row per position. */
export function sinusoids(positions: readonly number[], width: number): Float32Array {
  const table = new Float32Array(positions.length * width);
  positions.forEach((position, row) => {
    for (let j = 0; j < width; j++) {
      const angle = position * 1e-4 ** ((2 * Math.floor(j / 2)) / width);
      table[row * width + j] = j % 2 === 0 ? Math.cos(angle) : Math.sin(angle);
    }
  });
  return table;
}

/** Each row of a [P, C] table back to front. */
export function reverseFeatures(table: Float32Array, width: number): Float32Array {
  return table.map((_, i) => table[i - (i % width) + (width - 1 - (i % width))]!);
}

/**
 * The rows behind the position logits: column c of the position logits stands for distance K − c, so that after the
 * shift query i meets key j at distance i + M − j. The original counts positions from the oldest key there is.
 */
export function segmentPositions({ width, length, memory, missing, clampLength, compat }: SegmentOptions): Tensor {
  const keys = memory + length;
  if (compat === undefined) {
    const distances = Array.from({ length: keys + 1 }, (_, c) => Math.min(keys - c, clampLength ?? keys));
    return constant(sinusoids(distances, width), [keys + 1, width]);
  }
  const places = Array.from({ length: keys + 1 }, (_, c) => Math.max(0, c - 1));
  const table = constant(reverseFeatures(sinusoids(places, width), width), [keys + 1, width]);
  return missing ? gather(table, maximum(subtract(iota(keys + 1), missing), 0)) : table;
}

/** What the memory of a depth becomes after a segment: the last M steps of (memory, input). */
export function remembered(memory: Tensor, x: Tensor): Tensor {
  const [kept, length] = [Number(memory.shape[1]), Number(x.shape[1])];
  if (length >= kept) return slice(x, 1, length - kept, length);
  return concat([slice(memory, 1, length, kept), x], 1);
}

/** y[i, j] = x[i, j + start − i]: rows slide one column per step. x […, T, W] → […, T, W − 1]. */
export function skew(x: Tensor, start: number): Tensor {
  const [rows, columns] = x.shape.slice(-2).map(Number) as [number, number];
  const outer = x.shape.slice(0, -2);
  const flat = reshape(x, [...outer, rows * columns]);
  return reshape(slice(flat, -1, start, start + rows * (columns - 1)), [...outer, rows, columns - 1]);
}

function withZeroColumn(x: Tensor, side: "left" | "right"): Tensor {
  const zero = full(0, [...x.shape.slice(0, -1), 1]);
  return concat(side === "left" ? [zero, x] : [x, zero], -1);
}

/** Pads a zero column on the left and slides: what is at column j + T − 1 − i comes to (i, j). […, T, K] → […, T, K] */
export function shiftLeft(x: Tensor): Tensor {
  return skew(withZeroColumn(x, "left"), Number(x.shape.at(-2)));
}

/** The mirror image: what is at column j − i comes to (i, j). */
export function shiftRight(x: Tensor): Tensor {
  return skew(withZeroColumn(x, "right"), 0);
}

/** Where keys stand, seen from the query. */
export type Direction = "left" | "right" | "both";

/**
 * Logits of query i and key j from their distance alone. `positions` […, K, D] hold distances K − 1 … 0. `left`: keys up to the query,
 * distance i + K − T − j; `right`: keys from the query on, distance j − i; `both`: |i + K − T − j|.
 */
export function relativeLogits(query: Tensor, positions: Tensor, direction: Direction): Tensor {
  const logits = matmul(query, positions, { transposeB: true });
  if (direction === "left") return shiftLeft(logits);
  const mirrored = reverseColumns(logits);
  if (direction === "right") return shiftRight(mirrored);
  // Distances K − 1 … 0 … K − 1, slid until query i finds 0 at key i + K − T.
  const keys = Number(logits.shape.at(-1));
  const around = withZeroColumn(concat([logits, slice(mirrored, -1, 1, keys)], -1), "right");
  return slice(skew(around, Number(logits.shape.at(-2)) - 1), -1, 0, keys);
}

function reverseColumns(x: Tensor): Tensor {
  const [rank, columns] = [x.shape.length, Number(x.shape.at(-1))];
  const swap = Array.from({ length: rank }, (_, i) => (i === 0 ? rank - 1 : i === rank - 1 ? 0 : i));
  const order = constant(
    Int32Array.from({ length: columns }, (_, i) => columns - 1 - i),
    [columns],
    "int",
  );
  return transpose(gather(transpose(x, swap), order), swap);
}

/** Sizes of relative attention. */
export interface RelativeAttentionOptions {
  width: number;
  heads: number;
  /** Logits divided by D instead of √D, ReLU on the output, a bias for positions. */
  compat?: "original" | undefined;
  weight?: Initial;
  /** Fraction of the weights that is dropped in training. Default: 0. */
  attentionDropout?: number | undefined;
}

/** Normal, cut off at two deviations, of variance 2 / (in + out) with Keras's fans of [1, H, 1, D]: H and C. */
const glorotNormal: Initial = (shape, random) => {
  const [heads, each] = shape as [number, number];
  const deviation = Math.sqrt(2 / (heads + heads * each)) / 0.87962566103423978;
  return Float32Array.from({ length: heads * each }, () => {
    let value = random.normal();
    while (Math.abs(value) > 2) value = random.normal();
    return deviation * value;
  });
};

/** Attention with the logits ((q + u)·k + (q + v)·r) / √D, r the projected sinusoids of the distance between query and key. */
export class RelativeAttention {
  readonly #options: RelativeAttentionOptions;
  readonly #headWidth: number;
  /** Query, value, key, in this order. */
  readonly #qvk: Linear;
  readonly #position: Linear;
  readonly #u: Parameter;
  readonly #v: Parameter;
  readonly #out: Linear;

  constructor(name: string, options: RelativeAttentionOptions) {
    const { width, heads, compat, weight = xavierUniform } = options;
    this.#options = options;
    this.#headWidth = headWidth(name, width, heads);
    this.#qvk = new Linear(`${name}.qvk`, { in: width, out: 3 * width, weight });
    // A bias here adds the same to all logits of a query, which changes nothing; the original has one.
    this.#position = new Linear(`${name}.position`, { in: width, out: width, weight, bias: compat === "original" });
    const initial = compat === "original" ? glorotNormal : normal(0.02);
    this.#u = newParameter(`${name}.u`, [heads, this.#headWidth], initial, "bias");
    this.#v = newParameter(`${name}.v`, [heads, this.#headWidth], initial, "bias");
    this.#out = new Linear(`${name}.output`, { in: width, out: width, weight });
  }

  get parameters(): Parameter[] {
    return [...this.#qvk.parameters, ...this.#position.parameters, this.#u, this.#v, ...this.#out.parameters];
  }

  /** x [B·T, C] → [B·T, C]. `context.mask` is added to the logits: [T, K] or [B, T, K]. */
  apply(x: Tensor, context: SegmentContext): Tensor {
    const cache = context.newCache?.();
    if (cache?.past?.held) return this.#output(this.#attendOnce(x, context, cache, cache.past.held));
    return this.#merge(this.attend(x, context, cache).mixed, x.shape[0]!);
  }

  /** One token per text, [B, C] → [B, C], after keys and values that are held: [B, H, M, D]. */
  #attendOnce(x: Tensor, { rows, positions: table, mask }: SegmentContext, cache: Cache, held: HeldKeys): Tensor {
    const { width, heads } = this.#options;
    const [query, values, keys] = split(this.#project(x), 1, [width, width, width]) as [Tensor, Tensor, Tensor];
    const own = foldPair({ keys, values }, rows);
    cache.store(own, heads);
    const scale = this.#scale;
    const apart = reshape(subtract(this.#v.tensor, this.#u.tensor), [width]);
    const byHead = transpose(reshape(add(query, apart), [rows.batch, heads, this.#headWidth]), [1, 0, 2]); // [H, B, D]
    const placed = (x: Tensor) => (held.places ? gather(x, held.places) : x);
    const r = placed(multiply(this.#distances(slice(table!, 0, 1, table!.shape[0]!)), scale)); // [M + 1, H, D]
    const logits = matmul(byHead, transpose(r, [1, 0, 2]), { transposeB: true }); // [H, B, M + 1]
    const positions = expandDims(transpose(logits, [1, 0, 2]), 2);
    return held.attend(query, own, { scale, positions, mask: placed(reshape(mask!, [r.shape[0]!])) })!;
  }

  get #scale(): number {
    return this.#options.compat === "original" ? 1 / this.#headWidth : this.#headWidth ** -0.5;
  }

  /** Weights [H, B, T, K] and mixed values [H, B, T, D]. Heads come first: positions are then one product per head. */
  attend(x: Tensor, context: SegmentContext, cache?: Cache): Attended {
    const { batch, length } = segmentRows(context);
    const { mask } = context;
    const memory = cache ? undefined : context.memory;
    const past = memory ? Number(memory.shape[1]) : 0;
    const { width, compat } = this.#options;
    const table = context.positions ?? segmentPositions({ width, length, memory: past, compat });
    const projected = this.#project(x);
    const own = this.#byHead(projected, batch, length, 3); // [3, H, B, T, D]
    cache?.store(this.#stored(projected, context.rows), this.#options.heads);
    const query = part(own, 0); // q + u
    const recalled = memory && this.#recall(memory, batch, past); // [2, H, B, M, D]
    const [values, keys] = [0, 1].map((i) => {
      const now = part(own, i + 1);
      return recalled ? concat([part(recalled, i), now], 2) : now; // [H, B, K, D]
    }) as [Tensor, Tensor];
    const scale = this.#scale;
    const positions = this.#positionLogits(query, table, { batch, length, scale });
    const { mode } = context;
    return attend(query, { keys, values }, { scale, positions, mask, mode, dropout: this.#options.attentionDropout });
  }

  /** q + u, values and keys of rows [N, C]: [N, 3C]. u goes with the product's bias, which costs nothing. */
  #project(rows: Tensor): Tensor {
    const { width } = this.#options;
    const shift = concat([reshape(this.#u.tensor, [width]), full(0, [2 * width])], 0);
    return add(matmul(rows, this.#qvk.weight.tensor, { transposeB: true }), add(this.#qvk.bias!.tensor, shift));
  }

  /** Keys and values [B, T, C] of projected rows. */
  #stored(projected: Tensor, rows: Context["rows"]): KeyValues {
    const { width } = this.#options;
    const [, values, keys] = split(projected, 1, [width, width, width]) as [Tensor, Tensor, Tensor];
    return foldPair({ keys, values }, rows);
  }

  /** (q + v)·r, from q + u, slid so that each key meets the sinusoids of its distance: [H, B, T, K]. */
  #positionLogits(query: Tensor, table: Tensor, at: { batch: Dim; length: number; scale: number }): Tensor {
    const { heads } = this.#options;
    const columns = table.shape[0]!;
    const shape = [heads, multiplyDims(at.batch, at.length), this.#headWidth];
    const r = transpose(this.#distances(table), [1, 0, 2]);
    const apart = reshape(subtract(this.#v.tensor, this.#u.tensor), [heads, 1, 1, this.#headWidth]);
    const rows = reshape(add(query, apart), shape);
    const logits = matmul(rows, r, { transposeB: true, scale: at.scale }); // [H, B·T, K + 1]
    // Nothing is padded: the column that slides in from the left only meets keys that are masked.
    return skew(reshape(logits, [heads, at.batch, at.length, columns]), at.length);
  }

  /** r: the projected sinusoids of distances [K, C], by heads: [K, H, D]. */
  #distances(table: Tensor): Tensor {
    return reshape(this.#position.apply(table), [table.shape[0]!, this.#options.heads, this.#headWidth]);
  }

  /** Values and keys of the memory: [2, H, B, M, D]. */
  #recall(memory: Tensor, batch: Dim, past: number): Tensor {
    const { width } = this.#options;
    const rows = reshape(memory, [multiplyDims(batch, past), width]);
    const weight = slice(this.#qvk.weight.tensor, 0, width, 3 * width);
    const bias = slice(this.#qvk.bias!.tensor, 0, width, 3 * width);
    return this.#byHead(add(matmul(rows, weight, { transposeB: true }), bias), batch, past, 2);
  }

  #byHead(rows: Tensor, batch: Dim, length: number, parts: number): Tensor {
    const folded = reshape(rows, [batch, length, parts, this.#options.heads, this.#headWidth]);
    return transpose(folded, [2, 3, 0, 1, 4]); // [parts, H, B, S, D]
  }

  #merge(mixed: Tensor, rows: Dim): Tensor {
    const merged = reshape(transpose(mixed, [1, 2, 0, 3]), [rows, this.#options.width]);
    return this.#output(merged);
  }

  #output(merged: Tensor): Tensor {
    const y = this.#out.apply(merged);
    return this.#options.compat === "original" ? relu(y) : y;
  }
}

/** x[i] of the first axis. */
function part(x: Tensor, i: number): Tensor {
  return reshape(slice(x, 0, i, i + 1), x.shape.slice(1));
}

function segmentRows({ rows: { batch, length } }: Context): { batch: Dim; length: number } {
  if (typeof length === "number") return { batch, length };
  return rejectShape({
    who: "relative attention",
    needed: "a segment of known length",
    got: length,
    remedy: "build one program per length",
  });
}
