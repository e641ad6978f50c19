/** The parameter-shared transformer encoder: M layers of weights run at N depths, number for number as in PyTorch. */
import { rejectShape } from "../../base/errors.ts";
import { anything, checkOptions, defined, number, oneOf, type Rules, truth, whole } from "../../base/options.ts";
import { type PartSharing, type Plan, type ShareMode, shareModes, uniqueOf } from "../../depth/plan.ts";
import type { Engine, Feed } from "../../engine/engine.ts";
import {
  cost,
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
import { Programs } from "../programs.ts";
import { countParameters, type ModelReport } from "../report.ts";
import { boundWeights, type Weights } from "../state-dict.ts";
import { EncoderStack, type Layout, layoutRule, stackDefaults, stackRules, type Trace } from "./stacks.ts";

/** Options of the shared encoder, under PyTorch's names. */
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

/** The original's defaults, but for the layout: batch-first, as its own README feeds it. */
export const sharedEncoderDefaults = {
  ...stackDefaults,
  dModel: 512,
  nhead: 16,
  dimFeedforward: 2048,
  numUniqueLayers: 3,
  numTotalLayers: 6,
  mode: "cycle_rev",
  layerNormEps: 1e-5,
} as const satisfies SharedEncoderOptions;

const encoderRules: Rules<SharedEncoderOptions> = {
  dModel: whole(1),
  nhead: whole(1),
  dimFeedforward: whole(1),
  numUniqueLayers: whole(1),
  numTotalLayers: whole(1),
  mode: oneOf(Object.keys(shareModes)),
  plan: anything,
  layerNormEps: number({ above: 0 }),
  layout: layoutRule,
  ...stackRules,
};

/** Masks, mode and trace of one application of the encoder. */
export interface EncodeOptions extends Masks {
  /** Dropout in training. Default: none. */
  mode?: Mode;
  trace?: Trace;
}

/** A stack of PyTorch's encoder layers of which fewer own weights than run. */
export class ParameterSharedTransformerEncoder {
  readonly options: Required<SharedEncoderOptions>;
  /** Which layer runs at each depth. */
  readonly plan: Plan;
  readonly parameters: readonly Parameter[];
  readonly #stack: EncoderStack;

  constructor(options: SharedEncoderOptions = {}) {
    checkOptions("encoder", options, encoderRules);
    const complete = { ...sharedEncoderDefaults, ...defined(options) };
    const { numUniqueLayers: unique, numTotalLayers: depth, mode } = complete;
    this.plan = options.plan ?? shareModes[mode]({ unique, depth });
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

  /** What the stack stores, and what a forward pass over a text of this length costs, counted from its graph. */
  report({ length }: { length: number }): Pick<ModelReport, "parameters" | "flopsPerToken"> {
    const shape = this.options.layout === "batch-first" ? [1, length] : [length, 1];
    const { flops } = cost([this.apply(input("x", [...shape, this.options.dModel]))]);
    return { parameters: countParameters(this.parameters), flopsPerToken: flops / length };
  }

  /** x → the same shape, in the layout of the options: [B, T, C] or [T, B, C]. */
  apply(x: Tensor, options: EncodeOptions = {}): Tensor {
    checkOptions("encoder / apply", options, ["mask", "padding", "mode", "trace"]);
    const { mask, padding, mode = inference, trace } = options;
    return within("encoder", () => {
      this.#check(x);
      const { layout } = this.options;
      const { rows, batch, length } = toRows(x, layout);
      const added = additiveMask({ mask, padding }, batch, length, length);
      const unfold = (state: Tensor) => fromRows(state, batch, length, layout);
      const context = { rows: { batch, length }, mode, mask: added };
      if (!trace) return unfold(this.#stack.apply(rows, context));
      const told: Trace = (layer, depth, state) => trace(layer, depth, unfold(state));
      return unfold(this.#stack.traced(rows, context, told));
    });
  }

  #check({ shape }: Tensor): void {
    const { dModel, layout } = this.options;
    if (shape.length === 3 && shape[2] === dModel) return;
    const needed = layout === "batch-first" ? `[batch, length, ${dModel}]` : `[length, batch, ${dModel}]`;
    rejectShape({ who: "encoder", needed, got: printShape(shape), remedy: "set dModel to the width of the input" });
  }
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

/** Masks to compile for ahead of the first call. */
export interface ForwardMasks {
  mask?: "boolean" | "additive";
  padding?: boolean;
}

/** What one call of a compiled encoder is told besides its input. */
export interface ForwardOptions {
  /** [T, T]: 1 hides where it is a Uint8Array; a Float32Array is added to the scores. */
  mask?: Float32Array | Uint8Array;
  /** [B, T], 1 = padding. */
  srcKeyPaddingMask?: Uint8Array;
  /** Tells each executed layer, in order; true prints `layer i`, as the original does. */
  verbose?: boolean | ((layer: number, depth: number) => void);
}

/** Masks that a program takes. */
interface MaskKind {
  readonly mask: "boolean" | "additive" | "none";
  readonly padding: boolean;
}

/** An encoder compiled for use: any batch, any length and any masks. Each kind of masks has a program, compiled when first met. */
export class EncoderProgram {
  readonly #encoder: ParameterSharedTransformerEncoder;
  readonly #programs: Programs<MaskKind>;

  static async create(
    engine: Engine,
    encoder: ParameterSharedTransformerEncoder,
    weights: Weights,
    ahead: ForwardMasks = {},
  ): Promise<EncoderProgram> {
    checkOptions("encoder / masks", ahead, { mask: oneOf(["boolean", "additive"]), padding: truth });
    const bound = boundWeights(encoder, weights);
    const programs = new Programs((kind: MaskKind) => {
      return engine.compile({ outputs: { y: simplify([encoderOutput(encoder, kind)])[0]! }, weights: bound });
    });
    await programs.get({ mask: ahead.mask ?? "none", padding: ahead.padding ?? false });
    return new EncoderProgram(encoder, programs);
  }

  private constructor(encoder: ParameterSharedTransformerEncoder, programs: Programs<MaskKind>) {
    this.#encoder = encoder;
    this.#programs = programs;
  }

  /** x → y of the same shape, in the encoder's layout. */
  async forward(x: Feed & { data: Float32Array }, options: ForwardOptions = {}): Promise<Feed> {
    checkOptions("encoder / forward", options, ["mask", "srcKeyPaddingMask", "verbose"]);
    const { plan, options: made } = this.#encoder;
    const [first = 0, second = 0] = x.shape;
    const [batch, length] = made.layout === "batch-first" ? [first, second] : [second, first];
    const { mask, srcKeyPaddingMask: padding, verbose = false } = options;
    const program = await this.#programs.get({ mask: maskKind(mask), padding: padding !== undefined });
    const { y } = await program.run({
      x,
      ...(mask ? { mask: { data: mask, shape: [length, length] } } : {}),
      ...(padding ? { padding: { data: padding, shape: [batch, length] } } : {}),
    });
    if (verbose) plan.forEach(typeof verbose === "function" ? verbose : (layer) => console.log(`layer ${layer}`));
    return y!;
  }

  /** Gives the programs' memory back. */
  async release(): Promise<void> {
    await this.#programs.release();
  }
}

function maskKind(mask: ForwardOptions["mask"]): MaskKind["mask"] {
  if (!mask) return "none";
  return mask instanceof Uint8Array ? "boolean" : "additive";
}

function encoderOutput(encoder: ParameterSharedTransformerEncoder, { mask, padding }: MaskKind): Tensor {
  const { layout, dModel } = encoder.options;
  const x = input("x", layout === "batch-first" ? ["B", "T", dModel] : ["T", "B", dModel]);
  return encoder.apply(x, {
    mask: mask === "none" ? undefined : input("mask", ["T", "T"], mask === "boolean" ? "bool" : "float"),
    padding: padding ? input("padding", ["B", "T"], "bool") : undefined,
  });
}
