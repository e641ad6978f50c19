/** Looking into an adaptive ALBERT: how deep each token ran, and how much each step still turned its state. */
import { rejectOption } from "../../base/errors.ts";
import { concat, type Dim, divide, full, multiply, sqrt, sum, type Tensor } from "../../graph/index.ts";
import { inference, type Mode } from "../../nn/index.ts";
import type { Albert, AlbertInputs, Encoded } from "./albert.ts";

/** Encoded texts with the states after every depth, the start first: [B·T, C] each. */
export interface EncodedByDepth extends Encoded {
  readonly states: readonly Tensor[];
}

/** Depths that each token ran, [B·T]: all of them where the depth is fixed. */
export function depthTensor({ updates }: Encoded["probes"], model: Albert, rows: Dim): Tensor {
  return updates ?? full(model.policy.depth, [rows]);
}

/** As `model.encode`, with every state on the way. */
export function encodeByDepth(model: Albert, texts: AlbertInputs, mode: Mode = inference): EncodedByDepth {
  const { rows, context } = model.start(texts, mode);
  const encoded = model.encoded(model.policy.apply(rows, context), context, texts.ids);
  const later = Array.from({ length: model.policy.depth }, (_, i) => encoded.probes[`step${i + 1}.state`]);
  // Passes through brackets are fewer than the depths that tokens count.
  const known = later.filter((state) => state !== undefined);
  const states = known.length === model.policy.depth ? [rows, ...known] : [rows];
  return { ...encoded, states };
}

/** Encoded texts with the attention weights of every layer that ran, in their order: [B, H, T, T] each. */
export interface EncodedWithAttentions extends Pick<Encoded, "sequence" | "probes"> {
  readonly attentions: readonly Tensor[];
}

/** As `model.encode` for inference, with attention weights; rows of tokens that have halted are computed, too, and have no effect. */
export function encodeWithAttentions(model: Albert, texts: AlbertInputs): EncodedWithAttentions {
  const { rows, context } = model.start(texts);
  const attentions: Tensor[] = [];
  const watch = (weights: Tensor) => void attentions.push(weights);
  const { hidden, probes } = model.policy.apply(rows, { ...context, watch });
  if (attentions.length === 0) {
    rejectOption({ who: "attentions", needed: "an ALBERT of its own layers", got: "one of letters or newer blocks" });
  }
  return { sequence: hidden, probes, attentions };
}

const dot = (a: Tensor, b: Tensor) => sum(multiply(a, b), { axes: [1], keepDims: true });

/** Cosines between successive states, [B·T, L]: steps that a token did not run have 1. */
export function similarityTrace(states: readonly Tensor[]): Tensor {
  if (states.length < 2)
    rejectOption({ who: "similarity trace", needed: "a model whose tokens halt", got: "fixed depth" });
  const lengths = states.map((state) => sqrt(dot(state, state)));
  const cosines = states.slice(1).map((state, k) => {
    return divide(dot(states[k]!, state), multiply(lengths[k]!, lengths[k + 1]!));
  });
  return concat(cosines, 1);
}
