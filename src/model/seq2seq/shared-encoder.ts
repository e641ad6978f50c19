/** The parameter-shared transformer encoder: M layers of weights run at N depths, number for number as in PyTorch. */
import { reject } from "../../base/errors.ts";
import { type PartSharing, type Plan, type ShareMode, shareModes, uniqueOf } from "../../depth/plan.ts";
import type { Engine, Feed, Program } from "../../engine/engine.ts";
import {
  type Dim,
  flattenRows,
  input,
  printShape,
  reshape,
  simplify,
  type Tensor,
  transpose,
  within,
} from "../../graph/index.ts";
import { type Activation, inference, type Mode, type Parameter } from "../../nn/index.ts";
import { additiveMask, type Masks } from "../../nn/masks.ts";
import type { Weights } from "../language/language.ts";
import { EncoderStack, type Trace } from "./stacks.ts";

export interface SharedEncoderOptions extends PartSharing {
  dModel?: number;
  nhead?: number;
  dimFeedforward?: number;
  dropout?: number;
  /** `gelu` is the exact form. */
  activation?: Activation;
  numUniqueLayers?: number;
  numTotalLayers?: number;
  mode?: ShareMode;
  /** Which layer runs at each depth, by hand; it replaces the two counts and the mode. */
  plan?: Plan;
  /** A layer norm after the last layer. */
  norm?: boolean;
  /** Norms before the sublayers (pre-norm). */
  normFirst?: boolean;
  layerNormEps?: number;
  /** [B, T, C], or [T, B, C] as the original really runs. */
  layout?: Layout;
}

export type Layout = "batch-first" | "sequence-first";

/** The original's defaults, but for the layout: batch-first, as its own README feeds it. */
export const sharedEncoderDefaults = {
  dModel: 512,
  nhead: 16,
  dimFeedforward: 2048,
  dropout: 0.1,
  activation: "relu",
  numUniqueLayers: 3,
  numTotalLayers: 6,
  mode: "cycle_rev",
  norm: false,
  normFirst: false,
  layerNormEps: 1e-5,
  layout: "batch-first",
  share: "layers",
  norms: "shared",
} as const satisfies SharedEncoderOptions;

export interface EncodeOptions extends Masks {
  /** Dropout in training. Default: none. */
  mode?: Mode;
  trace?: Trace;
}

export class ParameterSharedTransformerEncoder {
  readonly options: Required<SharedEncoderOptions>;
  /** Which layer runs at each depth. */
  readonly plan: Plan;
  readonly parameters: readonly Parameter[];
  readonly #stack: EncoderStack;

  constructor(options: SharedEncoderOptions = {}) {
    const complete = { ...sharedEncoderDefaults, ...options };
    const { numUniqueLayers: unique, numTotalLayers: depth, mode } = complete;
    this.plan = options.plan ?? modeNamed(mode)({ unique, depth });
    const counts = { numUniqueLayers: uniqueOf(this.plan, "encoder / plan"), numTotalLayers: this.plan.length };
    this.options = { ...complete, ...counts, plan: this.plan };
    this.#stack = new EncoderStack("", {
      ...this.options,
      width: complete.dModel,
      heads: complete.nhead,
      hidden: complete.dimFeedforward,
      epsilon: complete.layerNormEps,
    });
    this.parameters = this.#stack.parameters;
  }

  /** x → the same shape, in the layout of the options: [B, T, C] or [T, B, C]. */
  apply(x: Tensor, { mask, padding, mode = inference, trace }: EncodeOptions = {}): Tensor {
    return within("encoder", () => {
      this.#check(x);
      const { layout } = this.options;
      const { rows, batch, length } = toRows(x, layout);
      const added = additiveMask({ mask, padding }, batch, length, length);
      const unfold = (state: Tensor) => fromRows(state, batch, length, layout);
      const context = { rows: { batch, length }, mode, mask: added };
      return unfold(
        this.#stack.apply(rows, context, trace && ((layer, depth, state) => trace(layer, depth, unfold(state)))),
      );
    });
  }

  #check({ shape }: Tensor): void {
    const { dModel, layout } = this.options;
    if (shape.length === 3 && shape[2] === dModel) return;
    const needed = layout === "batch-first" ? `[batch, length, ${dModel}]` : `[length, batch, ${dModel}]`;
    reject({ who: "encoder", needed, got: printShape(shape), remedy: "set dModel to the width of the input" });
  }
}

