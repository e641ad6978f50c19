/** The language model: learned positions, a depth policy, a norm, and a head tied to the embedding. The policy is an argument. */

import { reject, rejectOption, rejectShape } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import {
  check,
  checkOptions,
  defined,
  dropoutRate,
  oneOf,
  type Rules,
  required,
  truth,
  whole,
} from "../../base/options.ts";
import { fixed } from "../../depth/fixed.ts";
import { type HaltingOptions, halting } from "../../depth/halting.ts";
import type { PatternBlock } from "../../depth/pattern.ts";
import { uniqueOf } from "../../depth/plan.ts";
import { type Deepened, type DepthPolicy, scalarCourses, scalarInputs } from "../../depth/policy.ts";
import { type RelaxOptions, relaxed } from "../../depth/relaxed.ts";
import { writtenDepth } from "../../depth/written.ts";
import type { Engine } from "../../engine/engine.ts";
import {
  add,
  addDims,
  crossEntropy,
  type Dim,
  flattenRows,
  gather,
  input,
  mean,
  multiply,
  reshape,
  slice,
  type Tensor,
  within,
} from "../../graph/index.ts";
import type { Cache, KeyValues, PastKeys } from "../../nn/attention.ts";
import { styleRules } from "../../nn/block.ts";
import {
  type Activation,
  type Block,
  type BlockStyle,
  type Context,
  causalMask,
  Embedding,
  inference,
  type Mode,
  type Norm,
  normal,
  norms,
  type Parameter,
  Rotary,
  Training,
  TransformerBlock,
} from "../../nn/index.ts";
import { headWidth } from "../../nn/layers.ts";
import { rotaryRules } from "../../nn/rotary.ts";
import type { BatchDecoder, CausalModel, Decoder, ForwardPass, Objective } from "../causal.ts";
import { letterBlock } from "../letter-block.ts";
import { checkNames } from "../names.ts";
import { triedDepth } from "../tried-depth.ts";
import type { Weights } from "../weights.ts";
import type { Extension } from "./decoders.ts";

export type { Objective } from "../causal.ts";
export { boundWeights, type Weights } from "../weights.ts";

/** Sizes that every language model has. */
export interface TextSizes {
  /** Number of pieces. */
  vocabulary: number;
  width: number;
  /** Longest text that positions reach. */
  length: number;
  /** Of the embedded text and, where the model makes its own blocks, inside them. Default: 0. */
  dropout?: number;
  /** A learned vector for each place, or rotary positions inside the model's own blocks. Default: learned. */
  positions?: "learned" | "rotary" | undefined;
  /** Of rotary positions. Default: 10,000. */
  rotaryBase?: number | undefined;
  /** Whether the head is the embedding's transpose. Default: true. */
  tied?: boolean | undefined;
}

/** Transformer blocks that the model makes itself. */
export interface OwnBlocks extends BlockStyle {
  heads: number;
  /** Width of the feed-forward layer. Default: four times the width. */
  hidden?: number;
  /** Default: gelu. */
  activation?: Activation;
}

/** Blocks in the order of a plan. */
export interface PlannedBlocks extends OwnBlocks {
  /** Which block runs at each depth; a block named twice shares its weights. */
  plan: readonly number[];
  /** Where given, every token halts by itself, after as many depths of the plan as it needs. */
  halting?: Omit<HaltingOptions, "width"> | undefined;
  /** What a shared block has of its own at each of its depths. Default: nothing. */
  relax?: RelaxOptions | undefined;
}

/** Blocks in the order, and by the policy, that a text says. */
export interface WrittenBlocks extends OwnBlocks {
  /** Such as `2 + 4*3 halt + 1`; docs/depth.md has the notation. */
  depth: string;
}

/** How blocks become depth: `fixed`, `halting`, `searched`, `nested`, or a policy of your own over blocks of the model's width. */
export interface OwnDepth {
  depth: DepthPolicy;
}

/** Sizes, and either a depth policy, or a plan or a text for blocks that the model makes itself; `kind` is as config.json has it. */
export type LanguageModelOptions = TextSizes & (PlannedBlocks | WrittenBlocks | OwnDepth) & { kind?: "language-model" };

/** What a model was made from, as plain data: of an own policy only the sizes. */
export type CompleteLanguageOptions = TextSizes & { readonly dropout: number } & Partial<PlannedBlocks & WrittenBlocks>;

const DEVIATION = 0.02;

/** A causal language model over any depth policy. */
export class LanguageModel implements CausalModel {
  readonly options: CompleteLanguageOptions;
  readonly policy: DepthPolicy;
  #embedding: Embedding;
  /** Absent where blocks know positions. */
  #positions: Embedding | undefined;
  #norm: Norm;
  /** Absent where the embedding is the head. */
  #head: Embedding | undefined;

