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
import { Embedding } from "./layers.ts";
import { type Parameter, zeros } from "./parameter.ts";

/** Sizes of a table of pairs. */
export interface PairTableOptions {
  /** Rows; pairs of the same hash share one. */
  count: number;
  width: number;
  vocabulary: number;
}

/** What the left piece is multiplied by: the whole number next to count / φ, so that small pieces, the frequent ones, meet late. */
export const pairFactor = (count: number): number => Math.round((2 * count) / (1 + Math.sqrt(5)));

/** The row of a pair: (left · factor + right) modulo the number of rows. */
export const pairRow = (left: number, right: number, count: number): number =>
  (left * pairFactor(count) + right) % count;

/** A vector for each pair of neighbours; none is known at first. */
export class PairTable {
  readonly #table: Embedding;
  readonly #options: PairTableOptions;

  constructor(name: string, options: PairTableOptions) {
    const { count, width, vocabulary } = options;
    if (count < vocabulary) {
      const got = `${count} for ${vocabulary} pieces`;
      rejectOption({ who: `${name} / count`, needed: "at least as many rows of pairs as pieces", got });
    }
    this.#options = options;
    this.#table = new Embedding(name, { count, width, weight: zeros });
  }

  get parameters(): Parameter[] {
    return this.#table.parameters;
  }

  /** The row of each pair of neighbours; any shape. */
  rows(left: Tensor, right: Tensor): Tensor {
    const { count, vocabulary } = this.#options;
    const products = Int32Array.from({ length: vocabulary }, (_, piece) => pairRow(piece, 0, count));
    const sums = add(gather(constant(products, [vocabulary], "int"), left), right);
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
