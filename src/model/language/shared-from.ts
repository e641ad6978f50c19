/** First weights of a language model with shared blocks, out of a deeper trained one; what the blocks cannot hold is measured and said. */
import { rejectData, rejectOption } from "../../base/errors.ts";
import { lowRank } from "../../base/low-rank.ts";
import { checkOptions, oneOf, whole } from "../../base/options.ts";
import { nameAt } from "../../depth/relaxed.ts";
import type { Tensor } from "../../graph/index.ts";
import { initialise, type Parameter } from "../../nn/index.ts";
import type { Weights } from "../weights.ts";
import type { LanguageModel } from "./language.ts";

/** How blocks of the source become blocks of the target. */
export interface SharedFromOptions {
  /**
   * `average`: the mean of those at the depths where a block runs. `stepwise`: blocks of the source at even steps from the first to the last.
   * `first`: that at the depth where a block runs first. Default: average.
   */
  blocks?: "average" | "stepwise" | "first" | undefined;
  /** Of weights that the source does not have. Default: 1. */
  seed?: number | undefined;
}

/** What became of a parameter of the source at one depth of the target. */
export interface SharedRow {
  /** Of the target, such as `blocks.0.qkv.weight`. */
  readonly name: string;
  readonly visit: number;
  /** Of the source. */
  readonly from: string;
  /** ‖source − what stands there‖ / ‖source‖: 0 where nothing was lost. */
  readonly error: number;
}

/** First weights, and what they leave of the source. */
export interface SharedFrom {
  readonly weights: Weights;
  readonly rows: readonly SharedRow[];
  /** Parameters of the source that no depth of the target stands for. */
  readonly unused: readonly string[];
  /** Parameters of the target that the source knows nothing of: they have drawn values. */
  readonly fresh: readonly string[];
}

/**
 * Maps a trained model onto one with fewer blocks (or a shorter plan): matrices by `blocks`, the rest of each depth into its low-rank
 * additions (singular value decomposition), norms and biases into those that a depth has of its own.
 */
export function sharedFrom(
  target: LanguageModel,
  source: LanguageModel,
  weights: Weights,
  options: SharedFromOptions = {},
): SharedFrom {
  const rules = { blocks: oneOf(["average", "stepwise", "first"]), seed: whole() };
  checkOptions("sharedFrom", options, rules);
  const { blocks = "average", seed = 1 } = options;
  return new Mapping(target, source, weights, blocks, seed).result();
}

const blockName = /^blocks\.(\d+)\.(.+)$/;

class Mapping {
  readonly #target: LanguageModel;
  readonly #parameters: ReadonlyMap<string, Parameter>;
  readonly #source: ReadonlyMap<string, Float32Array>;
  readonly #shapes: ReadonlyMap<string, string>;
  readonly #plans: readonly [target: readonly number[], source: readonly number[]];
  readonly #how: NonNullable<SharedFromOptions["blocks"]>;
  readonly #values: Map<Tensor<"parameter">, Float32Array>;
  readonly #rows: SharedRow[] = [];
  readonly #used = new Set<string>();
  readonly #set = new Set<string>();

  constructor(
    target: LanguageModel,
    source: LanguageModel,
    weights: Weights,
    how: NonNullable<SharedFromOptions["blocks"]>,
    seed: number,
  ) {
    this.#target = target;
    this.#how = how;
    this.#plans = [planOf(target, "target"), planOf(source, "source")];
    this.#parameters = new Map(target.parameters.map((parameter) => [parameter.name, parameter]));
    this.#source = new Map(source.parameters.map(({ name, tensor }) => [name, weights.get(tensor)!]));
    this.#shapes = new Map(source.parameters.map(({ name, tensor }) => [name, `${tensor.attributes.shape}`]));
    this.#values = initialise(target.parameters, seed);
  }

