/** Stacks of PyTorch's layers in the order of a plan: the two sides of an encoder–decoder. Rows in, rows out. */
import { oneOf, type Rules } from "../../base/options.ts";
import { fixed } from "../../depth/fixed.ts";
import { type PartSharing, type Parts, type Plan, partsOf, sharedParts } from "../../depth/plan.ts";
import type { Tensor } from "../../graph/index.ts";
import type { Cache, KeyValues } from "../../nn/attention.ts";
import { type Block, type Context, LayerNorm, type Parameter, type Rows } from "../../nn/index.ts";
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

/** Of the options that say what a plan shares. */
export const sharingRules: Rules<PartSharing> = {
  share: oneOf(sharedParts),
  norms: oneOf(["shared", "per-depth"]),
};

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

interface LayerSource {
  readonly name: string;
  readonly at: Parts;
  readonly attention: (i: number) => MultiheadAttention;
  readonly cross: (i: number) => MultiheadAttention;
  readonly feedForward: (i: number) => TorchFeedForward;
  readonly norms: (i: number) => LayerNorm[];
}

type Owner = { readonly parameters: readonly Parameter[] };

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

interface DepthHooks {
  readonly trace?: Trace | undefined;
  /** Keys and values of self-attention, one a depth. */
  readonly caches?: readonly Cache[] | undefined;
}

const finalNorm = (prefix: string, { width, epsilon }: StackOptions) =>
  new LayerNorm(`${prefix}norm`, { width, epsilon });

export class EncoderStack {
  readonly parameters: readonly Parameter[];
  readonly #plan: Plan;
  readonly #layers: readonly EncoderLayer[];
  readonly #norm: LayerNorm | undefined;

  constructor(prefix: string, options: StackOptions) {
    this.#plan = options.plan;
    this.#layers = layersOf(prefix, options, 2, ({ name, at, attention, feedForward, norms }) => {
      const parts = {
        attention: attention(at.attention),
        feedForward: feedForward(at.feedForward),
        norms: norms(at.norm),
      };
      return new EncoderLayer(name, parts, options);
    });
    this.#norm = options.norm ? finalNorm(prefix, options) : undefined;
    this.parameters = distinct([...this.#layers, ...(this.#norm ? [this.#norm] : [])]);
  }

  /** x [B·T, C] → [B·T, C] */
  apply(x: Tensor, context: Context, trace?: Trace): Tensor {
    const last = run(this.#layers, this.#plan, x, context, { trace });
    return this.#norm ? this.#norm.apply(last) : last;
  }
}

export class DecoderStack {
  readonly parameters: readonly Parameter[];
  readonly #plan: Plan;
  readonly #layers: readonly DecoderLayer[];
  readonly #norm: LayerNorm | undefined;

  constructor(prefix: string, options: StackOptions) {
    this.#plan = options.plan;
    this.#layers = layersOf(prefix, options, 3, ({ name, at, attention, cross, feedForward, norms }) => {
      const parts = {
        attention: attention(at.attention),
        cross: cross(at.attention),
        feedForward: feedForward(at.feedForward),
        norms: norms(at.norm),
      };
      return new DecoderLayer(name, parts, options);
    });
    this.#norm = options.norm ? finalNorm(prefix, options) : undefined;
    this.parameters = distinct([...this.#layers, ...(this.#norm ? [this.#norm] : [])]);
  }

  /** How many pairs of keys and values `remember` gives. */
  get memories(): number {
    return this.#distinct.length;
  }

  /** Each layer remembers a memory once, however many depths run it. */
  get #distinct(): DecoderLayer[] {
    return [...new Set(this.#layers)];
  }

  /** Keys and values of an encoder's output, one pair a distinct layer. */
  remember(memory: Tensor, rows: Context["rows"]): KeyValues[] {
    return this.#distinct.map((layer) => layer.remember(memory, rows));
  }

  /** x [B·T, C] → [B·T, C], over what `remember` gave; `memoryMask` is added to the scores of cross-attention. */
  apply(x: Tensor, context: Context, memory: readonly KeyValues[], hooks: DecoderHooks = {}): Tensor {
    const known = new Map(this.#distinct.map((layer, i) => [layer, memory[i]!]));
    const blocks = this.#layers.map((layer) =>
      layer.over({ ...known.get(layer)!, mask: hooks.memoryMask, rows: hooks.memoryRows }),
    );
    const last = run(blocks, this.#plan, x, context, hooks);
    return this.#norm ? this.#norm.apply(last) : last;
  }
}

export interface DecoderHooks extends DepthHooks {
  readonly memoryMask?: Tensor | undefined;
  /** How rows fold for cross-attention, where that differs. */
  readonly memoryRows?: Rows | undefined;
}
