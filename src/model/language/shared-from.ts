/** First weights of a language model out of a trained one of another depth; what the blocks cannot hold is measured and said. */
import { rejectData } from "../../base/errors.ts";
import { lowRank } from "../../base/low-rank.ts";
import { checkOptions, oneOf, whole } from "../../base/options.ts";
import { nameAt } from "../../depth/relaxed.ts";
import type { Tensor } from "../../graph/index.ts";
import { initialise, type Parameter } from "../../nn/index.ts";
import type { Weights } from "../weights.ts";
import type { LanguageModel } from "./language.ts";
import { decidersOf, orderOf, placeOf, Visited, withProduct } from "./visited.ts";

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
 * Maps a trained model onto one with fewer blocks, another plan or another written depth: matrices by `blocks`, the rest of each depth
 * into its low-rank additions (singular value decomposition), norms and biases into those that a depth has of its own. With as many blocks
 * as the source each stays itself. What a policy adds (gates, routers, injections) is drawn, unless the source has the same policy.
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

/** The part of a block that has a value per visit by itself. */
const scalePart = /^scale\.visit(\d+)$/;
const outerName = /^(embedding|positions|norm|head)\./;
const ofVisit = /\.visit\d+(\.(down|up))?$/;

class Mapping {
  readonly #target: LanguageModel;
  readonly #order: readonly number[];
  readonly #parameters: ReadonlyMap<string, Parameter>;
  readonly #source: Visited;
  readonly #how: NonNullable<SharedFromOptions["blocks"]>;
  /** Whether blocks, and who decides, are the same in both models. */
  readonly #same: { readonly blocks: boolean; readonly deciders: boolean };
  readonly #values: Map<Tensor<"parameter">, Float32Array>;
  readonly #rows: SharedRow[] = [];
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
    this.#order = orderOf(target, "sharedFrom / target");
    this.#source = new Visited(source, weights);
    this.#parameters = new Map(target.parameters.map((parameter) => [parameter.name, parameter]));
    this.#same = {
      blocks: blockShapes(target) === blockShapes(source),
      deciders: decidersOf(target) === decidersOf(source),
    };
    this.#values = initialise(target.parameters, seed);
  }

  result(): SharedFrom {
    for (const { name } of this.#target.parameters) this.#map(name);
    if (this.#rows.length === 0) this.#refuseAll();
    return {
      weights: this.#values,
      rows: this.#rows,
      unused: this.#source.unused,
      fresh: [...this.#parameters.keys()].filter((name) => !this.#set.has(name)),
    };
  }

  #map(name: string): void {
    const place = placeOf(name);
    const visit = scalePart.exec(place?.part ?? "")?.[1];
    if (!place) this.#copyOuter(name);
    else if (this.#same.blocks) this.#copyBlock(name, place.block);
    else if (visit !== undefined) this.#scale(name, place.block, Number(visit));
    else if (!ofVisit.test(place.part)) this.#share(name, place.block, place.part);
  }

  /** What is no block's: embeddings, positions, the last norm, a head (of a tied one the embedding); and the policy's, where it is the same. */
  #copyOuter(name: string): void {
    const isModels = outerName.test(name);
    const from = name === "head.weight" && this.#source.shapeOf(name) === undefined ? "embedding.weight" : name;
    const fits = this.#source.shapeOf(from) === this.#shapeOf(name);
    if (isModels ? this.#source.shapeOf(from) !== undefined : this.#same.deciders && fits) {
      this.#checkShape(from, name);
      this.#put(name, this.#source.take(from));
    }
  }

  /** A parameter that stands in both models under one name. */
  #copyBlock(name: string, block: number): void {
    this.#put(name, this.#source.take(name));
    if (ofVisit.test(name)) return;
    const visits = this.#order.filter((each) => each === block).length;
    for (let visit = 0; visit < visits; visit++) this.#rows.push({ name, visit, from: name, error: 0 });
  }

  #scale(name: string, block: number, visit: number): void {
    const depth = this.#depthsFor(block, undefined)[visit]!;
    const of = this.#source.order[depth]!;
    const from = `blocks.${of}.scale.visit${this.#source.depthsOf(of).indexOf(depth)}`;
    if (this.#source.shapeOf(from) === this.#shapeOf(name)) this.#put(name, this.#source.take(from));
  }

  /** A parameter of a shared block, at all of its visits. */
  #share(name: string, block: number, part: string): void {
    const depths = this.#depthsFor(block, part);
    if (depths.length === 0) return;
    const froms = depths.map((depth) => this.#source.nameAt(depth, part));
    for (const from of froms) this.#checkShape(from, name);
    const each = depths.map((depth) => this.#source.at(depth, part));
    const isOwn = froms.length === 1 || this.#parameters.has(nameAt(name, 1));
    const shared = isOwn ? each[0]! : this.#sharedOf(block, part, each);
    this.#put(name, shared);
    each.forEach((wanted, visit) => {
      const stands = isOwn ? this.#put(nameAt(name, visit), wanted) : this.#addition(name, visit, shared, wanted);
      this.#rows.push({ name, visit, from: froms[visit]!, error: distance(wanted, stands) });
    });
  }

  /** Depths of the source, one for each depth of the target where the block runs; with a part the nearest that have it, or none. */
  #depthsFor(block: number, part: string | undefined): number[] {
    const own = this.#order.flatMap((each, depth) => (each === block ? [depth] : []));
    const { order, blocks } = this.#source;
    if (blocks === new Set(this.#order).size) {
      const theirs = this.#source.depthsOf(block);
      return this.#nearest(
        own.map((_, visit) => theirs[even(visit, own.length, theirs.length)]!),
        part,
      );
    }
    return this.#nearest(
      own.map((depth) => even(depth, this.#order.length, order.length)),
      part,
    );
  }

  #nearest(depths: readonly number[], part: string | undefined): number[] {
    if (part === undefined) return [...depths];
    const having = this.#source.order.flatMap((block, depth) =>
      this.#source.shapeOf(`blocks.${block}.${part}`) === undefined ? [] : [depth],
    );
    if (having.length === 0) return [];
    return depths.map((depth) =>
      having.reduce((best, each) => (Math.abs(each - depth) < Math.abs(best - depth) ? each : best)),
    );
  }

  #sharedOf(block: number, part: string, each: readonly Float32Array[]): Float32Array {
    if (this.#how === "first") return each[0]!;
    if (this.#how === "average") {
      return each[0]!.map((_, i) => each.reduce((total, values) => total + values[i]!, 0) / each.length);
    }
    const [blocks, { order }] = [new Set(this.#order).size, this.#source];
    const step = blocks === this.#source.blocks ? this.#source.depthsOf(block)[0]! : even(block, blocks, order.length);
    return this.#source.at(this.#nearest([step], part)[0]!, part);
  }

  /** Puts what a matrix lacks into its low-rank addition, where it has one; gives what stands there then. Where nothing lacks, it stays as drawn. */
  #addition(name: string, visit: number, shared: Float32Array, wanted: Float32Array): Float32Array {
    const down = this.#parameters.get(nameAt(name, visit, "down"));
    const lacks = wanted.map((value, i) => value - shared[i]!);
    if (!down || lacks.every((value) => value === 0)) return shared;
    const [rank, columns] = down.tensor.attributes.shape as [number, number];
    const { left, right } = lowRank(lacks, shared.length / columns, columns, rank);
    const [up, across] = [Float32Array.from(left), Float32Array.from(right)];
    this.#put(nameAt(name, visit, "up"), up);
    this.#put(down.name, across);
    return withProduct(shared, up, across, rank);
  }

  #put(name: string, values: Float32Array): Float32Array {
    this.#set.add(name);
    this.#values.set(this.#parameters.get(name)!.tensor, values.slice());
    return values;
  }

  #shapeOf(name: string): string {
    return `${this.#parameters.get(name)!.tensor.attributes.shape}`;
  }

  #checkShape(from: string, name: string): void {
    const [needed, got] = [this.#shapeOf(name), this.#source.shapeOf(from)];
    if (got === needed) return;
    const remedy = name === "embedding.weight" ? "give both the same tokenizer and width" : "give both the same sizes";
    rejectData({ who: `sharedFrom / ${from}`, needed: `[${needed}] for ${name}`, got: `[${got}]`, remedy });
  }

  #refuseAll(): never {
    const who = "sharedFrom / source";
    return rejectData({ who, needed: "blocks with parts of the target's", got: "none that fits" });
  }
}

/** The place among `count` that is as far along as `at` is among `of`. */
const even = (at: number, of: number, count: number) => Math.round((at * (count - 1)) / Math.max(1, of - 1));

/** Names and shapes of all that blocks have. */
function blockShapes({ parameters }: LanguageModel): string {
  const own = parameters.filter(({ name }) => placeOf(name));
  return own
    .map(({ name, tensor }) => `${name} ${tensor.attributes.shape}`)
    .sort()
    .join("\n");
}

function distance(a: Float32Array, b: Float32Array): number {
  const size = Math.sqrt(a.reduce((total, value) => total + value * value, 0));
  const apart = Math.sqrt(a.reduce((total, value, i) => total + (value - b[i]!) ** 2, 0));
  return apart === 0 ? 0 : apart / (size || 1);
}
