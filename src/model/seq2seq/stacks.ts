/** Stacks of PyTorch's layers in the order of a plan or by a depth policy: the two sides of an encoder–decoder. Rows in, rows out. */

import { reject } from "../../base/errors.ts";
import { dropoutRate, oneOf, type Rules, truth } from "../../base/options.ts";
import { fixed } from "../../depth/fixed.ts";
import { type PartSharing, type Plan, partsOf, sharedParts } from "../../depth/plan.ts";
import type { Deepened, DepthPolicy } from "../../depth/policy.ts";
import { writtenDepth } from "../../depth/written.ts";
import { input, type Tensor } from "../../graph/index.ts";
import type { KeyValues } from "../../nn/attention.ts";
import { activationRule } from "../../nn/feed-forward.ts";
import { type Activation, type Block, type Context, inference, type Norm, type Parameter } from "../../nn/index.ts";
import { memoryOf } from "../../nn/memory.ts";
import type { Rows } from "../../nn/running.ts";
import {
  DecoderLayer,
  EncoderLayer,
  type EncoderParts,
  layerNorms,
  MultiheadAttention,
  normNamed,
  TorchFeedForward,
  type TorchLayerOptions,
} from "../../nn/torch-layers.ts";

/** Layers of one side: sizes, a plan or a depth, and a norm at the end. */
export interface StackOptions extends TorchLayerOptions, PartSharing {
  /** Which layer runs at each depth; `share` and `norms` belong to it. */
  plan?: Plan | undefined;
  /** Instead of a plan: a text such as `2*3 halt`, or a policy over blocks of its own. */
  depth?: string | DepthPolicy | undefined;
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

/** What a layer is made of; the cross-attention of decoders is made when it is asked for. */
export interface LayerSource extends EncoderParts {
  readonly name: string;
  cross(): MultiheadAttention;
}

/** How a kind of layer is made, and how many norms it has. */
export interface LayerKind<L extends Block> {
  readonly normCount: number;
  build(layer: LayerSource, options: TorchLayerOptions): L;
}

/** Layers out of parts: each part has the name of the layer that it belongs to first, and is one object for all that name it. */
function layerMaker<L extends Block>({ normCount, build }: LayerKind<L>, options: StackOptions) {
  const attention = once((name: string) => new MultiheadAttention(`${name}.self_attn`, options));
  const cross = once((name: string) => new MultiheadAttention(`${name}.multihead_attn`, options));
  const feedForward = once((name: string) => new TorchFeedForward(name, options));
  const norms = once((name: string) => layerNorms(name, normCount, options));
  return (name: string, fed: string = name, normed: string = name): L => {
    const own = { attention: attention(name), cross: () => cross(name) };
    return build({ name, ...own, feedForward: feedForward(fed), norms: norms(normed) }, options);
  };
}

/** The layer of each depth of a plan: equal parts give the same layer. */
function plannedLayers<L extends Block>(prefix: string, kind: LayerKind<L>, options: StackOptions, plan: Plan): L[] {
  const make = layerMaker(kind, options);
  const layerOf = once((key: string) => make(...(key.split(" ") as [string, string, string])));
  return partsOf(plan, options).map(({ attention, feedForward, norm }) => {
    return layerOf([attention, feedForward, norm].map((i) => `${prefix}layers.${i}`).join(" "));
  });
}

/** Layers in the order of a list; one that stands in it twice is shared. */
function inOrder(layers: readonly Block[]): DepthPolicy {
  const distinct = [...new Set(layers)];
  const plan = layers.map((layer) => distinct.indexOf(layer));
  return fixed(distinct, plan);
}

/** The policy of a text, over layers of this kind. */
function written<L extends Block>(prefix: string, kind: LayerKind<L>, options: StackOptions, depth: string) {
  const make = layerMaker(kind, options);
  return writtenDepth(depth, {
    width: options.width,
    prefix,
    block: (name, pattern) => (pattern ? refusePattern(prefix, depth) : make(name.replace("blocks", "layers"))),
  });
}

function refusePattern(prefix: string, depth: string): never {
  const who = `${prefix.replace(".", " ")}depth`;
  const remedy = "count layers, such as 6 or 2*3: no letter stands for attention to the source";
  return reject({ who, needed: "whole layers", got: JSON.stringify(depth), remedy }, 2);
}

/** What has parameters. */
export type Owner = { readonly parameters: readonly Parameter[] };

/** Shared parts count once. */
const distinct = (owners: readonly Owner[]) => [...new Set(owners.flatMap((owner) => [...owner.parameters]))];

/** Layers as deep as a plan or a policy says, and a norm after the last where there is one. */
export class Stack<L extends Block> {
  readonly parameters: readonly Parameter[];
  readonly policy: DepthPolicy;
  /** Layers that own weights. */
  readonly unique: number;
  /** One a depth, where there is a plan. */
  protected readonly layers: readonly L[];
  readonly #norm: Norm | undefined;

