/** The sides of a translation model: each with a plan, a depth in words or a policy; what cannot work is refused here. */
import { reject } from "../../base/errors.ts";
import { defined, oneOf, type Rules, truth } from "../../base/options.ts";
import { joinedScalars } from "../../depth/nested.ts";
import { type Plan, uniqueOf } from "../../depth/plan.ts";
import type { DepthPolicy, TrainingScalars } from "../../depth/policy.ts";
import { input, type Tensor } from "../../graph/index.ts";
import { type Embedding, norms, type Parameter } from "../../nn/index.ts";
import { memoryOf } from "../../nn/memory.ts";
import type { TorchLayerOptions } from "../../nn/torch-layers.ts";
import { checkNames } from "../names.ts";
import { checkEncoderDepth, TRIED_LENGTH, triedDepth } from "../tried-depth.ts";
import type { EncoderDecoderOptions } from "./encoder-decoder.ts";
import { DecoderStack, EncoderStack, type StackOptions, stackDefaults } from "./stacks.ts";

/** How deep each side is: by a plan, or by a depth, which is a text such as `2*3 halt` or a policy. */
export interface SideDepths {
  encoderPlan?: Plan | undefined;
  decoderPlan?: Plan | undefined;
  encoderDepth?: string | DepthPolicy | undefined;
  decoderDepth?: string | DepthPolicy | undefined;
}

/** What sets newer layers apart from PyTorch's. */
export type SideStyle = Pick<TorchLayerOptions, "normKind" | "gated">;

/** The rules of a style. */
export const sideStyleRules: Rules<SideStyle> = { normKind: oneOf(Object.keys(norms)), gated: truth };

/** Sizes and style of both sides. */
export type SidesOptions = Omit<EncoderDecoderOptions, "layout" | "encoderPlan" | "decoderPlan"> &
  SideDepths &
  SideStyle;

/** Both sides of a model. */
export interface Sides {
  readonly encoder: EncoderStack;
  readonly decoder: DecoderStack;
  readonly dropout: number;
  /** What training feeds to either. */
  readonly scalars: TrainingScalars;
  readonly parameters: readonly Parameter[];
}

/** Opens both sides; `head` is what the decoder's states are scored by. */
export function openSides(options: SidesOptions, head: Embedding): Sides {
  const { encoderPlan, decoderPlan, encoderDepth, decoderDepth, ...sizes } = options;
  const style = { ...stackDefaults, epsilon: 1e-5, ...defined(sizes) };
  const of = (name: string, plan?: Plan, depth?: string | DepthPolicy): StackOptions => {
    return { ...style, ...depthOf(name, plan, depth) };
  };
  const encoder = new EncoderStack("encoder.", of("encoder", encoderPlan, encoderDepth));
  const decoder = new DecoderStack("decoder.", of("decoder", decoderPlan, decoderDepth));
  if (encoderPlan === undefined) {
    checkEncoderDepth("encoder depth", encoder.policy, style.width, "; exits are for decoderDepth");
  }
  if (decoderPlan === undefined) checkDecoder(decoder, style.width, head);
  const parameters = [...encoder.parameters, ...decoder.parameters];
  checkNames("translation model", parameters);
  const scalars = joinedScalars([encoder.policy, decoder.policy]);
  return { encoder, decoder, dropout: style.dropout, scalars, parameters };
}

function depthOf(side: string, plan: Plan | undefined, depth: string | DepthPolicy | undefined) {
  if ((plan === undefined) === (depth === undefined)) {
    const needed = `either ${side}Plan or ${side}Depth`;
    const got = plan === undefined ? "neither" : "both";
    reject({ who: "translation model", needed, got, remedy: "a depth in words is a text such as 2*3 halt" }, 2);
  }
  if (plan) uniqueOf(plan, `translation model / ${side}Plan`);
  return { plan, depth };
}

function checkDecoder(decoder: DecoderStack, width: number, head: Embedding): void {
  const text = input("memory", [TRIED_LENGTH, width]);
  const source = memoryOf((_, make) => make(text, { batch: 1, length: TRIED_LENGTH }));
  const scores = (hidden: Tensor) => head.logits(decoder.normed(hidden));
  triedDepth("decoder depth", decoder.policy, width, { source, scores });
  if (decoder.policy.caches) return;
  const remedy = "give the policy `caches`, and its blocks contexts of contextsOf";
  reject({ who: "decoder depth", needed: "a policy that continues from caches", got: "one without", remedy }, 2);
}
