/** Stacks of PyTorch's layers in the order of a plan: the two sides of an encoder–decoder. Rows in, rows out. */

import { dropoutRate, oneOf, type Rules, truth } from "../../base/options.ts";
import { fixed } from "../../depth/fixed.ts";
import { type PartSharing, type Parts, type Plan, partsOf, sharedParts } from "../../depth/plan.ts";
import type { Tensor } from "../../graph/index.ts";
import type { Cache, KeyValues } from "../../nn/attention.ts";
import { activationRule } from "../../nn/feed-forward.ts";
import { type Activation, type Block, type Context, LayerNorm, type Parameter, type Rows } from "../../nn/index.ts";
import {
  DecoderLayer,
  EncoderLayer,
  layerNorms,
  MultiheadAttention,
  TorchFeedForward,
  type TorchLayerOptions,
} from "../../nn/torch-layers.ts";

/** Layers of one side: sizes, plan, and a norm at the end. */
export interface StackOptions extends TorchLayerOptions, PartSharing {
  plan: Plan;
  /** A norm after the last layer. */
  norm: boolean;
}

/** [B, T, C], or [T, B, C]. */
export type Layout = "batch-first" | "sequence-first";

/** What models of these stacks may be told besides their sizes and plans. */
interface StackChoices extends PartSharing {
  dropout?: number;
  activation?: Activation;
  norm?: boolean;
  normFirst?: boolean;
}

/** The rules of these options. */
export const stackRules: Rules<StackChoices> = {
  dropout: dropoutRate,
  activation: activationRule,
  norm: truth,
  normFirst: truth,
  share: oneOf(sharedParts),
  norms: oneOf(["shared", "per-depth"]),
};

/** The rule of a layout. */
export const layoutRule = oneOf(["batch-first", "sequence-first"]);

/** What holds where nothing is said. */
export const stackDefaults = {
  dropout: 0.1,
  activation: "relu",
  norm: false,
  normFirst: false,
  layout: "batch-first",
  share: "layers",
  norms: "shared",
} as const;

/** Called for each executed layer, while the graph is built, with the state after it. */
export type Trace = (layer: number, depth: number, state: Tensor) => void;

/** One object a key. */
function once<K, T>(make: (key: K) => T): (key: K) => T {
  const made = new Map<K, T>();
  return (key) => {
    if (!made.has(key)) made.set(key, make(key));
    return made.get(key)!;
  };
}

/** The layer of each depth: equal parts give the same layer, and a part that several layers name is one object. */
function layersOf<L>(prefix: string, options: StackOptions, norms: number, build: (layer: LayerSource) => L): L[] {
  const name = (i: number) => `${prefix}layers.${i}`;
  const parts = {
    attention: once((i: number) => new MultiheadAttention(`${name(i)}.self_attn`, options)),
    cross: once((i: number) => new MultiheadAttention(`${name(i)}.multihead_attn`, options)),
    feedForward: once((i: number) => new TorchFeedForward(name(i), options)),
    norms: once((i: number) => layerNorms(name(i), norms, options)),
  };
  const layers = new Map<string, L>();
  return partsOf(options.plan, options).map((at) => {
    const key = `${at.attention} ${at.feedForward} ${at.norm}`;
    const layer = layers.get(key) ?? build({ name: name(at.attention), at, ...parts });
    layers.set(key, layer);
    return layer;
  });
}

/** Parts of the layers of a stack, made once each. */
export interface LayerSource {
  readonly name: string;
  readonly at: Parts;
  readonly attention: (i: number) => MultiheadAttention;
  readonly cross: (i: number) => MultiheadAttention;
  readonly feedForward: (i: number) => TorchFeedForward;
  readonly norms: (i: number) => LayerNorm[];
}

/** What has parameters. */
export type Owner = { readonly parameters: readonly Parameter[] };

/** Shared parts count once. */
const distinct = (owners: readonly Owner[]) => [...new Set(owners.flatMap((owner) => [...owner.parameters]))];

