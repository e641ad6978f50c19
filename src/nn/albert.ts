/** ALBERT's parts: factorised embeddings and the post-norm layer, which can also run for some of the rows only. */
import {
  add,
  cast,
  concat,
  type Dim,
  equal,
  flattenRows,
  gather,
  iota,
  matmul,
  multiply,
  reshape,
  slice,
  split,
  sum,
  type Tensor,
  within,
} from "../graph/index.ts";
import { substituted } from "../graph/tensor.ts";
import { attendByHeads, foldPair, type KeyValues } from "./attention.ts";
import type { Context, RowwiseBlock } from "./block.ts";
import { type Activation, activations } from "./feed-forward.ts";
import { Embedding, headWidth, LayerNorm, Linear, type LowRank } from "./layers.ts";
import { inference, type Mode } from "./mode.ts";
import { normal, type Parameter, zeros } from "./parameter.ts";
import { maskOf, type SomeRows } from "./running.ts";

/** BERT's deviation for all matrices. */
export const ALBERT_DEVIATION = 0.02;

/** Sizes of the factorised embeddings. */
export interface AlbertEmbeddingOptions {
  vocabulary: number;
  /** Width E of the tables; a linear map widens it to the hidden state. */
  embedding: number;
  width: number;
  /** Longest text. */
  length: number;
  types: number;
  epsilon: number;
  dropout: number;
  /** Rows of a table of pairs of neighbouring pieces, which heads may read; 0: none. Default: 0. */
  pairs?: number | undefined;
  /** Without a vector for each place, where blocks know positions themselves. Default: false. */
  rotary?: boolean | undefined;
}

const PAIRS = "embeddings.pair_embeddings";
/** The name of the table of pairs. */
export const PAIR_WEIGHT = `${PAIRS}.weight`;

/** word + type + position at width E, norm, then one linear map to width C. */
export class AlbertEmbeddings {
  readonly words: Embedding;
  readonly norm: LayerNorm;
  /** Vectors of pairs of neighbours, as a `PairTable` reads them: they stand beside the layers. None is known at first. */
  readonly pairs: Embedding | undefined;
  readonly #positions: Embedding | undefined;
  readonly #types: Embedding;
  readonly #mapping: Linear;
  readonly #dropout: number;

  constructor(options: AlbertEmbeddingOptions) {
    const { vocabulary, embedding, width, length, types, epsilon, dropout, rotary, pairs = 0 } = options;
    const map = { in: embedding, out: width, weight: normal(ALBERT_DEVIATION), role: "head" } as const;
    this.words = new Embedding("embeddings.word_embeddings", { count: vocabulary, width: embedding });
    const places = { count: length, width: embedding };
    this.#positions = rotary ? undefined : new Embedding("embeddings.position_embeddings", places);
    this.#types = new Embedding("embeddings.token_type_embeddings", { count: types, width: embedding });
    this.norm = new LayerNorm("embeddings.LayerNorm", { width: embedding, epsilon });
    this.#mapping = new Linear("encoder.embedding_hidden_mapping_in", map);
    const table = { count: pairs, width: embedding, weight: zeros };
    this.pairs = pairs > 0 ? new Embedding(PAIRS, table) : undefined;
    this.#dropout = dropout;
  }

  get parameters(): Parameter[] {
    const layers = [this.words, this.#positions, this.#types, this.norm, this.#mapping, this.pairs];
    return layers.flatMap((layer) => layer?.parameters ?? []);
  }

  /** [T, E]; a length that only a run knows is looked up row by row, for the gradient of a slice would not know how much is left. */
  #firstPositions({ weight: { tensor: table } }: Embedding, length: Dim): Tensor {
    return typeof length === "number" ? slice(table, 0, 0, length) : gather(table, iota(length));
  }

  /** ids and types [B, T] → rows [B·T, C] */
  apply(ids: Tensor, types: Tensor, mode: Mode): Tensor {
    return within("embeddings", () => {
      const pieces = add(this.words.apply(ids), this.#types.apply(types));
      const embedded = this.#positions ? add(pieces, this.#firstPositions(this.#positions, ids.shape[1]!)) : pieces;
      return this.#mapping.apply(mode.dropout(this.norm.apply(flattenRows(embedded)), this.#dropout));
    });
  }
}

/** Sizes and parts of an ALBERT layer. */
export interface AlbertLayerOptions {
  width: number;
  heads: number;
  hidden: number;
  activation: Activation;
  epsilon: number;
  dropout: number;
  attentionDropout: number;
  /** Added to the projections of attention and feed-forward. Default: nothing. */
  lowRank?: LowRank | undefined;
}

/** a = norm(x + attention x), then norm(a + feed-forward a). */
export class AlbertLayer implements RowwiseBlock {
  readonly #name: string;
  readonly #options: AlbertLayerOptions;
  readonly #projections: readonly [Linear, Linear, Linear];
  /** Query, key and value maps as one, so that a depth makes one product of them. */
  readonly #joined: Joined;
  readonly #dense: Linear;
  readonly #norm1: LayerNorm;
  readonly #up: Linear;
  readonly #down: Linear;
  readonly #norm2: LayerNorm;

