/** Rows of a batch that a condition names: which they are, and how they lie text by text, for attention. */
import {
  add,
  broadcast,
  cast,
  cumulativeSum,
  gather,
  iota,
  less,
  max,
  minimum,
  multiply,
  multiplyDims,
  replaceRows,
  reshape,
  subtract,
  sum,
  type Tensor,
  which,
} from "../graph/index.ts";
import type { Rows } from "./attention.ts";

/** Some rows of [B·T, …], in order. */
export interface SomeRows {
  /** int [R] */
  readonly ids: Tensor;
  /** [B·T, …] → [R, …] */
  take(table: Tensor): Tensor;
  /** The table with these rows replaced: [B·T, …], [R, …] → [B·T, …] */
  put(table: Tensor, rows: Tensor): Tensor;
  /** [R, C] → [B, Q, C]: text by text, with as many places as the text that has most rows here. */
  byText(rows: Tensor): Tensor;
  /** [B, Q, C] → [R, C] */
  fromText(texts: Tensor): Tensor;
}

/** The rows at which `condition`, bool [B·T], is true. `name` tells their sizes from those of other conditions. */
export function someRows(condition: Tensor, layout: Rows, name: string): SomeRows {
  const ids = which(condition, `rows_${name}`);
  return {
    ids,
    take: (table) => gather(table, ids),
    put: (table, rows) => replaceRows(table, ids, rows),
    ...(layout.batch === 1 ? oneText(ids) : manyTexts(condition, ids, layout, `places_${name}`)),
  };
}

type TextOrder = Pick<SomeRows, "byText" | "fromText">;

function oneText(ids: Tensor): TextOrder {
  const [count] = ids.shape;
  return {
    byText: (rows) => reshape(rows, [1, count!, rows.shape[1]!]),
    fromText: (texts) => reshape(texts, [count!, texts.shape[2]!]),
  };
}

/** Row i of text b, whose rows begin at o, stands at place i − o of the text; places without a row repeat another. */
function manyTexts(condition: Tensor, ids: Tensor, { batch, length }: Rows, name: string): TextOrder {
  const counts = sum(cast(reshape(condition, [batch, length]), "float"), { axes: [1] }); // [B]
  const starts = cast(cumulativeSum(counts, 0, { exclusive: true }), "int"); // [B]
  const most = max(counts);
  const place = which(less(cast(iota(length), "float"), most), name); // 0 … Q − 1
  const last = cast(subtract(sum(counts), 1), "int");
  const rowAt = minimum(add(reshape(starts, [batch, 1]), place), last); // [B, Q]
  const shift = subtract(multiply(iota(batch), cast(most, "int")), starts); // [B]
  const [count] = condition.shape;
  const textOf = reshape(broadcast(reshape(iota(batch), [batch, 1]), [batch, length]), [count!]); // [B·T]
  const placeOf = add(iota(ids.shape[0]!), gather(shift, gather(textOf, ids))); // [R]
  return {
    byText: (rows) => gather(rows, rowAt),
    fromText: (texts) => gather(reshape(texts, [multiplyDims(batch, name), texts.shape[2]!]), placeOf),
  };
}