function modeNamed(mode: string) {
  if (mode in shareModes) return shareModes[mode as ShareMode];
  return reject({ who: "encoder / mode", needed: `one of ${Object.keys(shareModes).join(", ")}`, got: mode }, 2);
}

/** [B, T, C] or [T, B, C] → rows [B·T, C]. */
export function toRows(x: Tensor, layout: Layout): { rows: Tensor; batch: Dim; length: Dim } {
  const folded = layout === "batch-first" ? x : transpose(x, [1, 0, 2]);
  return { rows: flattenRows(folded), batch: folded.shape[0]!, length: folded.shape[1]! };
}

/** Rows [B·T, C] → [B, T, C] or [T, B, C]. */
export function fromRows(rows: Tensor, batch: Dim, length: Dim, layout: Layout): Tensor {
  const folded = reshape(rows, [batch, length, rows.shape[1]!]);
  return layout === "batch-first" ? folded : transpose(folded, [1, 0, 2]);
}

/** Which masks a compiled encoder takes. */
export interface ForwardMasks {
  mask?: "boolean" | "additive";
  padding?: boolean;
}

export interface ForwardOptions {
  /** [T, T] */
  mask?: Float32Array | Uint8Array;
  /** [B, T], 1 = padding. */
  srcKeyPaddingMask?: Uint8Array;
  /** Tells each executed layer, in order; true prints `layer i`, as the original does. */
  verbose?: boolean | ((layer: number, depth: number) => void);
}

/** An encoder compiled for use: any batch and any length. */
export class EncoderProgram {
  readonly #encoder: ParameterSharedTransformerEncoder;
  readonly #program: Program;

  static async create(
    engine: Engine,
    encoder: ParameterSharedTransformerEncoder,
    weights: Weights,
    { mask, padding }: ForwardMasks = {},
  ): Promise<EncoderProgram> {
    const shape = encoder.options.layout === "batch-first" ? ["B", "T"] : ["T", "B"];
    const x = input("x", [...shape, encoder.options.dModel]);
    const y = encoder.apply(x, {
      mask: mask && input("mask", ["T", "T"], mask === "boolean" ? "bool" : "float"),
      padding: padding ? input("padding", ["B", "T"], "bool") : undefined,
    });
    const program = await engine.compile({ outputs: { y: simplify([y])[0]! }, weights });
    return new EncoderProgram(encoder, program);
  }

  private constructor(encoder: ParameterSharedTransformerEncoder, program: Program) {
    this.#encoder = encoder;
    this.#program = program;
  }

  async forward(x: Feed & { data: Float32Array }, options: ForwardOptions = {}): Promise<Feed> {
    const { plan, options: made } = this.#encoder;
    const [first = 0, second = 0] = x.shape;
    const [batch, length] = made.layout === "batch-first" ? [first, second] : [second, first];
    const { mask, srcKeyPaddingMask: padding, verbose = false } = options;
    const { y } = await this.#program.run({
      x,
      ...(mask ? { mask: { data: mask, shape: [length, length] } } : {}),
      ...(padding ? { padding: { data: padding, shape: [batch, length] } } : {}),
    });
    if (verbose) plan.forEach(typeof verbose === "function" ? verbose : (layer) => console.log(`layer ${layer}`));
    return y!;
  }

  async release(): Promise<void> {
    await this.#program.release();
  }
}
