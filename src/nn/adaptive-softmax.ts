/** Word distributions: adaptive softmax (a head of frequent words, tails of rarer ones), plain softmax, adaptive input embedding. */
import { reject } from "../base/errors.ts";
import {
  add,
  and,
  cast,
  concat,
  crossEntropy,
  distinctIds,
  expandDims,
  gather,
  greater,
  less,
  logSoftmax,
  matmul,
  maximum,
  minimum,
  multiply,
  scatterAdd,
  select,
  slice,
  subtract,
  sum,
  type Tensor,
  within,
} from "../graph/index.ts";
import { Embedding, Linear } from "./layers.ts";
import { type Initial, newParameter, normal, type Parameter, xavierUniform, zeros } from "./parameter.ts";

/** What turns hidden rows into probabilities of words, and into a loss. */
export interface WordDistribution {
  readonly parameters: readonly Parameter[];
  /** Inputs that say which rows have a target in which cluster; `rowsOf` makes them from targets. */
  readonly rowInputs: readonly Tensor<"input">[];
  /** Values of the row inputs, by name. Targets equal to `padding` stand in no cluster. */
  rowsOf(targets: ArrayLike<number>, padding?: number): Record<string, Int32Array>;
  /** −log p(target) in parts: their sum over all parts and rows is the loss; `rows` says where a part's rows stand. */
  losses(hidden: Tensor, targets: Tensor): readonly LossPart[];
  /** log p of all words: [N, C] → [N, V] */
  logProbabilities(hidden: Tensor): Tensor;
}

/** A part of the loss, row by row. */
export interface LossPart {
  /** One value per row. */
  readonly values: Tensor;
  /** Ids of these rows among all; all of them in order where absent. */
  readonly rows?: Tensor;
}

/** The parts' values added up where they belong: [N]. */
export function tokenLosses([first, ...others]: readonly LossPart[]): Tensor {
  const count = first!.values.shape[0]!;
  return others.reduce<Tensor>((all, { values, rows }) => add(all, scatterAdd(rows!, values, count)), first!.values);
}

/** The sum of all parts; rows of the first part may be weighed, say by 0 where the target is padding. */
export function totalLoss([first, ...others]: readonly LossPart[], weights?: Tensor): Tensor {
  const start: Tensor = sum(weights ? multiply(first!.values, weights) : first!.values);
  return others.reduce<Tensor>((total, { values }) => add(total, sum(values)), start);
}

/** Sizes of a plain softmax. */
export interface PlainSoftmaxOptions {
  width: number;
  vocabulary: number;
  weight?: Initial;
  /** Vectors of the words that are somebody else's, such as an embedding's: [V, C]. Default: its own. */
  table?: Tensor | undefined;
}

/** Rows [N, C] → scores [N, words]. */
interface Scores {
  readonly parameters: readonly Parameter[];
  apply(x: Tensor): Tensor;
}

/** Scores by vectors that an embedding owns, and by some of its own after them; the bias is its own, too. */
class TiedScores implements Scores {
  readonly parameters: readonly Parameter[];
  readonly #vectors: Tensor;
  readonly #bias: Parameter | undefined;

