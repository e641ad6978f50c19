/** The blocks of a language model in the order in which they run, and the weights that stand at each depth. */
import { rejectOption } from "../../base/errors.ts";
import { mapWords, parseDepth, planOfDepth } from "../../depth/notation.ts";
import { nameAt } from "../../depth/relaxed.ts";
import type { Weights } from "../weights.ts";
import type { LanguageModel } from "./language.ts";

/** Which block runs at each depth, at most: of a plan, or of a depth that was written. */
export function orderOf({ options: { plan, depth } }: LanguageModel, who: string): readonly number[] {
  if (plan) return plan;
  if (typeof depth === "string") return planOfDepth(parseDepth(depth));
  const remedy = "make the model with a plan, or with its depth as text";
  return rejectOption({ who, needed: "a model whose blocks have an order", got: "a depth policy", remedy });
}

/** Who decides how deep, as far as it gives weights their meaning: parameters of one policy say nothing to another. */
export function decidersOf({ options: { plan, halting, depth } }: LanguageModel): string {
  if (plan) return halting ? "halt" : "";
  const words: string[] = [];
  mapWords(parseDepth(depth as string), (word) => {
    if (word.name !== "relax") words.push([word.name, word.options.choice, word.options.injection].join(" ").trim());
    return word;
  });
  return words.join(", ");
}

const blockPart = /^blocks\.(\d+)\.(.+)$/;

/** Block number and part of a name such as `blocks.2.qkv.weight`; neither of one that is no block's. */
export function placeOf(name: string): { block: number; part: string } | undefined {
  const [, block, part] = blockPart.exec(name) ?? [];
  return part === undefined ? undefined : { block: Number(block), part };
}

/** A trained model, depth by depth. */
export class Visited {
  readonly order: readonly number[];
  /** Blocks that own weights. */
  readonly blocks: number;
  readonly #values: ReadonlyMap<string, Float32Array>;
  readonly #shapes: ReadonlyMap<string, string>;
  readonly #used = new Set<string>();

  constructor(model: LanguageModel, weights: Weights) {
    this.order = orderOf(model, "sharedFrom / source");
    this.blocks = new Set(this.order).size;
    this.#values = new Map(model.parameters.map(({ name, tensor }) => [name, weights.get(tensor)!]));
    this.#shapes = new Map(model.parameters.map(({ name, tensor }) => [name, `${tensor.attributes.shape}`]));
  }

  /** Names that nobody read. */
  get unused(): string[] {
    return [...this.#values.keys()].filter((name) => !this.#used.has(name));
  }

  shapeOf(name: string): string | undefined {
    return this.#shapes.get(name);
  }

  take(name: string): Float32Array {
    this.#used.add(name);
    return this.#values.get(name)!;
  }

  /** The depths at which a block runs. */
  depthsOf(block: number): number[] {
    return this.order.flatMap((each, depth) => (each === block ? [depth] : []));
  }

  /** The name of what a depth has of a part: its own copy where it has one, else that of all visits. */
  nameAt(depth: number, part: string): string {
    const block = this.order[depth]!;
    const visit = this.depthsOf(block).indexOf(depth);
    const own = nameAt(`blocks.${block}.${part}`, visit);
    return this.#values.has(own) ? own : `blocks.${block}.${part}`;
  }

  /** What stands at a depth: W, or W + B·A where sharing is relaxed. */
  at(depth: number, part: string): Float32Array {
    const name = `blocks.${this.order[depth]}.${part}`;
    const visit = this.depthsOf(this.order[depth]!).indexOf(depth);
    const [down, up] = [nameAt(name, visit, "down"), nameAt(name, visit, "up")];
    const values = this.take(this.nameAt(depth, part));
    if (!this.#values.has(down)) return values;
    return withProduct(values, this.take(up), this.take(down), Number(this.shapeOf(down)!.split(",")[0]));
  }
}

/** W + B·A, for W [rows, columns], B [rows, rank] and A [rank, columns]. */
export function withProduct(w: Float32Array, b: Float32Array, a: Float32Array, rank: number): Float32Array {
  const columns = a.length / rank;
  return w.map((value, at) => {
    const [i, j] = [Math.floor(at / columns), at % columns];
    return b.subarray(i * rank, (i + 1) * rank).reduce((sum, each, k) => sum + each * a[k * columns + j]!, value);
  });
}
