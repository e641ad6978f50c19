/** A PAR Transformer-XL in use: with the tokenizer and the ranks that make it one for text. */
import type { Evaluation } from "../../depth/searched.ts";
import type { Engine } from "../../engine/engine.ts";
import { generate, type TextOptions } from "../../model/generation.ts";
import type { ParModel } from "../../model/par/par.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Weights } from "../../train/stages.ts";
import { defaultEngine } from "../engine.ts";

/** A network, and what it needs to read and write text. */
export interface ParNetwork {
  readonly model: ParModel;
  readonly weights: Weights;
  readonly tokenizer: OpenTokenizer;
  /** Place of each piece of the tokenizer by falling frequency: the ids of the model. */
  readonly ranks: Int32Array;
}

/** What only models with memory, or with a choice of blocks, can be told. */
export interface SegmentChoices {
  /** Steps of memory; more than in training reaches further back. Default: as in training. */
  readonly evaluationMemory?: number | undefined;
  /** How undecided blocks are mixed: by π, or the most probable candidate alone. Default: mean. */
  readonly mixture?: Evaluation | undefined;
}

/** What is continued, and how. */
export interface ParTextOptions extends TextOptions, SegmentChoices {
  /** Default: ONNX Runtime. */
  readonly engine?: Engine | undefined;
}

/** Continues a text out of the network's memory; yields what is new in it. */
export async function* generateText(network: ParNetwork, options: ParTextOptions): AsyncGenerator<string> {
  const { evaluationMemory: memory, mixture: evaluation, engine, ...how } = options;
  const { model, weights, tokenizer, ranks } = network;
  const asked = { ...how, engine: engine ?? (await defaultEngine()), tokenizer: tokenizer.tokenizer };
  yield* generate({ model, weights, ranks }, { ...asked, reading: { memory, evaluation } });
}
