/** A PAR Transformer-XL for others: a program whose memory comes in and goes out. */
import type { ProgramSource } from "../../engine/engine.ts";
import {
  constant,
  gather,
  input,
  maximum,
  reshape,
  simplifyNamed,
  subtract,
  type Tensor,
  transpose,
} from "../../graph/index.ts";
import { boundWeights, type Weights } from "../weights.ts";
import { type Carried, type ParModel, usedMemories } from "./par.ts";

/** Tokens of a segment and steps of memory that a program is built for; it takes any number of texts. */
export interface ParProgramShape {
  readonly length: number;
  readonly memory: number;
  /** Place of each id by falling frequency, where ids are to be a tokenizer's. Default: ids are places. */
  readonly ranks?: Int32Array | undefined;
}

/**
 * The program of a network, whose undecided blocks are mixed by π: `ids` int32 [B, T] → `log_probabilities` [B, T, V] of the tokens that follow. Each block
 * that looks back has its memory as `memory.N` [B, M, C], and `missing` (int32) says how many of its steps hold nothing yet: M at first.
 * `next_memory.N` and `next_missing` are what the next segment takes.
 */
export function parProgram(
  model: ParModel,
  weights: Weights,
  { length, memory, ranks }: ParProgramShape,
): ProgramSource {
  const { vocabulary } = model.options;
  const ids = input("ids", ["B", length], "int");
  const places = ranks && constant(ranks, [ranks.length], "int");
  const segment = model.segment(places ? gather(places, ids) : ids, { batch: "B", length, memory });
  const logs = model.words.logProbabilities(segment.hidden);
  const attending = usedMemories(segment);
  const named: Record<string, Tensor> = {
    log_probabilities: reshape(places ? inOrder(logs, places) : logs, ["B", length, vocabulary]),
    ...Object.fromEntries(attending.map(nextOf)),
    ...(attending.length > 0 ? { next_missing: maximum(subtract(segment.inputs.missing!, length), 0) } : {}),
  };
  return { outputs: simplifyNamed(named), weights: boundWeights(model, weights) };
}

const nextOf = ({ input, output }: Carried) => [`next_${input.attributes.name}`, output] as const;

/** Columns by place → columns by id. */
function inOrder(logs: Tensor, places: Tensor): Tensor {
  return transpose(gather(transpose(logs, [1, 0]), places), [1, 0]);
}
