/** The sides of a translation model: each with a plan, a depth in words or a policy; what cannot work is refused here. */
import { reject, rejectShape } from "../../base/errors.ts";
import { defined, oneOf, type Rules, truth } from "../../base/options.ts";
import { joinedScalars } from "../../depth/nested.ts";
import { type Plan, uniqueOf } from "../../depth/plan.ts";
import type { DepthPolicy, TrainingScalars } from "../../depth/policy.ts";
import { input, type Tensor } from "../../graph/index.ts";
import { type Context, type Embedding, inference, norms, type Parameter, Training } from "../../nn/index.ts";
import { memoryOf } from "../../nn/memory.ts";
import type { TorchLayerOptions } from "../../nn/torch-layers.ts";
import { checkNames } from "../names.ts";
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
  if (encoderPlan === undefined) checkEncoder(encoder.policy, style.width);
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

const LENGTH = 2;

/** What a policy makes of two tokens, in training and in use: mistakes show now. */
function tried(who: string, policy: DepthPolicy, width: number, context: Partial<Context>) {
  const rows = { batch: 1, length: LENGTH };
  const [trained, used] = [new Training(), inference].map((mode) => {
    return policy.apply(input("x", [LENGTH, width]), { rows, mode, ...context });
  });
  const { shape } = used!.hidden;
  if (`${shape}` !== `${LENGTH},${width}`) {
    rejectShape({ who, needed: `states of width ${width}, [${LENGTH},${width}]`, got: `[${shape}]` });
  }
  return trained!;
}

function checkEncoder(policy: DepthPolicy, width: number): void {
  const { exits = [] } = tried("encoder depth", policy, width, {});
  if (exits.length === 0) return;
  const needed = "a depth without exits that predict: an encoder has no head";
  const remedy = "write halt or route, or drop(0.1, exitLoss=0); exits are for decoderDepth";
  reject({ who: "encoder depth", needed, got: `${exits.length} exits`, remedy }, 2);
}

function checkDecoder(decoder: DecoderStack, width: number, head: Embedding): void {
  const text = input("memory", [LENGTH, width]);
  const source = memoryOf((_, make) => make(text, { batch: 1, length: LENGTH }));
  const scores = (hidden: Tensor) => head.logits(decoder.normed(hidden));
  tried("decoder depth", decoder.policy, width, { source, scores });
  if (decoder.policy.caches) return;
  const remedy = "give the policy `caches`, and its blocks contexts of contextsOf";
  reject({ who: "decoder depth", needed: "a policy that continues from caches", got: "one without", remedy }, 2);
}
