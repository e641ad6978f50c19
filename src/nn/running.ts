/** Rows of a batch that are still computed: which they are, and how they lie text by text, for attention. */
import {
  add,
  broadcast,
  cast,
  cumulativeSum,
  type Dim,
  expandDims,
  full,
  gather,
  iota,
  less,
  max,
  minimum,
  multiply,
  multiplyDims,
  replaceRows,
  reshape,
  scatterAdd,
  subtract,
  sum,
  type Tensor,
  which,
} from "../graph/index.ts";

/** Activations are kept as rows [B·T, C]; this says how they fold. */
export interface Rows {
  readonly batch: Dim;
  readonly length: Dim;
}

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
  /** What is known of each place of a text, for each of these rows: [T, …] → [R, …] */
  placed(table: Tensor): Tensor;
  /** A mask for queries by text: [T, S] → what is added to scores [B, H, Q, S]. */
  mask(mask: Tensor): Tensor;
}

/** Every row. */
export function allRows({ batch, length }: Rows): SomeRows {
  const count = multiplyDims(batch, length);
  return {
    ids: iota(count),
    take: (table) => table,
    put: (_, rows) => rows,
    byText: (rows) => reshape(rows, [batch, length, rows.shape[1]!]),
    fromText: (texts) => reshape(texts, [count, texts.shape[2]!]),
    placed: (table) => {
      const [, ...rest] = table.shape;
      return reshape(broadcast(expandDims(table, 0), [batch, length, ...rest]), [count, ...rest]);
    },
    mask: (mask) => mask,
  };
}

/** A mask [T, S], [B, 1, T, S] or, the same for every query, [B, 1, 1, S], for some rows by text: added to scores [B, H, Q, S]. */
export function maskOf(some: SomeRows, mask: Tensor, { batch, length }: Rows): Tensor {
  if (mask.shape.length < 4) return some.mask(mask);
  if (mask.shape[2] === 1) return mask;
  const each = reshape(mask, [multiplyDims(batch, length), mask.shape[3]!]); // [B·T, S]
  return expandDims(some.byText(some.take(each)), 1);
}

/** Fewer rows than before, and what brings things of the rows before, [R, …], down to them. */
export interface Narrowed {
  readonly rows: SomeRows;
  keep(each: Tensor): Tensor;
}

/** Those of `rows` at which `condition`, bool [R], is true. `name` tells their sizes from those of other conditions. */
export function narrow(rows: SomeRows, condition: Tensor, layout: Rows, name: string): Narrowed {
  const kept = which(condition, `rows_${name}`);
  const keep = (each: Tensor) => gather(each, kept);
  const ids = keep(rows.ids);
  return {
    keep,
    rows: {
      ids,
      take: (table) => gather(table, ids),
      put: (table, changed) => replaceRows(table, ids, changed),
      ...(layout.batch === 1 ? oneText(ids) : manyTexts(ids, layout, `places_${name}`)),
    },
  };
}

type TextOrder = Pick<SomeRows, "byText" | "fromText" | "placed" | "mask">;

function oneText(ids: Tensor): TextOrder {
  const [count] = ids.shape;
  return {
    byText: (rows) => reshape(rows, [1, count!, rows.shape[1]!]),
    fromText: (texts) => reshape(texts, [count!, texts.shape[2]!]),
    placed: (table) => gather(table, ids),
    mask: (mask) => gather(mask, ids),
  };
}

/** The rows of text b begin at o: row i stands at place i − o of the text; places without a row repeat another. */
function manyTexts(ids: Tensor, { batch, length }: Rows, name: string): TextOrder {
  const [count] = ids.shape;
  const ofAll = (each: Tensor) => gather(reshape(broadcast(each, [batch, length]), [multiplyDims(batch, length)]), ids);
  const textOf = ofAll(reshape(iota(batch), [batch, 1])); // [R]
  const inText = ofAll(reshape(iota(length), [1, length])); // [R]
  const counts = scatterAdd(textOf, full(1, [count!]), batch); // [B]
  const starts = cast(cumulativeSum(counts, 0, { exclusive: true }), "int"); // [B]
  const most = max(counts);
  const place = which(less(cast(iota(length), "float"), most), name); // 0 … Q − 1
  const last = cast(subtract(sum(counts), 1), "int");
  const rowAt = minimum(add(reshape(starts, [batch, 1]), place), last); // [B, Q]
  const shift = subtract(multiply(iota(batch), cast(most, "int")), starts); // [B]
  const placeOf = add(gather(shift, textOf), iota(count!)); // [R]
  return {
    byText: (rows) => gather(rows, rowAt),
    fromText: (texts) => gather(reshape(texts, [multiplyDims(batch, name), texts.shape[2]!]), placeOf),
    placed: (table) => gather(table, inText),
    mask: (mask) => expandDims(gather(mask, gather(inText, rowAt)), 1), // [B, 1, Q, S]
  };
}
