/** ALBERT: factorised embeddings, one layer (or a few) run again and again, or blocks of their own weights, a pooler. Depth is fixed, or each token halts by itself. */

import { rejectOption, rejectShape } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import {
  anything,
  checkOptions,
  defined,
  dropoutRate,
  number,
  type Rule,
  type Rules,
  required,
  truth,
  whole,
} from "../../base/options.ts";
import { fixed } from "../../depth/fixed.ts";
import { type HaltingContext, type HaltingOptions, halting, haltingDefaults } from "../../depth/halting.ts";
import type { Plan } from "../../depth/plan.ts";
import type { Deepened, DepthPolicy } from "../../depth/policy.ts";
import {
  add,
  type Dim,
  greater,
  multiply,
  reshape,
  stopGradient,
  subtract,
  type Tensor,
  tanh,
  within,
} from "../../graph/index.ts";
import { ALBERT_DEVIATION, AlbertEmbeddings, AlbertLayer, firstRows } from "../../nn/albert.ts";
import { activationRule } from "../../nn/feed-forward.ts";
import {
  type Activation,
  inference,
  Linear,
  type LowRank,
  type Mode,
  type Norm,
  normal,
  type Parameter,
  type Rows,
} from "../../nn/index.ts";
import { causalMask, keyMask } from "../../nn/masks.ts";
import type { EncoderBlocks, EncoderSearch } from "./blocks.ts";
import { type EncoderStyle, encoderStyleRules, styleIn, writtenStack } from "./written.ts";

/** Sizes of an ALBERT, and how its layers become depth. */
export interface AlbertOptions extends EncoderStyle {
  /** Number of pieces. */
  vocabulary: number;
  /** Width E of the embedding tables. */
  embedding?: number;
  /** Width C of the hidden state. */
  width: number;
  heads: number;
  /** Width of the feed-forward layer. Default: four times the width. */
  hidden?: number;
  /**
   * Depths of fixed models, the most depths of halting ones; or all of it in words, such as `2*3 halt` (docs/depth.md). Options of newer blocks
   * (`norm`, `gated`, `keyHeads`, `queryKeyNorm`, `bias`, `rotary`) are for depths in words; with them, and with letters, blocks are pre-norm.
   */
  depth: number | string;
  /** Groups of layers that share no weights; the depths are split evenly among them. */
  groups?: number;
  /** Layers of a group: each depth runs all of them. */
  inner?: number;
  activation?: Activation;
  /** Longest text. */
  length?: number;
  /** Rows of a table of pairs of neighbouring pieces beside the layers, for the pooling `pairs`; as many as pieces at least. Default: 0, none. */
  pairs?: number;
  /** Kinds of segments. */
  types?: number;
  /** Of the layer norms. */
  epsilon?: number;
  dropout?: number;
  attentionDropout?: number;
  /** Without a pooler there is no `pooled`. */
  pooler?: boolean;
  /** Where given, every token halts by itself; the width is the model's. */
  halting?: Omit<HaltingOptions, "width"> | undefined;
  /** For `blockEncoder`: blocks with weights of their own instead of shared layers, a pattern such as (sff)x2, or how many are to be searched. */
  blocks?: number | string | undefined;
  /** How blocks are searched. */
  searched?: EncoderSearch | undefined;
  /** Low-rank additions to the projections of attention and feed-forward (LoRA): what is trained while the rest rests. */
  lora?: LoraOptions | undefined;
}

/** What the model makes of texts. */
export interface Encoded {
  /** [B·T, C] */
  readonly sequence: Tensor;
  /** [B, C], where there is a pooler. */
  readonly pooled?: Tensor | undefined;
  readonly penalty?: Tensor | undefined;
  /** Tokens that the penalty is a mean over, where texts differ in that. */
  readonly penaltyCount?: Tensor | undefined;
  readonly probes: Readonly<Record<string, Tensor>>;
  /** bool [B·T]: true for tokens, where there may be padding. */
  readonly real?: Tensor | undefined;
  /** The pieces of the texts, int [B, T]; absent where only rows were encoded. */
  readonly ids?: Tensor | undefined;
  readonly batch: Dim;
  readonly length: Dim;
}

/** W + alpha / rank · B·A, with A [rank, in] and B [out, rank]. */
export interface LoraOptions {
  readonly rank: number;
  /** Default: twice the rank. */
  readonly alpha?: number | undefined;
}