  result(): SharedFrom {
    for (const { name } of this.#target.parameters) {
      const [, block, part] = blockName.exec(name) ?? [];
      if (block === undefined) this.#copy(name);
      else if (this.#source.has(`blocks.${this.#plans[1][0]}.${part}`)) this.#share(name, Number(block), part!);
    }
    return {
      weights: this.#values,
      rows: this.#rows,
      unused: [...this.#source.keys()].filter((name) => !this.#used.has(name)),
      fresh: [...this.#parameters.keys()].filter((name) => !this.#set.has(name)),
    };
  }

  /** What is no block's: embeddings, positions, the last norm. */
  #copy(name: string): void {
    if (this.#source.has(name)) this.#put(name, this.#read(name, name));
  }

  /** A parameter of a shared block, at all of its visits. */
  #share(name: string, block: number, part: string): void {
    const froms = this.#sourcesOf(block).map((index) => `blocks.${index}.${part}`);
    const each = froms.map((from) => this.#read(from, name));
    const isOwn = froms.length === 1 || this.#parameters.has(nameAt(name, 1));
    const shared = isOwn ? each[0]! : this.#sharedOf(block, part, name, each);
    this.#put(name, shared);
    each.forEach((wanted, visit) => {
      const stands = isOwn ? this.#put(nameAt(name, visit), wanted) : this.#addition(name, visit, shared, wanted);
      this.#rows.push({ name, visit, from: froms[visit]!, error: distance(wanted, stands) });
    });
  }

  /** Blocks of the source, one for each depth of the target where the block runs. */
  #sourcesOf(block: number): number[] {
    const [target, source] = this.#plans;
    const last = Math.max(1, target.length - 1);
    return target.flatMap((each, depth) => {
      return each === block ? [source[Math.round((depth * (source.length - 1)) / last)]!] : [];
    });
  }

  #sharedOf(block: number, part: string, name: string, each: readonly Float32Array[]): Float32Array {
    if (this.#how === "first") return each[0]!;
    if (this.#how === "average") {
      return each[0]!.map((_, i) => each.reduce((total, values) => total + values[i]!, 0) / each.length);
    }
    const [target, source] = this.#plans;
    const step = (source.length - 1) / Math.max(1, Math.max(...target));
    return this.#read(`blocks.${source[Math.round(block * step)]}.${part}`, name);
  }

  /** Puts what a matrix lacks into its low-rank addition, where it has one; gives what stands there then. */
  #addition(name: string, visit: number, shared: Float32Array, wanted: Float32Array): Float32Array {
    const down = this.#parameters.get(nameAt(name, visit, "down"));
    if (!down) return shared;
    const [rank, columns] = down.tensor.attributes.shape as [number, number];
    const rows = shared.length / columns;
    const lacks = wanted.map((value, i) => value - shared[i]!);
    const { left, right } = lowRank(lacks, rows, columns, rank);
    const [up, across] = [Float32Array.from(left), Float32Array.from(right)];
    this.#put(nameAt(name, visit, "up"), up);
    this.#put(down.name, across);
    return shared.map((value, at) => {
      const [i, j] = [Math.floor(at / columns), at % columns];
      return up
        .subarray(i * rank, (i + 1) * rank)
        .reduce((sum, each, k) => sum + each * across[k * columns + j]!, value);
    });
  }

  #put(name: string, values: Float32Array): Float32Array {
    this.#set.add(name);
    this.#values.set(this.#parameters.get(name)!.tensor, values.slice());
    return values;
  }

  /** Values of the source, once their shape is seen to be the target's. */
  #read(from: string, name: string): Float32Array {
    const needed = `${this.#parameters.get(name)!.tensor.attributes.shape}`;
    const got = this.#shapes.get(from);
    this.#used.add(from);
    if (got === needed) return this.#source.get(from)!;
    const remedy = "give both models the same sizes";
    return rejectData({
      who: `sharedFrom / ${from}`,
      needed: `[${needed}] for ${name}`,
      got: `[${got ?? "nothing"}]`,
      remedy,
    });
  }
}

function planOf({ options: { plan } }: LanguageModel, who: string): readonly number[] {
  if (plan) return plan;
  return rejectOption({ who: `sharedFrom / ${who}`, needed: "a model over a plan of blocks", got: "a depth policy" });
}

function distance(a: Float32Array, b: Float32Array): number {
  const size = Math.sqrt(a.reduce((total, value) => total + value * value, 0));
  const apart = Math.sqrt(a.reduce((total, value, i) => total + (value - b[i]!) ** 2, 0));
  return apart === 0 ? 0 : apart / size;
}
