/** Attention masks: what may not be seen, as numbers that are added to scores. */
import { reject } from "../base/errors.ts";
import { add, currentScope, type Dim, expandDims, maximum, printShape, select, type Tensor } from "../graph/index.ts";

/**
 * Stands for −∞: its exponential is 0, and yet a query that may see nothing gets equal weights instead of NaN. (Two masks may both
 * hide a key: −2e9 is as good.)
 */
const HIDDEN = -1e9;

export interface Masks {
  /** [T, S], a row a query: true where it may not attend, or numbers to add (−∞ hides). */
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

function checkMask(name: string, { shape, dtype }: Tensor, wanted: readonly Dim[], types: readonly string[]): void {
  if (printShape(shape) === printShape(wanted) && types.includes(dtype)) return;
  reject({
    who: [currentScope(), name].filter(Boolean).join(" / "),
    needed: `${types.join(" or ")} ${printShape(wanted)}`,
    got: `${dtype} ${printShape(shape)}`,
    remedy: "masks follow the lengths of queries and keys: true means hidden",
  });
}