/** What a text looks like to the model; only ids are needed. */
export interface AlbertInputs {
  /** int [B, T] */
  readonly ids: Tensor;
  /** int [B, T]: 1 for tokens, 0 for padding. */
  readonly mask?: Tensor | undefined;
  /** int [B, T]: segment of each token. */
  readonly types?: Tensor | undefined;
  /** int [B, T]: the depth at which a token halts at the latest, where tokens halt. */
  readonly caps?: Tensor | undefined;
  /** Tokens see themselves and what stands before them only. Default: false. */
  readonly causal?: boolean | undefined;
}

/** The deepest published one has 24; a damaged config must not ask for a graph of millions. */
const MOST_LAYERS = 1000;

const wholeDepth = whole(1, MOST_LAYERS);
const depthRule: Rule = { ...wholeDepth, fits: (depth) => typeof depth === "string" || wholeDepth.fits(depth) };

const rules: Rules<AlbertOptions> = {
  vocabulary: required(whole(1)),
  embedding: whole(1),
  width: required(whole(1, LARGEST.width)),
  heads: required(whole(1, LARGEST.heads)),
  hidden: whole(1),
  depth: required(depthRule),
  groups: whole(1, MOST_LAYERS),
  inner: whole(1, MOST_LAYERS / 10),
  activation: activationRule,
  length: whole(1),
  pairs: whole(0),
  types: whole(1),
  epsilon: number({ above: 0 }),
  dropout: dropoutRate,
  attentionDropout: dropoutRate,
  pooler: truth,
  halting: anything,
  blocks: anything,
  searched: anything,
  lora: anything,
  ...encoderStyleRules,
};

const loraRules: Rules<LoraOptions> = { rank: required(whole(1, LARGEST.width)), alpha: number({ above: 0 }) };

/** The factor of what is added to a weight. */
function lowRankOf(lora: LoraOptions | undefined): LowRank | undefined {
  if (!lora) return undefined;
  checkOptions("ALBERT / lora", lora, loraRules);
  const { rank, alpha = 2 * rank } = lora;
  return { rank, scale: alpha / rank };
}

const defaults = {
  embedding: 128,
  groups: 1,
  inner: 1,
  activation: "gelu_new",
  length: 512,
  pairs: 0,
  types: 2,
  epsilon: 1e-12,
  dropout: 0,
  attentionDropout: 0,
  pooler: true,
  halting: undefined,
  blocks: undefined,
  searched: undefined,
  lora: undefined,
} as const;

/** With every default filled in. */
export interface CompleteAlbertOptions
  extends EncoderStyle,
    Required<Omit<AlbertOptions, "halting" | "lora" | "blocks" | "searched" | keyof EncoderStyle>> {
  blocks: AlbertOptions["blocks"];
  searched: EncoderSearch | undefined;
  halting: Required<Omit<HaltingOptions, "width">> | undefined;
  lora: LoraOptions | undefined;
}

/** Which layer runs when: depth i belongs to group ⌊i / (L / G)⌋, and runs all of its layers. */
export function albertPlan({ depth, groups, inner }: { depth: number; groups: number; inner: number }): Plan {
  const group = (i: number) => Math.floor(i / (depth / groups));
  return Array.from({ length: depth * inner }, (_, i) => group(Math.floor(i / inner)) * inner + (i % inner));
}

function layersOf(options: CompleteAlbertOptions): AlbertLayer[] {
  const { groups, inner, lora } = options;
  const lowRank = lowRankOf(lora);
  return Array.from({ length: groups * inner }, (_, i) => {
    const name = `encoder.albert_layer_groups.${Math.floor(i / inner)}.albert_layers.${i % inner}`;
    return new AlbertLayer(name, { ...options, lowRank });
  });
}

function refuseStyle(options: CompleteAlbertOptions): undefined {
  const [name] = Object.keys(styleIn(options));
  if (name === undefined) return undefined;
  const got = `${options.depth}`;
  rejectOption({ who: `ALBERT / ${name}`, needed: "a depth in words", got, remedy: `write "1*${got}" or "${got}*1"` });
}

/** An ALBERT: factorised embeddings and layers that are shared or halt, by its depth policy; heads are apart. */
export class Albert {
  readonly options: CompleteAlbertOptions;
  readonly policy: DepthPolicy;
  /** Which layer runs at each depth, where those of a number of depths do. */
  readonly plan: Plan;
  readonly layers: readonly AlbertLayer[];
  readonly embeddings: AlbertEmbeddings;
  /** Blocks with weights of their own, where it is made of such. */
  readonly blocks: EncoderBlocks | undefined;
  /** Behind the last depth, where blocks norm what they read. */
  readonly #norm: Norm | undefined;
  readonly #pooler: Linear | undefined;