  constructor(name: string, table: Tensor, { slots = 0, bias = true, weight }: TiedOptions) {
    const [words, width] = table.shape.map(Number) as [number, number];
    const own = slots > 0 ? newParameter(`${name}.slots`, [slots, width], weight, "head") : undefined;
    this.#bias = bias ? newParameter(`${name}.bias`, [words + slots], zeros, "bias") : undefined;
    this.#vectors = own ? concat([table, own.tensor], 0) : table;
    this.parameters = [...(own ? [own] : []), ...(this.#bias ? [this.#bias] : [])];
  }

  apply(x: Tensor): Tensor {
    const scores = matmul(x, this.#vectors, { transposeB: true });
    return this.#bias ? add(scores, this.#bias.tensor) : scores;
  }
}

interface TiedOptions {
  /** Vectors of its own. */
  readonly slots?: number | undefined;
  readonly bias?: boolean;
  readonly weight: Initial;
}

/** One linear map to the scores of all words. */
export class PlainSoftmax implements WordDistribution {
  readonly #linear: Scores;
  readonly rowInputs = [];

  constructor(name: string, { width, vocabulary, weight = xavierUniform, table }: PlainSoftmaxOptions) {
    this.#linear = table
      ? new TiedScores(name, table, { weight })
      : new Linear(name, { in: width, out: vocabulary, weight, role: "head" });
  }

  get parameters(): Parameter[] {
    return [...this.#linear.parameters];
  }

  rowsOf(): Record<string, Int32Array> {
    return {};
  }

  logits(hidden: Tensor): Tensor {
    return this.#linear.apply(hidden);
  }

  losses(hidden: Tensor, targets: Tensor): LossPart[] {
    return [{ values: crossEntropy(this.logits(hidden), targets) }];
  }

  logProbabilities(hidden: Tensor): Tensor {
    return logSoftmax(this.logits(hidden));
  }
}

/** How words are cut into clusters, the most frequent first. */
export interface ClusterOptions {
  width: number;
  vocabulary: number;
  /** Ends of all clusters but the last, rising. */
  cutoffs: readonly number[];
  /** Tail k projects to ⌊width / factor^(k+1)⌋, at least 1. Default: 4. */
  factor?: number | undefined;
  /** Projection sizes, one per tail, instead of the factor's. */
  sizes?: readonly number[] | undefined;
  weight?: Initial;
}

/** Vectors of words by cluster, as an embedding owns them. */
export interface WordTables {
  /** Of the frequent words: [c₀, C]. */
  readonly head: Tensor;
  /** Of each tail's words, in its projection's size; none where the embedding has longer ones. */
  readonly tails?: readonly Tensor[] | undefined;
}

/** Clusters, and which of them have biases. */
export interface AdaptiveSoftmaxOptions extends ClusterOptions {
  /** Vectors that are somebody else's. Default: all its own. */
  tables?: WordTables | undefined;
  /** Default: true. */
  headBias?: boolean;
  /** Default: true. */
  tailBias?: boolean;
}

/** A tail: words start … end − 1, through a projection of the given size. */
export interface Tail {
  readonly start: number;
  readonly end: number;
  readonly size: number;
}

/** Checks cutoffs and projection sizes and lays the tails out. */
export function tailsOf(who: string, { width, vocabulary, cutoffs, factor = 4, sizes }: ClusterOptions): Tail[] {
  const rising = cutoffs.every((cutoff, i) => Number.isInteger(cutoff) && cutoff > (cutoffs[i - 1] ?? 0));
  if (cutoffs.length === 0 || !rising || cutoffs.at(-1)! >= vocabulary) {
    reject(
      {
        who: `${who} / cutoffs`,
        needed: `rising whole numbers from 1 to ${vocabulary - 1}, one below the vocabulary`,
        got: `[${cutoffs}]`,
        remedy: "sort them, leave repeats and the vocabulary size out, or find them with `layerwise cutoffs`",
      },
      2,
    );
  }
  if (sizes && (sizes.length !== cutoffs.length || sizes.some((size) => !Number.isInteger(size) || size < 1))) {
    reject(
      {
        who: `${who} / projection sizes`,
        needed: `${cutoffs.length} whole numbers from 1, one per tail`,
        got: `[${sizes}]`,
        remedy: "give one per cutoff, or none and a projection factor",
      },
      2,
    );
  }
  if (!(factor >= 1)) reject({ who: `${who} / projection factor`, needed: "a number from 1", got: `${factor}` }, 2);
  return cutoffs.map((start, k) => {
    const size = sizes?.[k] ?? Math.max(1, Math.floor(width / factor ** (k + 1)));
    return { start, end: cutoffs[k + 1] ?? vocabulary, size };
  });
}

/** The head knows the frequent words and one slot per tail; only rows with a target in a tail go through that tail. */
export class AdaptiveSoftmax implements WordDistribution {
  readonly tails: readonly Tail[];
  readonly rowInputs: readonly Tensor<"input">[];
  readonly #name: string;
  readonly #head: Scores;
  readonly #layers: readonly { readonly projection: Linear; readonly output: Scores }[];

  constructor(name: string, options: AdaptiveSoftmaxOptions) {
    const { width, weight = xavierUniform, headBias = true, tailBias = true, tables } = options;
    this.#name = name;
    this.tails = tailsOf(name, options);
    const words = this.tails[0]!.start;
    const linear = (part: string, from: number, to: number, bias: boolean) =>
      new Linear(`${name}.${part}`, { in: from, out: to, bias, weight, role: "head" });
    const scores = (part: string, table: Tensor | undefined, [from, to]: [number, number], bias: boolean): Scores => {
      const slots = table && to - Number(table.shape[0]);
      return table ? new TiedScores(`${name}.${part}`, table, { slots, bias, weight }) : linear(part, from, to, bias);
    };
    this.#head = scores("head", tables?.head, [width, words + this.tails.length], headBias);
    this.#layers = this.tails.map(({ start, end, size }, k) => ({
      projection: linear(`tails.${k}.projection`, width, size, tailBias),
      output: scores(`tails.${k}.output`, tables?.tails?.[k], [size, end - start], tailBias),
    }));
    this.rowInputs = this.tails.map((_, k) => distinctIds(`${name}.tails.${k}.rows`, [`${name}_tail${k}`]));
  }

  get parameters(): Parameter[] {
    const tails = this.#layers.flatMap(({ projection, output }) => [...projection.parameters, ...output.parameters]);
    return [...this.#head.parameters, ...tails];
  }

  rowsOf(targets: ArrayLike<number>, padding?: number): Record<string, Int32Array> {
    const rows = Array.from(targets, (_, i) => i);
    return Object.fromEntries(
      this.tails.map(({ start, end }, k) => {
        const inside = rows.filter((i) => targets[i]! >= start && targets[i]! < end && targets[i] !== padding);
        return [this.rowInputs[k]!.attributes.name, Int32Array.from(inside)];
      }),
    );
  }

  losses(hidden: Tensor, targets: Tensor): LossPart[] {
    return within(this.#name, () => {
      const head = { values: crossEntropy(this.#head.apply(hidden), this.#headTargets(targets)) };
      const tails = this.tails.map(({ start }, k) => {
        const rows = this.rowInputs[k]!;
        const logits = this.#tailLogits(gather(hidden, rows), k);
        return { values: crossEntropy(logits, subtract(gather(targets, rows), start)), rows };
      });
      return [head, ...tails];
    });
  }

  logProbabilities(hidden: Tensor): Tensor {
    return within(this.#name, () => {
      const words = this.tails[0]!.start;
      const head = logSoftmax(this.#head.apply(hidden));
      const tails = this.tails.map((_, k) => {
        return add(logSoftmax(this.#tailLogits(hidden, k)), slice(head, 1, words + k, words + k + 1));
      });
      return concat([slice(head, 1, 0, words), ...tails], 1);
    });
  }

  #tailLogits(hidden: Tensor, k: number): Tensor {
    const { projection, output } = this.#layers[k]!;
    return output.apply(projection.apply(hidden));
  }

  /** Targets in a tail become the tail's slot. */
  #headTargets(targets: Tensor): Tensor {
    const words = this.tails[0]!.start;
    return this.tails.reduce<Tensor>((ids, { start }, k) => {
      return select(greater(targets, start - 1), words + k, ids);
    }, targets);
  }
}

/** Words of each cluster have vectors of its projection size, brought to the model's width by one matrix per tail. */
export class AdaptiveEmbedding {
  readonly #tails: readonly Tail[];
  readonly #head: Embedding;
  readonly #layers: readonly { readonly words: Embedding; readonly projection: Parameter }[];

  constructor(name: string, options: ClusterOptions) {
    const { width, weight = normal(0.02) } = options;
    this.#tails = tailsOf(name, options);
    this.#head = new Embedding(`${name}.head`, { count: this.#tails[0]!.start, width, weight });
    this.#layers = this.#tails.map(({ start, end, size }, k) => ({
      words: new Embedding(`${name}.tails.${k}`, { count: end - start, width: size, weight }),
      projection: newParameter(`${name}.tails.${k}.projection`, [width, size], normal(size ** -0.5), "head"),
    }));
  }

