/** Encoders whose depth is said in words: ALBERT's layers, or pre-norm blocks where letters or a newer style ask for them. */
import { reject } from "../../base/errors.ts";
import { type Rules, truth } from "../../base/options.ts";
import { type Depth, parseDepth } from "../../depth/notation.ts";
import type { PatternBlock } from "../../depth/pattern.ts";
import { writtenDepth } from "../../depth/written.ts";
import { ALBERT_DEVIATION, AlbertLayer } from "../../nn/albert.ts";
import { styleRules } from "../../nn/block.ts";
import {
  type Activation,
  type Block,
  type BlockStyle,
  type LowRank,
  normal,
  norms,
  Rotary,
  TransformerBlock,
} from "../../nn/index.ts";
import { headWidth } from "../../nn/layers.ts";
import { letterBlock } from "../letter-block.ts";
import { checkEncoderDepth } from "../tried-depth.ts";
import type { BlockStack } from "./blocks.ts";

/** What sets newer blocks of an encoder apart; its norms have the model's epsilon. */
export interface EncoderStyle extends Omit<BlockStyle, "normEpsilon"> {
  /** Rotary positions in attention instead of a learned vector for each place. Default: false. */
  rotary?: boolean | undefined;
}

const { normEpsilon: _, ...ofBlocks } = styleRules;

/** Rules for the options of a style. */
export const encoderStyleRules: Rules<EncoderStyle> = { ...ofBlocks, rotary: truth };

/** The options of a style that are given. */
export const styleIn = (options: EncoderStyle): EncoderStyle =>
  Object.fromEntries(
    Object.entries(options).filter(([key, value]) => key in encoderStyleRules && value !== undefined),
  ) as EncoderStyle;

/** Sizes of the encoder that its blocks depend on, and what a text says itself. */
interface WrittenOptions extends EncoderStyle {
  readonly depth: number | string;
  readonly width: number;
  readonly heads: number;
  readonly hidden: number;
  readonly length: number;
  readonly dropout: number;
  readonly attentionDropout: number;
  readonly activation: Activation;
  readonly epsilon: number;
  readonly groups: number;
  readonly inner: number;
  readonly halting: object | undefined;
  readonly lora: object | undefined;
}

const PREFIX = "encoder.";

/** Whether letters of a pattern stand anywhere in a depth. */
const hasLetters = (depth: Depth): boolean =>
  depth.some(({ stack }) => ("group" in stack ? hasLetters(stack.group) : "pattern" in stack));

/** The stack of a text such as `1*6 halt`: whole blocks are ALBERT's layers, as those of a depth that is a number, unless they are pre-norm. */
export function writtenStack(options: WrittenOptions, lowRank?: LowRank | undefined): BlockStack {
  const { width, epsilon, norm = "layer" } = options;
  refuseSaid(options);
  const depth = parseDepth(`${options.depth}`);
  const isNormFirst = hasLetters(depth) || Object.keys(styleIn(options)).length > 0;
  if (isNormFirst && options.lora) refuse("ALBERT's own layers for lora", "letters or newer blocks");
  const block = isNormFirst ? preNormMaker(options) : layerMaker(options, lowRank);
  const policy = writtenDepth(depth, { width, prefix: PREFIX, block });
  checkEncoderDepth("encoder depth", policy, width);
  return { policy, norm: isNormFirst ? norms[norm](`${PREFIX}norm`, { width, epsilon }) : undefined };
}

/** Post-norm layers: block i is the layer of group i. */
function layerMaker(options: WrittenOptions, lowRank: LowRank | undefined) {
  return (name: string) =>
    new AlbertLayer(`${name.replace("blocks", "albert_layer_groups")}.albert_layers.0`, { ...options, lowRank });
}

/** Blocks that norm their input: whole ones, or what a letter stands for under the names of `blockEncoder`. */
function preNormMaker(options: WrittenOptions) {
  const { width, heads, hidden, dropout, activation, epsilon: normEpsilon, length } = options;
  const weight = normal(ALBERT_DEVIATION);
  const places = () => new Rotary(PREFIX, { length, width: headWidth(PREFIX, width, heads) });
  const rotary = options.rotary ? places() : undefined;
  const sizes = { width, heads, hidden, dropout, activation, normEpsilon, weight, ...styleIn(options), rotary };
  return (name: string, kind: PatternBlock | undefined): Block =>
    kind
      ? letterBlock(`${name}.${kind.kind === "attention" ? kind.kind : "dense"}`, kind, sizes)
      : new TransformerBlock(name, sizes);
}

/** A text says all of the depth. */
function refuseSaid({ halting, groups, inner, depth }: WrittenOptions): void {
  const got = halting ? "halting" : groups * inner > 1 ? "several groups" : undefined;
  if (got !== undefined) refuse("all of it in words", `${got} beside ${JSON.stringify(depth)}`);
}

function refuse(needed: string, got: string): never {
  return reject({ who: "ALBERT / depth", needed, got, remedy: "leave one of them out" }, 2);
}
