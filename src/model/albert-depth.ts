/** Looking into an adaptive ALBERT: how deep each token ran, and how much each step still turned its state. */
import { reject } from "../base/errors.ts";
import {
  add,
  concat,
  type Dim,
  divide,
  full,
  input,
  multiply,
  type NoiseInput,
  reshape,
  sqrt,
  sum,
  type Tensor,
} from "../graph/index.ts";
import { inference, type Mode, Training } from "../nn/index.ts";
import type { Albert, AlbertInputs, Encoded } from "./albert.ts";
import { type Head, type Tensors, textInputs } from "./albert-heads.ts";

/** Encoded texts with the states after every depth, the start first: [B·T, C] each. */
export interface EncodedByDepth extends Encoded {
  readonly states: readonly Tensor[];
}

/** Depths that each token ran, [B·T]: all of them where the depth is fixed. */
export function depthsOf({ updates }: Encoded["probes"], model: Albert, rows: Dim): Tensor {
  return updates ?? full(model.policy.depth, [rows]);
}

/** As `model.encode`, with every state on the way. */
export function encodeByDepth(model: Albert, texts: AlbertInputs, mode: Mode = inference): EncodedByDepth {
  const { rows, context } = model.start(texts, mode);
  const { hidden, penalty, probes } = model.policy.apply(rows, context);
  const later = Array.from({ length: model.policy.depth }, (_, i) => probes[`step${i + 1}.state`]);
  const states = [rows, ...later.filter((state) => state !== undefined)];
  const pooled = model.pool(hidden, context.rows, mode);
  return { ...context.rows, sequence: hidden, pooled, penalty, probes, real: context.real, states };
}

const dot = (a: Tensor, b: Tensor) => sum(multiply(a, b), { axes: [1], keepDims: true });

/** Cosines between successive states, [B·T, L]: steps that a token did not run have 1. */
export function similarityTrace(states: readonly Tensor[]): Tensor {
  if (states.length < 2) reject({ who: "similarity trace", needed: "a model whose tokens halt", got: "fixed depth" });
  const lengths = states.map((state) => sqrt(dot(state, state)));
  const cosines = states.slice(1).map((state, k) => {
    return divide(dot(states[k]!, state), multiply(lengths[k]!, lengths[k + 1]!));
  });
  return concat(cosines, 1);
}

export interface PretrainingHeads {
  readonly maskedLanguage: Head;
  readonly sentenceOrder: Head;
}

/** A masked-LM + sentence-order loss, its parts, and what evaluation looks at. */
export interface PretrainingObjective {
  readonly loss: Tensor;
  readonly inputs: Tensors;
  readonly noise: readonly NoiseInput[];
  /** Scores of the words in masked places [B·P, V] and of the orders [B, 2]. */
  readonly logits: Tensors;
  /** Depths [B·T] and remainders [B·T] of the tokens; remainders only where tokens halt. */
  readonly depths: Tensor;
  readonly remainders: Tensor | undefined;
}

export interface PretrainingShape {
  batch: number;
  length: number;
  /** Masked places a text. */
  predictions: number;
  training: boolean;
  /** Whether the penalty grows: then the objective asks for its scale. */
  warmup: boolean;
}

/** Under which the loop feeds how much of the penalty counts, from 0 to 1. */
export const PONDER_SCALE = "ponderScale";

/** Places to predict [B, P], what stands there, and 1 for those that count. */
function slots(batch: number, predictions: number): Tensors {
  return {
    maskedPositions: input("maskedPositions", [batch, predictions], "int"),
    maskedLabels: input("maskedLabels", [batch, predictions], "int"),
    maskedWeights: input("maskedWeights", [batch, predictions]),
  };
}

/** L = L_words + L_order + scale · τ · ponder cost. */
export function pretrainingObjective(
  model: Albert,
  { maskedLanguage, sentenceOrder }: PretrainingHeads,
  { training, warmup, predictions, ...shape }: PretrainingShape,
): PretrainingObjective {
  const mode = training ? new Training() : inference;
  const texts = textInputs(shape);
  const encoded = model.encode(texts, mode);
  const heads = [maskedLanguage, sentenceOrder];
  const targets: Tensors = { ...slots(shape.batch, predictions), ...sentenceOrder.targets(shape) };
  const found = heads.map((head) => head.logits(encoded, targets, mode));
  const [words, order] = heads.map((head, i) => head.loss(found[i]!, targets)) as [Tensor, Tensor];
  const scale = warmup && encoded.penalty ? { [PONDER_SCALE]: input(PONDER_SCALE, [1]) } : {};
  const penalty = scale[PONDER_SCALE] ? multiply(encoded.penalty!, reshape(scale[PONDER_SCALE], [])) : encoded.penalty;
  return {
    loss: penalty ? add(add(words, order), penalty) : add(words, order),
    inputs: { ...texts, ...targets, ...scale },
    noise: mode instanceof Training ? mode.noise : [],
    logits: Object.assign({}, ...found) as Tensors,
    depths: depthsOf(encoded.probes, model, encoded.sequence.shape[0]!),
    remainders: encoded.probes.remainders,
  };
}