  get parameters(): Parameter[] {
    const tails = this.#layers.flatMap(({ words, projection }) => [...words.parameters, projection]);
    return [...this.#head.parameters, ...tails];
  }

  /** Its vectors, for a softmax over the same clusters to share. */
  get tables(): WordTables {
    return { head: this.#head.weight.tensor, tails: this.#layers.map(({ words }) => words.weight.tensor) };
  }

  /** ids [N] → [N, C]. Every row goes through every tail, weighed 0 where it does not belong: the tails are narrow. */
  apply(ids: Tensor): Tensor {
    const first = this.#tails[0]!.start;
    const head = ownRows(this.#head, ids, 0, first);
    return this.#tails.reduce<Tensor>((total, { start, end }, k) => {
      const { words, projection } = this.#layers[k]!;
      return add(total, matmul(ownRows(words, ids, start, end), projection.tensor, { transposeB: true }));
    }, head);
  }
}

/** Vectors of ids in start … end − 1, and zeros for all others. */
function ownRows(table: Embedding, ids: Tensor, start: number, end: number): Tensor {
  const inside = and(greater(ids, start - 1), less(ids, end));
  const local = minimum(maximum(subtract(ids, start), 0), end - start - 1);
  return multiply(table.apply(local), expandDims(cast(inside, "float"), -1));
}
