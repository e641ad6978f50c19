/** Attention masks: what may not be seen, as numbers that are added to scores. */
import { rejectShape } from "../base/errors.ts";
import {
  add,
  addDims,
  cast,
  concat,
  constant,
  currentScope,
  type Dim,
  equal,
  expandDims,
  full,
  greater,
  iota,
  less,
  maximum,
  multiply,
  printShape,
  reshape,
  select,
  slice,
  type Tensor,
} from "../graph/index.ts";

/**
 * Added to the score of a key that may not be seen, in every mask. It stands for −∞: the exponential of such a score is 0. But it is finite,
 * so that a query that may see nothing gets weights like any other instead of NaN, and two masks may both hide a key: −2e9 is as good.
 */
export const HIDDEN = -1e9;

/** Hides keys that are later than their query: [T, P + T] for T tokens after P others. */
export function causalMask(length: Dim, past: Dim = 0): Tensor {
  if (typeof length === "number" && past === 0) {
    const isLater = (i: number) => i % length > Math.floor(i / length);
    const values = Float32Array.from({ length: length * length }, (_, i) => (isLater(i) ? HIDDEN : 0));
    return constant(values, [length, length]);
  }
  const positions = iota(addDims(past, length));
  const own = past === 0 ? positions : slice(positions, 0, past, addDims(past, length));
  return hiddenWhere(greater(expandDims(positions, 0), expandDims(own, 1)));
}

/** A segment and the memory before it. */
export interface SegmentOptions {
  width: number;
  /** T: tokens of a segment. */
  length: number;
  /** M: steps of memory. */
  memory: number;
  /** Steps of the memory, from its old end, that hold nothing yet: a scalar int. */
  missing?: Tensor | undefined;
  /** Larger distances count as this one. */
  clampLength?: number | undefined;
  /** Let every query see equally many keys: M of them. */
  sameLength?: boolean | undefined;
  /** Positions counted from the oldest key instead of from the query, and features reversed, as the original has them. */
  compat?: "original" | undefined;
}

/** Hides later keys, memory that is not there, and, at equal lengths, keys M or more behind: [T, K]. */
export function segmentMask({ length, memory, missing, sameLength }: SegmentOptions): Tensor {
  const keys = memory + length;
  const shortest = sameLength === true && memory > 0 ? memory : keys;
  const values = Float32Array.from({ length: length * keys }, (_, at) => {
    const distance = Math.floor(at / keys) + memory - (at % keys);
    return distance < 0 || distance >= shortest ? HIDDEN : 0;
  });
  const mask = constant(values, [length, keys]);
  return missing ? add(mask, expandDims(hiddenWhere(less(iota(keys), missing)), 0)) : mask;
}

/** Hides keys of the current segment with token 0, never memory: [B, 1, K], to be added to the mask of the segment. */
export function padMask(tokens: Tensor, memory: number): Tensor {
  const [batch, length] = tokens.shape as [Dim, Dim];
  const own = select(less(tokens, 1), HIDDEN, full(0, [batch, length]));
  const whole = memory === 0 ? own : concat([full(0, [batch, memory]), own], 1);
  return expandDims(whole, 1);
}

/** Hides padding from everybody: int [B, T], 0 for padding → [B, 1, 1, T]. */
export function keyMask(mask: Tensor): Tensor {
  const [batch, length] = mask.shape as [Dim, Dim];
  return reshape(hiddenWhere(equal(mask, 0)), [batch, 1, 1, length]);
}

/** Hides keys of other sentences in rows that hold several: their numbers, int [B, T] and [B, S] → [B, 1, T, S]. */
export function sentenceMask(queries: Tensor, keys: Tensor): Tensor {
  const same = equal(expandDims(queries, 2), expandDims(keys, 1)); // [B, T, S]
  return expandDims(select(same, 0, HIDDEN), 1);
}

/** Masks as users give them. */
export interface Masks {
  /** [T, S], a row per query: true where it may not attend, or numbers to add (−∞ hides). */
  readonly mask?: Tensor | undefined;
  /** [B, S]: true where a key is padding. */
  readonly padding?: Tensor | undefined;
}

/** Both masks as one, to be added to scores [B, H, T, S]; undefined when there is none. */
export function additiveMask({ mask, padding }: Masks, batch: Dim, queries: Dim, keys: Dim): Tensor | undefined {
  if (mask) checkMask("mask", mask, [queries, keys], ["bool", "float"]);
  if (padding) checkMask("padding mask", padding, [batch, keys], ["bool"]);
  const seen = mask && (mask.dtype === "bool" ? hidden(mask) : maximum(mask, HIDDEN));
  const real = padding && hidden(expandDims(expandDims(padding, 1), 1)); // [B, 1, 1, S]
  return seen && real ? add(seen, real) : (seen ?? real);
}

const hidden = (where: Tensor) => select(where, HIDDEN, 0);
/** What is added to scores where keys are hidden; by a product: graphs keep the form that was measured. */
export const hiddenWhere = (where: Tensor) => multiply(cast(where, "float"), HIDDEN);

function checkMask(name: string, { shape, dtype }: Tensor, wanted: readonly Dim[], types: readonly string[]): void {
  if (printShape(shape) === printShape(wanted) && types.includes(dtype)) return;
  rejectShape({
    who: [currentScope(), name].filter(Boolean).join(" / "),
    needed: `${types.join(" or ")} ${printShape(wanted)}`,
    got: `${dtype} ${printShape(shape)}`,
    remedy: "masks follow the lengths of queries and keys: true means hidden",
  });
}