  constructor(name: string, options: AlbertLayerOptions) {
    const { width, heads, hidden, epsilon, lowRank } = options;
    const linear = (part: string, from: number, to: number) =>
      new Linear(`${name}.${part}`, { in: from, out: to, weight: normal(ALBERT_DEVIATION), lowRank });
    this.#name = name;
    this.#options = options;
    headWidth(name, width, heads); // refuses heads that do not divide the width
    this.#projections = [
      linear("attention.query", width, width),
      linear("attention.key", width, width),
      linear("attention.value", width, width),
    ];
    this.#joined = joined(this.#projections);
    this.#dense = linear("attention.dense", width, width);
    this.#norm1 = new LayerNorm(`${name}.attention.LayerNorm`, { width, epsilon });
    this.#up = linear("ffn", width, hidden);
    this.#down = linear("ffn_output", hidden, width);
    this.#norm2 = new LayerNorm(`${name}.full_layer_layer_norm`, { width, epsilon });
  }

  get parameters(): Parameter[] {
    const layers = [...this.#projections, this.#dense, this.#norm1, this.#up, this.#down, this.#norm2];
    return layers.flatMap((layer) => layer.parameters);
  }

  apply(x: Tensor, { rows, mode, mask, watch, seen }: Context): Tensor {
    const { width } = this.#options;
    return within(this.#name, () => {
      const all = applyJoined(x, this.#maps()); // [N, 3·C]
      const how = { rows, mode, mask, watch };
      const [q, keys, values] = split(all, 1, [width, width, width]) as [Tensor, Tensor, Tensor];
      const query = reshape(q, [rows.batch, rows.length, width]);
      const mixed = this.#attend(query, foldPair(seen?.({ keys, values }) ?? { keys, values }, rows), how);
      return this.#finish(x, reshape(mixed, [x.shape[0]!, width]), mode);
    });
  }

  /** The joined maps; where other weights are taken for these, of those. */
  #maps(): Joined {
    const relaxed = this.#projections
      .flatMap(({ parameters }) => parameters)
      .some(({ tensor }) => substituted(tensor) !== tensor);
    return relaxed ? joined(this.#projections) : this.#joined;
  }

  keyValues(x: Tensor): KeyValues {
    const [, key, value] = this.#projections;
    return within(this.#name, () => ({ keys: key.apply(x), values: value.apply(x) }));
  }

  applyRows(x: Tensor, all: KeyValues, some: SomeRows, { rows, mask }: Context): Tensor {
    return within(this.#name, () => {
      const q = some.byText(this.#projections[0].apply(x));
      const seen = mask && maskOf(some, mask, rows);
      const mixed = this.#attend(q, foldPair(all, rows), { rows, mode: inference, mask: seen });
      return this.#finish(x, some.fromText(mixed), inference);
    });
  }

  /** Queries [B, R, C] over keys and values [B, T, C] → [B, R, C]; `mask` is added to the scores [B, H, R, T]. */
  #attend(q: Tensor, all: KeyValues, how: Pick<Context, "rows" | "mode" | "mask" | "watch">): Tensor {
    const { heads, attentionDropout: dropout } = this.#options;
    return attendByHeads(q, all, { heads, dropout, ...how });
  }

  #finish(x: Tensor, mixed: Tensor, mode: Mode): Tensor {
    const { activation, dropout } = this.#options;
    const a = this.#norm1.apply(add(mode.dropout(this.#dense.apply(mixed), dropout), x));
    const fed = this.#down.apply(activations[activation](this.#up.apply(a)));
    return this.#norm2.apply(add(mode.dropout(fed, dropout), a));
  }
}

/** Several linear maps of one input as one: [n·C, C] and [n·C]. */
interface Joined {
  readonly weight: Tensor;
  readonly bias: Tensor;
}

function joined(layers: readonly Linear[]): Joined {
  return {
    weight: concat(
      layers.map(({ matrix }) => matrix),
      0,
    ),
    bias: concat(
      layers.map(({ bias }) => bias!.tensor),
      0,
    ),
  };
}

const applyJoined = (x: Tensor, { weight, bias }: Joined) => add(matmul(x, weight, { transposeB: true }), bias);

/** The first token's row of every text: rows [B·T, C] → [B, C]. */
export function firstRows(rows: Tensor, batch: Dim, length: Dim, mode: Mode): Tensor {
  const width = rows.shape[1]!;
  const texts = reshape(rows, [batch, length, width]);
  if (typeof length === "number" || mode === inference) return reshape(slice(texts, 1, 0, 1), [batch, width]);
  // A sum over one row: the gradient of a slice would not know how much of a named length is left.
  const isFirst = cast(reshape(equal(iota(length), 0), [length, 1]), "float");
  return sum(multiply(texts, isFirst), { axes: [1] });
}
