/** Encoders whose depth is said in words: ALBERT's layers, or pre-norm blocks where letters or a newer style ask for them. */
import { reject } from "../../base/errors.ts";
import { defined } from "../../base/options.ts";
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
import { checkEncoderDepth } from "../encoder-depth.ts";
import { letterBlock } from "../letter-block.ts";
import { checkNames } from "../names.ts";
import type { EncoderStack } from "./blocks.ts";

/** What sets newer blocks of an encoder apart; its norms have the model's epsilon. */
export interface EncoderStyle extends Omit<BlockStyle, "normEpsilon"> {
  /** Rotary positions in attention instead of a learned vector for each place. Default: false. */
  rotary?: boolean | undefined;
}

/** The names of a style's options. */
export const styleKeys = [
  ...Object.keys(styleRules).filter((key) => key !== "normEpsilon"),
  "rotary",
] as readonly (keyof EncoderStyle)[];

/** The options of a style that are given. */
export const styleIn = (options: EncoderStyle): EncoderStyle =>
  defined(Object.fromEntries(styleKeys.map((key) => [key, options[key]]))) as EncoderStyle;

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
  readonly searched: object | undefined;
}

const PREFIX = "encoder.";

/** Whether letters of a pattern stand anywhere in a depth. */
const hasLetters = (depth: Depth): boolean =>
  depth.some(({ stack }) => ("group" in stack ? hasLetters(stack.group) : "pattern" in stack));

/** The stack of a text such as `1*6 halt`: whole blocks are ALBERT's layers, as those of a depth that is a number, unless they are pre-norm. */
export function writtenStack(options: WrittenOptions, lowRank?: LowRank | undefined): EncoderStack {
  const { width, epsilon, norm = "layer" } = options;
  refuseSaid(options);
  const depth = parseDepth(`${options.depth}`);
  const isNormFirst = hasLetters(depth) || Object.keys(styleIn(options)).length > 0;
  if (isNormFirst && options.lora) refuse("ALBERT's own layers for adapters", "letters or newer blocks");
  const block = isNormFirst ? preNormMaker(options) : layerMaker(options, lowRank);
  const policy = writtenDepth(depth, { width, prefix: PREFIX, block });
  checkEncoderDepth("encoder depth", policy, width);
  checkNames("encoder", policy.parameters);
  return { policy, norm: isNormFirst ? norms[norm](`${PREFIX}norm`, { width, epsilon }) : undefined };
}

/** Post-norm layers: block i is the layer of group i. */
function layerMaker(options: WrittenOptions, lowRank: LowRank | undefined) {
  return (name: string) =>
    new AlbertLayer(name.replace(/blocks\.(\d+)$/, "albert_layer_groups.$1.albert_layers.0"), { ...options, lowRank });
}

const partNames: Readonly<Record<string, string>> = { attention: "attention", "feed-forward": "dense" };

/** Blocks that norm their input: whole ones, or what a letter stands for under the names of `blockEncoder`. */
function preNormMaker(options: WrittenOptions) {
  const { width, heads, hidden, dropout, activation, epsilon: normEpsilon, length } = options;
  const { rotary, ...style } = styleIn(options);
  const places = { length, width: headWidth(`${PREFIX}blocks.0`, width, heads) };
  const turned = rotary ? { rotary: new Rotary(`${PREFIX}blocks.0`, places) } : {};
  const weight = normal(ALBERT_DEVIATION);
  const sizes = { width, heads, hidden, dropout, activation, normEpsilon, weight, ...style, ...turned };
  return (name: string, kind: PatternBlock | undefined): Block =>
    kind ? letterBlock(`${name}.${partNames[kind.kind]}`, kind, sizes) : new TransformerBlock(name, sizes);
}

/** A text says all of the depth. */
function refuseSaid({ halting, searched, groups, inner, depth }: WrittenOptions): void {
  const others = {
    halting: halting !== undefined,
    searched: searched !== undefined,
    groups: groups > 1,
    inner: inner > 1,
  };
  const [got] = Object.entries(others).flatMap(([name, isGiven]) => (isGiven ? [name] : []));
  if (got !== undefined) refuse("all of the depth in one text", `${got} beside ${JSON.stringify(depth)}`);
}

function refuse(needed: string, got: string): never {
  return reject({ who: "ALBERT / depth", needed, got, remedy: "leave one of them out" }, 2);
}