  /** `blocksOf` builds blocks with weights of their own. */
  constructor(options: AlbertOptions, blocksOf?: (options: CompleteAlbertOptions) => EncoderBlocks) {
    checkOptions("ALBERT", options, rules);
    const unit = options.halting && { ...haltingDefaults, name: "encoder.halting", ...defined(options.halting) };
    this.options = { ...defaults, hidden: 4 * options.width, ...defined(options), halting: unit };
    const { width, pooler, depth, lora } = this.options;
    this.embeddings = new AlbertEmbeddings(this.options);
    this.blocks = blocksOf?.(this.options);
    const written = typeof depth === "string" ? writtenStack(this.options, lowRankOf(lora)) : refuseStyle(this.options);
    const stack = this.blocks ?? written;
    this.layers = stack ? [] : layersOf(this.options);
    this.plan = stack ? [] : albertPlan({ ...this.options, depth: Number(depth) });
    this.policy = stack?.policy ?? this.#policyOf();
    this.#norm = stack?.norm;
    this.#pooler = pooler
      ? new Linear("pooler", { in: width, out: width, weight: normal(ALBERT_DEVIATION), role: "head" })
      : undefined;
  }

  #policyOf(): DepthPolicy {
    const { halting: unit, width } = this.options;
    return unit ? halting(this.layers, this.plan, { ...unit, width }) : fixed(this.layers, this.plan);
  }

  get parameters(): Parameter[] {
    const ends = [...(this.#norm ? [this.#norm] : []), ...(this.#pooler ? [this.#pooler] : [])];
    const parts = [this.embeddings, this.policy, ...ends];
    return parts.flatMap((part) => [...part.parameters]);
  }

  /** Texts → rows before the first depth, and what all depths are told. */
  start(inputs: AlbertInputs, mode: Mode = inference): { rows: Tensor; context: HaltingContext } {
    checkOptions("ALBERT / inputs", inputs, ["ids", "mask", "types", "caps", "causal"]);
    const { ids, mask, types, caps, causal } = inputs;
    const [batch, length] = ids.shape as [Dim, Dim];
    if (typeof length === "number" && length > this.options.length) {
      const remedy = "cut the texts, or give the model a greater length";
      rejectShape({
        who: "ALBERT",
        needed: `texts of at most ${this.options.length} tokens`,
        got: `${length}`,
        remedy,
      });
    }
    const rows = this.embeddings.apply(ids, types ?? multiply(ids, 0), mode);
    return {
      rows,
      context: {
        rows: { batch, length },
        mode,
        mask: hiddenKeys(mask, causal ? length : undefined),
        real: mask && reshape(greater(mask, 0), [rows.shape[0]!]),
        caps: caps && reshape(caps, [rows.shape[0]!]),
      },
    };
  }

  encode(inputs: AlbertInputs, mode: Mode = inference): Encoded {
    const { rows, context } = this.start(inputs, mode);
    return this.encoded(this.policy.apply(rows, context), context, inputs.ids);
  }

  /** What leaves the depths, as heads take it: sums of residuals need a norm at their end. */
  encoded(
    { hidden, penalty, penaltyCount, probes }: Deepened,
    { rows, mode, real }: HaltingContext,
    ids?: Tensor,
  ): Encoded {
    const sequence = this.#norm ? this.#norm.apply(hidden) : hidden;
    const cost = this.blocks && penalty ? silent(penalty) : penalty;
    const pooled = this.#pool(sequence, rows, mode);
    return { ...rows, sequence, pooled, penalty: cost, penaltyCount, probes, real, ids };
  }

  /** tanh of a linear map of each text's first row: [B·T, C] → [B, C] */
  #pool(sequence: Tensor, { batch, length }: Rows, mode: Mode): Tensor | undefined {
    const pooler = this.#pooler;
    return pooler && within("pooler", () => tanh(pooler.apply(firstRows(sequence, batch, length, mode))));
  }
}

/** A penalty that has its gradient but not its value, so that losses stay what words cost. */
const silent = (penalty: Tensor): Tensor => subtract(penalty, stopGradient(penalty));

/** Hides padding, and in a text of `causal` tokens what comes later. */
function hiddenKeys(mask: Tensor | undefined, causal: Dim | undefined): Tensor | undefined {
  const padding = mask && keyMask(mask);
  if (causal === undefined) return padding;
  return padding ? add(padding, causalMask(causal)) : causalMask(causal);
}

/** An ALBERT with the given options: layers that are shared or halt, or a depth in words. */
export function albert(options: AlbertOptions): Albert {
  if (options.blocks === undefined) return new Albert(options);
  const remedy = "call blockEncoder(options) instead";
  return rejectOption({ who: "ALBERT", needed: "shared layers", got: `blocks ${options.blocks}`, remedy });
}