  constructor(given: LanguageModelOptions) {
    checkOptions("language model", given, ["depth", ...planned, ...Object.keys(sizeRules), "kind"]);
    const sizes = sizesIn(given);
    const { vocabulary, width, length, positions, tied } = sizes;
    const blocks = blocksIn(given);
    this.options = { ...sizes, ...blocks };
    this.policy = blocks ? policyOf({ ...sizes, ...blocks }) : ownPolicy(given as OwnDepth, width);
    this.#embedding = new Embedding("embedding", { count: vocabulary, width });
    this.#positions = positions === "rotary" ? undefined : new Embedding("positions", { count: length, width });
    this.#norm = norms[blocks?.norm ?? "layer"]("norm", { width, epsilon: blocks?.normEpsilon ?? 1e-5 });
    this.#head = tied === false ? new Embedding("head", { count: vocabulary, width, role: "head" }) : undefined;
    checkNames("language model", this.parameters);
  }

  /** The same weights under another policy over the same blocks: `model.withDepth(policy.at(12))` loops twelve times. */
  withDepth(depth: DepthPolicy): LanguageModel {
    const own = new Set(this.policy.parameters.map(({ tensor }) => tensor));
    const foreign = depth.parameters.find(({ tensor }) => !own.has(tensor));
    if (foreign) {
      const remedy = "take one of the policy's own, such as policy.at(…)";
      rejectOption({
        who: "language model / withDepth",
        needed: "a policy over the same parameters",
        got: foreign.name,
        remedy,
      });
    }
    const other = new LanguageModel({ ...sizesIn(this.options as LanguageModelOptions), depth });
    other.#embedding = this.#embedding;
    other.#positions = this.#positions;
    other.#norm = this.#norm;
    other.#head = this.#head;
    return other;
  }

  shallower(depth: number): LanguageModel {
    check("draft depth", depth, whole(1, this.policy.depth - 1));
    const less = this.#drafting(depth);
    if (less) return this.withDepth(less);
    let least = depth + 1;
    while (least < this.policy.depth && !this.#drafting(least)) least++;
    const needed = `at least ${least} blocks`;
    return reject({ who: "draft depth", needed, got: `${depth} of ${this.policy.depth}` }, 2);
  }

  /** The policy with at most so many blocks, where it goes on from caches. */
  #drafting(depth: number): DepthPolicy | undefined {
    const less = this.policy.caches ? this.policy.shallower?.(depth) : undefined;
    return less?.caches ? less : undefined;
  }