  constructor(prefix: string, kind: LayerKind<L>, options: StackOptions) {
    const { plan, depth = "1", norm } = options;
    this.layers = plan ? plannedLayers(prefix, kind, options, plan) : [];
    const own = typeof depth === "string" ? () => written(prefix, kind, options, depth) : () => depth;
    this.policy = plan ? inOrder(this.layers) : own();
    this.unique = plan ? new Set(plan).size : (this.policy.unique ?? this.policy.depth);
    this.#norm = norm ? normNamed(`${prefix}norm`, options) : undefined;
    this.parameters = distinct([this.policy, ...(this.#norm ? [this.#norm] : [])]);
  }

  /** x [B·T, C] → what the depths make of it, before the last norm. */
  deepened(x: Tensor, context: Context): Deepened {
    return this.policy.apply(x, context);
  }

  /** The last norm, where there is one. */
  normed(x: Tensor): Tensor {
    return this.#norm ? this.#norm.apply(x) : x;
  }

  /** x [B·T, C] → [B·T, C] */
  apply(x: Tensor, context: Context): Tensor {
    return this.normed(this.deepened(x, context).hidden);
  }
}

const encoderKind: LayerKind<EncoderLayer> = {
  normCount: 2,
  build: ({ name, ...parts }, options) => new EncoderLayer(name, parts, options),
};

/** Encoder layers. */
export class EncoderStack extends Stack<EncoderLayer> {
  readonly #plan: Plan;

  constructor(prefix: string, options: StackOptions) {
    super(prefix, encoderKind, options);
    this.#plan = options.plan ?? [];
  }

  /** As `apply` of layers in the order of a plan, each of which says what it made. */
  traced(x: Tensor, context: Context, trace: Trace): Tensor {
    const blocks = this.layers.map(
      (layer, depth): Block => ({
        parameters: layer.parameters,
        apply: (state, given) => {
          const after = layer.apply(state, given);
          trace(this.#plan[depth]!, depth, after);
          return after;
        },
      }),
    );
    return this.normed(inOrder(blocks).apply(x, context).hidden);
  }
}

const decoderKind: LayerKind<DecoderLayer> = {
  normCount: 3,
  build: ({ name, cross, ...parts }, options) => new DecoderLayer(name, { ...parts, cross: cross() }, options),
};

/** Decoder layers, over what `context.source` says of it. */
export class DecoderStack extends Stack<DecoderLayer> {
  readonly #width: number;

  constructor(prefix: string, options: StackOptions) {
    super(prefix, decoderKind, options);
    this.#width = options.width;
  }

  /** The keys and values of an encoder's output [B·S, C] that layers ask for in use, in the order in which they first ask. */
  remember(text: Tensor, rows: Rows): KeyValues[] {
    const pairs: KeyValues[] = [];
    const source = memoryOf((_, make) => {
      pairs.push(make(text, rows));
      return pairs.at(-1)!;
    });
    const asking = input("asking", [rows.batch, this.#width]);
    const context = { rows: { batch: rows.batch, length: 1 }, mode: inference, source, scores: (x: Tensor) => x };
    this.policy.apply(asking, context);
    return pairs;
  }
}
