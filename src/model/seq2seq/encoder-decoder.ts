/** The encoder–decoder over vectors: two stacks, each with its own plan; nothing is shared between the sides. */
import { LARGEST } from "../../base/limits.ts";
import { anything, checkOptions, defined, number, type Rules, required, whole } from "../../base/options.ts";
import { type PartSharing, type Plan, uniqueOf } from "../../depth/plan.ts";
import { type Tensor, within } from "../../graph/index.ts";
import { type Activation, inference, type Mode, type Parameter } from "../../nn/index.ts";
import { additiveMask } from "../../nn/masks.ts";
import { memoryOf } from "../../nn/memory.ts";
import { fromRows, toRows } from "./shared-encoder.ts";
import { DecoderStack, EncoderStack, type Layout, layoutRule, stackDefaults, stackRules } from "./stacks.ts";

/** Sizes of an encoder-decoder, and the plan of either side. */
export interface EncoderDecoderOptions extends PartSharing {
  width: number;
  heads: number;
  hidden: number;
  encoderPlan: Plan;
  decoderPlan: Plan;
  dropout?: number;
  activation?: Activation;
  /** A norm after the last layer of each side. */
  norm?: boolean;
  normFirst?: boolean;
  epsilon?: number;
  layout?: Layout;
}

/** Rules of all options but the layout, which models of pieces do not have. */
export const sidesRules: Rules<Omit<EncoderDecoderOptions, "layout">> = {
  width: required(whole(1, LARGEST.width)),
  heads: required(whole(1, LARGEST.heads)),
  hidden: required(whole(1, LARGEST.hidden)),
  encoderPlan: required(anything),
  decoderPlan: required(anything),
  epsilon: number({ above: 0 }),
  ...stackRules,
};

const maskNames = ["sourceMask", "memoryMask", "sourcePadding", "targetMask", "targetPadding"] as const;

/**
 * true hides, in all of them; masks that are not padding may hold numbers to add. `sourceMask` [S, S]; `memoryMask` [T, S], for
 * cross-attention; `sourcePadding` [B, S], for the encoder and for cross-attention; `targetMask` [T, T], causal as a rule;
 * `targetPadding` [B, T].
 */
export type EncoderDecoderMasks = { readonly [name in (typeof maskNames)[number]]?: Tensor | undefined };

/** An encoder and a decoder of PyTorch's layers, each with a plan of its own. */
export class EncoderDecoder {
  readonly options: Required<EncoderDecoderOptions>;
  readonly parameters: readonly Parameter[];
  readonly encoder: EncoderStack;
  readonly decoder: DecoderStack;

  constructor(options: EncoderDecoderOptions) {
    checkOptions("encoder-decoder", options, { ...sidesRules, layout: layoutRule });
    uniqueOf(options.encoderPlan, "encoder-decoder / encoderPlan");
    uniqueOf(options.decoderPlan, "encoder-decoder / decoderPlan");
    this.options = { ...stackDefaults, epsilon: 1e-5, ...defined(options) };
    this.encoder = new EncoderStack("encoder.", { ...this.options, plan: options.encoderPlan });
    this.decoder = new DecoderStack("decoder.", { ...this.options, plan: options.decoderPlan });
    this.parameters = [...this.encoder.parameters, ...this.decoder.parameters];
  }

  /** source [B, S, C] and target [B, T, C] → memory [B, S, C] and y [B, T, C] (or all of them sequence-first). */
  apply(source: Tensor, target: Tensor, masks: EncoderDecoderMasks = {}, mode: Mode = inference) {
    checkOptions("encoder-decoder / masks", masks, maskNames);
    const { layout } = this.options;
    const from = toRows(source, layout);
    const to = toRows(target, layout);
    const { batch } = from;
    const sourceRows = { batch, length: from.length };
    const { sourceMask, sourcePadding: padding } = masks;
    const mask = additiveMask({ mask: sourceMask, padding }, batch, from.length, from.length);
    const memory = within("encoder", () => this.encoder.apply(from.rows, { rows: sourceRows, mode, mask }));
    const y = within("decoder", () => {
      const seen = { mask: masks.targetMask, padding: masks.targetPadding };
      const memoryMask = additiveMask({ mask: masks.memoryMask, padding }, batch, to.length, from.length);
      const context = {
        rows: { batch, length: to.length },
        mode,
        mask: additiveMask(seen, batch, to.length, to.length),
        source: memoryOf((_, make) => make(memory, sourceRows), { mask: memoryMask }),
      };
      return this.decoder.apply(to.rows, context);
    });
    return {
      memory: fromRows(memory, batch, from.length, layout),
      y: fromRows(y, batch, to.length, layout),
    };
  }
}
