/** Vectors of pairs of neighbouring pieces, found by a hash: what a text says beyond its single pieces. */
import { rejectOption } from "../base/errors.ts";
import {
  add,
  cast,
  constant,
  type Dim,
  divide,
  equal,
  full,
  gather,
  greater,
  iota,
  less,
  maximum,
  multiply,
  reshape,
  select,
  sizeOf,
  subtract,
  sum,
  type Tensor,
} from "../graph/index.ts";
import type { Embedding } from "./layers.ts";

/** What the left piece is multiplied by: the whole number next to count / φ, so that small pieces, the frequent ones, meet late. */
export const pairFactor = (count: number): number => Math.round((2 * count) / (1 + Math.sqrt(5)));

/** The row of a pair: (left · factor + right) modulo the number of rows. */
export const pairRow = (left: number, right: number, count: number): number =>
  (left * pairFactor(count) + right) % count;

/** Reads a table as vectors of pairs of neighbours; pairs of the same hash share a row. */
export class PairTable {
  readonly #table: Embedding;
  readonly #count: number;
  readonly #vocabulary: number;

  constructor(table: Embedding, vocabulary: number) {
    const { name, tensor } = table.weight;
    const [count] = tensor.attributes.shape as [number, number];
    if (count < vocabulary) {
      const got = `${count} for ${vocabulary} pieces`;
      rejectOption({ who: name, needed: "at least as many rows of pairs as pieces", got });
    }
    [this.#table, this.#count, this.#vocabulary] = [table, count, vocabulary];
  }

  /** The row of each pair of neighbours; any shape. */
  rows(left: Tensor, right: Tensor): Tensor {
    const [count, pieces] = [this.#count, this.#vocabulary];
    const products = Int32Array.from({ length: pieces }, (_, piece) => pairRow(piece, 0, count));
    const sums = add(gather(constant(products, [pieces], "int"), left), right);
    return select(less(sums, count), sums, subtract(sums, count));
  }

  /** The sum of rows [B, P] by their shares [B, P], which are 1 together, or 0 where there is no pair: [B, E] */
  weighted(rows: Tensor, shares: Tensor): Tensor {
    const [batch, count] = rows.shape as [Dim, Dim];
    return sum(multiply(this.#table.apply(rows), reshape(shares, [batch, count, 1])), { axes: [1] });
  }

  /** The mean of the distinct pairs of each text, [B, E]. `ids` [B, T]; `real` says which of them are no padding, which stands behind all others. */
  mean(ids: Tensor, real: Tensor | undefined): Tensor {
    const [batch, length] = ids.shape as [Dim, Dim];
    const flat = reshape(ids, [sizeOf(ids.shape)]);
    const before = gather(flat, maximum(subtract(iota(sizeOf(ids.shape)), 1), 0));
    const rows = this.rows(reshape(before, ids.shape), ids);
    const behind = cast(greater(iota(length), 0), "float"); // the first piece has no left neighbour
    const counted = real ? multiply(cast(reshape(real, [batch, length]), "float"), behind) : behind;
    const all = multiply(full(1, ids.shape), counted); // [B, T]
    const same = equal(reshape(rows, [batch, length, 1]), reshape(rows, [batch, 1, length]));
    const often = sum(multiply(cast(same, "float"), reshape(all, [batch, 1, length])), { axes: [2] });
    const worths = divide(all, maximum(often, 1));
    const total = maximum(sum(worths, { axes: [1], keepDims: true }), 1);
    return this.weighted(rows, divide(worths, total));
  }
}