/** Runs one block a depth by the fixed policy. */
function run(blocks: readonly Block[], plan: Plan, x: Tensor, context: Context, each: DepthHooks): Tensor {
  const atDepths = blocks.map(
    (block, depth): Block => ({
      parameters: block.parameters,
      apply: (state, given) => {
        const after = block.apply(state, { ...given, cache: each.caches?.[depth] });
        each.trace?.(plan[depth]!, depth, after);
        return after;
      },
    }),
  );
  return fixed(atDepths, [...plan.keys()]).apply(x, context).hidden;
}

/** Told what happens at each depth. */
export interface DepthHooks {
  readonly trace?: Trace | undefined;
  /** Keys and values of self-attention, one a depth. */
  readonly caches?: readonly Cache[] | undefined;
}

/** Layers in the order of a plan, and a norm after the last where there is one. */
export class Stack<L extends Owner> {
  readonly parameters: readonly Parameter[];
  protected readonly layers: readonly L[];
  readonly #plan: Plan;
  readonly #norm: LayerNorm | undefined;

  constructor(prefix: string, options: StackOptions, norms: number, build: (layer: LayerSource) => L) {
    const { plan, norm, width, epsilon } = options;
    this.#plan = plan;
    this.layers = layersOf(prefix, options, norms, build);
    this.#norm = norm ? new LayerNorm(`${prefix}norm`, { width, epsilon }) : undefined;
    this.parameters = distinct([...this.layers, ...(this.#norm ? [this.#norm] : [])]);
  }

  protected run(blocks: readonly Block[], x: Tensor, context: Context, hooks: DepthHooks): Tensor {
    const last = run(blocks, this.#plan, x, context, hooks);
    return this.#norm ? this.#norm.apply(last) : last;
  }
}

/** Encoder layers in the order of a plan. */
export class EncoderStack extends Stack<EncoderLayer> {
  constructor(prefix: string, options: StackOptions) {
    super(prefix, options, 2, ({ name, at, attention, feedForward, norms }) => {
      const own = { attention: attention(at.attention), feedForward: feedForward(at.feedForward) };
      return new EncoderLayer(name, { ...own, norms: norms(at.norm) }, options);
    });
  }

  /** x [B·T, C] → [B·T, C] */
  apply(x: Tensor, context: Context, trace?: Trace): Tensor {
    return this.run(this.layers, x, context, { trace });
  }
}

/** Decoder layers in the order of a plan. */
export class DecoderStack extends Stack<DecoderLayer> {
  constructor(prefix: string, options: StackOptions) {
    super(prefix, options, 3, ({ name, at, attention, cross, feedForward, norms }) => {
      const own = { attention: attention(at.attention), feedForward: feedForward(at.feedForward) };
      return new DecoderLayer(name, { ...own, cross: cross(at.attention), norms: norms(at.norm) }, options);
    });
  }

  /** How many pairs of keys and values `remember` gives. */
  get memories(): number {
    return this.#distinct.length;
  }

  /** Each layer remembers a memory once, however many depths run it. */
  get #distinct(): DecoderLayer[] {
    return [...new Set(this.layers)];
  }

  /** Keys and values of an encoder's output, one pair a distinct layer. */
  remember(memory: Tensor, rows: Context["rows"]): KeyValues[] {
    return this.#distinct.map((layer) => layer.remember(memory, rows));
  }

  /** x [B·T, C] → [B·T, C], over what `remember` gave; `memoryMask` is added to the scores of cross-attention. */
  apply(x: Tensor, context: Context, memory: readonly KeyValues[], hooks: DecoderHooks = {}): Tensor {
    const known = new Map(this.#distinct.map((layer, i) => [layer, memory[i]!]));
    const blocks = this.layers.map((layer) =>
      layer.over({ ...known.get(layer)!, mask: hooks.memoryMask, rows: hooks.memoryRows }),
    );
    return this.run(blocks, x, context, hooks);
  }
}

/** The same of a decoder. */
export interface DecoderHooks extends DepthHooks {
  readonly memoryMask?: Tensor | undefined;
  /** How rows fold for cross-attention, where that differs. */
  readonly memoryRows?: Rows | undefined;
}