  get parameters(): Parameter[] {
    const layers = [this.#embedding, this.#positions, this.policy, this.#norm, this.#head];
    return layers.flatMap((layer) => (layer ? [...layer.parameters] : []));
  }

  /** ids [B, T] → hidden rows [B·T, C], after the last norm; `caches`, where given, are as many as the policy has. */
  hidden(ids: Tensor, mode: Mode = inference, caches?: readonly Cache[]): Tensor {
    return this.#norm.apply(this.deepened(ids, mode, caches).hidden);
  }

  /** ids [B, T] → what the depths make of them, before the last norm. With `skips`, in inference, tokens that stopped are computed no further. */
  deepened(ids: Tensor, mode: Mode = inference, caches?: readonly Cache[], skips = false): Deepened {
    const [batch, length] = ids.shape as [Dim, Dim];
    const past = caches?.[0]?.past?.keys.shape[1] ?? 0;
    const embedded = within("embedding", () => this.#embed(ids, past));
    // A single last token may look at everything.
    const mask = caches && length === 1 ? undefined : causalMask(length, past);
    const scores = (hidden: Tensor) => this.#logits(this.#norm.apply(hidden));
    const context: Context = { rows: { batch, length }, mode, mask, caches, scores, skips };
    return this.policy.apply(mode.dropout(flattenRows(embedded), this.options.dropout), context);
  }

  /** ids [B, T] after P others → [B, T, C] */
  #embed(ids: Tensor, past: Dim): Tensor {
    const pieces = this.#embedding.apply(ids);
    if (!this.#positions) return pieces;
    return add(pieces, slice(this.#positions.weight.tensor, 0, past, addDims(past, ids.shape[1]!)));
  }

  /** Hidden rows [N, C] → scores of all pieces [N, V]. */
  #logits(hidden: Tensor): Tensor {
    return (this.#head ?? this.#embedding).logits(hidden);
  }

  /** ids [B, T] → [B, T, V] */
  logits(ids: Tensor, mode: Mode = inference): Tensor {
    return this.#scores(this.hidden(ids, mode), ids.shape);
  }

  /** ids [B, T] → the logits [N, V] of the rows that `rows`, int [N], names among the B·T. */
  logitsAt(ids: Tensor, rows: Tensor): Tensor {
    return this.#logits(gather(this.hidden(ids), rows));
  }

  /** Hidden rows [B·T, C] → scores of all pieces [B, T, V]. */
  #scores(hidden: Tensor, shape: readonly Dim[]): Tensor {
    return reshape(this.#logits(hidden), [...shape, this.options.vocabulary]);
  }

  /** Mean cross-entropy of `targets` after `ids`, both [batch, length]; with dropout, penalty and the policy's scalars for training. */
  objective({ batch, length, training }: { batch: number; length: number; training: boolean }): Objective {
    const ids = input("ids", [batch, length], "int");
    const targets = input("targets", [batch, length], "int");
    const mode = training ? new Training() : inference;
    const { hidden, exits = [], penalty, probes } = this.deepened(ids, mode, undefined, !training);
    const entropyOf = (each: Tensor) => {
      return crossEntropy(this.#logits(this.#norm.apply(each)), reshape(targets, [batch * length]));
    };
    const parts: Tensor[] = exits.map(({ hidden: each, probability: p }) => {
      return multiply(entropyOf(each), reshape(p, [p.shape[0]!]));
    });
    const entropy = mean(parts.length > 0 ? parts.reduce((a, b) => add(a, b)) : entropyOf(hidden));
    const loss = training && penalty ? add(entropy, penalty) : entropy;
    const inputs = { ids, targets, ...(training ? scalarInputs(this.policy) : {}) };
    const courses = training ? scalarCourses(this.policy) : {};
    // How deep tokens ran, where they choose; training has no use for it.
    const outputs = !training && probes.updates ? { outputs: { depth: mean(probes.updates) } } : {};
    return { loss, inputs, noise: mode instanceof Training ? mode.noise : [], courses, ...outputs };
  }

  /** Logits of every token, through all depths. */
  forward({ batch, length }: { batch: number; length: number }): ForwardPass {
    return { outputs: [this.logits(input("ids", [batch, length], "int"))], sizes: new Map() };
  }

  /**
   * Continues texts: ids [B, T] after P tokens whose keys and values are given, one pair [B, P, C] per cache of the policy (none at the
   * start of a text). Gives logits [B, T, V], or [N, V] of the rows that `rows`, int [N], names among the B·T, and the pairs [B, T, C] of
   * the new tokens.
   */
  extend(ids: Tensor, past?: readonly PastKeys[], rows?: Tensor): Extension {
    const { caches: count } = this.policy;
    if (!count) return refuseCaches(`${count ?? "unknown"}`);
    if (past && past.length !== count) {
      rejectShape({ who: "language model", needed: `keys and values for ${count} caches`, got: `${past.length}` });
    }
    const added: (Extension["added"][number] | undefined)[] = Array.from({ length: count });
    const store =
      (i: number) =>
      (pair: KeyValues, heads: number = 1) => {
        if (added[i]) refuseCaches(`cache ${i} stored twice`);
        added[i] = { ...pair, heads };
      };
    const caches = added.map((_, i): Cache => ({ past: past?.[i], store: store(i) }));
    const { hidden, probes } = this.deepened(ids, inference, caches, true);
    const logits = rows
      ? this.#logits(this.#norm.apply(gather(hidden, rows)))
      : this.#scores(this.#norm.apply(hidden), ids.shape);
    const stored = added.filter((pair) => pair !== undefined);
    if (stored.length < count) refuseCaches(`${stored.length} stored of the ${count} it speaks of`);
    return { logits, added: stored, depths: probes.updates };
  }

  /** Reads texts of any length: from caches where the policy has them, otherwise from the whole text at every token. */
  async open(engine: Engine, weights: Weights): Promise<Decoder> {
    return (await import("./decoders.ts")).openDecoder(engine, this, weights);
  }

  async openBatch(engine: Engine, weights: Weights): Promise<BatchDecoder> {
    return (await import("./decoders.ts")).openBatch(engine, this, weights);
  }
}

function refuseCaches(got: string): never {
  const remedy = "let every block read and store context.cache, or leave `caches` out";
  return rejectShape({
    who: "depth policy / caches",
    needed: "one pair of keys and values stored per cache",
    got,
    remedy,
  });
}

const sizeRules: Rules<TextSizes> = {
  vocabulary: required(whole(1)),
  width: required(whole(1, LARGEST.width)),
  length: required(whole(1, LARGEST.length)),
  dropout: dropoutRate,
  positions: oneOf(["learned", "rotary"]),
  rotaryBase: rotaryRules.base,
  tied: truth,
};
const styles = Object.keys(styleRules) as (keyof BlockStyle)[];
const ofPlans: readonly (keyof PlannedBlocks)[] = ["plan", "halting", "relax"];
const ofBlocks: readonly (keyof OwnBlocks)[] = ["heads", "hidden", "activation", ...styles];
const planned = [...ofBlocks, ...ofPlans];

const picked = <T extends object>(given: object, keys: readonly (keyof T)[]) =>
  defined(Object.fromEntries(Object.entries(given).filter(([key]) => keys.includes(key as keyof T)))) as T;

function sizesIn(given: LanguageModelOptions): TextSizes & { dropout: number } {
  const sizes = picked<TextSizes>(given, Object.keys(sizeRules) as (keyof TextSizes)[]);
  checkOptions("language model", sizes, sizeRules);
  if (sizes.rotaryBase !== undefined && sizes.positions !== "rotary") {
    reject(
      { who: "language model / rotaryBase", needed: "rotary positions", got: sizes.positions ?? "learned ones" },
      2,
    );
  }
  return { ...sizes, dropout: sizes.dropout ?? 0 };
}

/** Blocks with everything that has a default; the style as it was given. */
type CompleteBlocks = OwnBlocks & Required<Pick<OwnBlocks, "hidden" | "activation">> & (PlannedBlocks | WrittenBlocks);

type Shape = BlockStyle & Pick<PlannedBlocks, "relax">;

/** The blocks that the model is to make; undefined where a policy is given. */
function blocksIn(given: LanguageModelOptions): CompleteBlocks | undefined {
  const { depth } = given as { depth?: string | DepthPolicy };
  const { heads, plan, halting, hidden = 4 * given.width, activation = "gelu" } = given as PlannedBlocks & TextSizes;
  const shape = picked<Shape>(given, ["relax", ...styles]);
  const sets = (keys: readonly string[]) => keys.filter((key) => given[key as keyof typeof given] !== undefined);
  if (typeof depth === "string" && heads !== undefined && sets(ofPlans).length === 0) {
    return { heads, depth, hidden, activation, ...shape };
  }
  if (depth === undefined && plan !== undefined && heads !== undefined) {
    return { heads, plan, hidden, activation, halting, ...shape };
  }
  if (typeof depth === "object" && sets(planned).length === 0) return undefined;
  const got = sets(["depth", ...planned]).join(", ") || "neither";
  const needed = "heads with either a plan or a depth in words, or a policy as depth";
  return reject({ who: "language model", needed, got }, 2);
}

function policyOf(options: TextSizes & { dropout: number } & CompleteBlocks): DepthPolicy {
  const { width } = options;
  const block = blockMaker(options);
  if ("depth" in options) return writtenDepth(options.depth, { width, block });
  const { plan, relax } = options;
  const blocks = Array.from({ length: uniqueOf(plan) }, (_, i) => {
    const visits = plan.filter((each) => each === i).length;
    const made = block(`blocks.${i}`);
    return relax && visits > 0 ? relaxed(made, visits, { ...relax, width }) : made;
  });
  return options.halting ? halting(blocks, plan, { ...options.halting, width }) : fixed(blocks, plan);
}

/** Makes blocks of a model's sizes and style: whole ones, or what a letter of a pattern stands for. */
function blockMaker(options: TextSizes & { dropout: number } & CompleteBlocks) {
  const { width, heads, hidden, dropout, activation, length, rotaryBase: base } = options;
  const headSize = headWidth("blocks.0", width, heads);
  const places = { length, width: headSize, ...(base === undefined ? {} : { base }) };
  const rotary = options.positions === "rotary" ? new Rotary("blocks.0", places) : undefined;
  const style = picked<BlockStyle>(options, styles);
  const sizes = { width, heads, hidden, dropout, activation, weight: normal(DEVIATION), rotary, ...style };
  return (name: string, pattern?: PatternBlock): Block => {
    return pattern ? letterBlock(name, pattern, sizes) : new TransformerBlock(name, sizes);
  };
}

/** A policy that was given, once it is seen to keep the width. */
function ownPolicy({ depth }: OwnDepth, width: number): DepthPolicy {
  triedDepth("depth policy", depth, width, { scores: (rows) => rows });
  return depth;
}

/** A language model with the given sizes over a plan of transformer blocks, or over a depth policy. */
export function languageModel(options: LanguageModelOptions): LanguageModel {
  return new LanguageModel(options);
}
