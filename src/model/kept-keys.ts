/** Keys and values of texts, by heads: those of one head of one text lie next to each other, with room for more. */
import type { Feed } from "../engine/engine.ts";
import { concat, type Dim, input, is, reshape, sizeOf, type Tensor } from "../graph/index.ts";
import type { KeyValues } from "../nn/attention.ts";

/** Heads of keys and values, and the width of each, of one cache. */
export interface HeadSizes {
  readonly heads: number;
  readonly keys: number;
  readonly values: number;
}

export const sizesOf = ({ keys, values }: KeyValues, heads = 1): HeadSizes => {
  return { heads, keys: Number(keys.shape[2]) / heads, values: Number(values.shape[2]) / heads };
};

const keptName = (cache: number, of: "keys" | "values") => `past ${of} ${cache}`;

/** The keys and values of a cache as inputs: [B, H, S, D]. */
export function keptInputs(batch: Dim, rows: Dim, sizes: HeadSizes, cache: number): KeyValues {
  const of = (what: "keys" | "values") => input(keptName(cache, what), [batch, sizes.heads, rows, sizes[what]]);
  return { keys: of("keys"), values: of("values") };
}

/** The row [1, K + V] that the keys and values of a single token were cut out of, where there is one. */
function uncut({ keys, values }: KeyValues): Tensor | undefined {
  const [first, second] = [keys, values].map((each) => (is(each, "reshape") ? each.inputs[0]! : each));
  if (!is(first!, "slice") || !is(second!, "slice") || first.inputs[0] !== second.inputs[0]) return undefined;
  const [row] = first.inputs;
  const [a, b] = [first.attributes, second.attributes];
  return row!.shape[0] === 1 && a.axis === 1 && a.start === 0 && a.end === b.start && b.end === row!.shape[1]
    ? row
    : undefined;
}

/** New keys and values [B, T, ·] of all caches as one output, since each output costs a call. */
export function packed(added: readonly KeyValues[]): Tensor {
  const flat = added.flatMap((pair) => uncut(pair) ?? [pair.keys, pair.values]);
  return concat(
    flat.map((each) => reshape(each, [sizeOf(each.shape)])),
    0,
  );
}

/** One array: [B, H, S, D], at the start of memory that may be larger. */
interface Kept {
  readonly name: string;
  readonly heads: number;
  readonly size: number;
  data: Float32Array;
}

/** As many numbers at the start of the memory that an array has, or undefined where it is too small. */
function viewOf({ buffer }: Float32Array, length: number): Float32Array | undefined {
  return buffer.byteLength >= 4 * length ? new Float32Array(buffer, 0, length) : undefined;
}

/** Widens each block, the last one first since it moves farthest; what is new is 0, for a stale NaN times the weight 0 would be NaN. */
function widen(all: Float32Array, from: number, to: number): void {
  for (let i = all.length / to - 1; i >= 0; i--) {
    all.copyWithin(i * to, i * from, (i + 1) * from);
    all.fill(0, i * to + from, (i + 1) * to);
  }
}

/** What is kept of several texts. */
export class KeptKeys {
  readonly #arrays: readonly Kept[];
  #texts = 0;
  #rows = 0;

  constructor(sizes: readonly HeadSizes[]) {
    this.#arrays = sizes.flatMap((each, i) =>
      (["keys", "values"] as const).map((of): Kept => {
        return { name: keptName(i, of), heads: each.heads, size: each[of], data: new Float32Array() };
      }),
    );
  }

  /** Rows of each text that there is room for. */
  get rows(): number {
    return this.#rows;
  }

  /** Forgets everything; makes room, where there was some before: memory that the system has yet to hand out takes longer to write. */
  begin(texts: number, rows: number): void {
    [this.#texts, this.#rows] = [texts, rows];
    for (const kept of this.#arrays) {
      const length = texts * kept.heads * rows * kept.size;
      kept.data = viewOf(kept.data, length)?.fill(0) ?? new Float32Array(length);
    }
  }

  /** Makes room for more rows behind those there are. */
  enlarge(rows: number): void {
    for (const kept of this.#arrays) {
      const blocks = this.#texts * kept.heads;
      const [from, to] = [this.#rows * kept.size, rows * kept.size];
      // Twice the memory that is needed: a text that grows is copied less and less often.
      const larger = viewOf(kept.data, blocks * to) ?? new Float32Array(2 * blocks * to).subarray(0, blocks * to);
      if (larger.buffer !== kept.data.buffer) larger.set(kept.data);
      widen(larger, from, to);
      kept.data = larger;
    }
    this.#rows = rows;
  }

  /** Puts `count` new rows of each text, `packed` for all caches or for some next to each other, from a row on. */
  put(added: Float32Array, row: number, count: number, caches: readonly [first: number, end?: number] = [0]): void {
    let from = 0;
    const [first, end = this.#arrays.length / 2] = caches;
    for (const { heads, size, data } of this.#arrays.slice(2 * first, 2 * end)) {
      for (let text = 0; text < this.#texts; text++) {
        for (let i = 0; i < count; i++) {
          for (let head = 0; head < heads; head++) {
            const to = ((text * heads + head) * this.#rows + row + i) * size;
            for (let d = 0; d < size; d++) data[to + d] = added[from++]!;
          }
        }
      }
    }
  }

  /** Keeps some of the texts only. */
  keep(places: readonly number[]): void {
    for (const kept of this.#arrays) {
      const each = kept.heads * this.#rows * kept.size;
      const fewer = new Float32Array(places.length * each);
      for (const [i, place] of places.entries())
        fewer.set(kept.data.subarray(place * each, (place + 1) * each), i * each);
      kept.data = fewer;
    }
    this.#texts = places.length;
  }

  /** By the names of `keptInputs`. */
  get feeds(): Record<string, Feed> {
    const feeds = this.#arrays.map(({ name, heads, size, data }) => {
      return [name, { data, shape: [this.#texts, heads, this.#rows, size] }] as const;
    });
    return Object.fromEntries(feeds);
  }
}
