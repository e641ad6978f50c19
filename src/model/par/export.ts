/** A PAR Transformer-XL for others: ONNX programs whose memory comes in and goes out, weights, tokenizer, description. */
import {
  constant,
  gather,
  input,
  maximum,
  reshape,
  simplify,
  subtract,
  type Tensor,
  transpose,
} from "../../graph/index.ts";
import { lower } from "../../onnx/lower.ts";
import { exportSafetensors } from "../language/export.ts";
import { boundWeights, type Weights } from "../language/language.ts";
import type { Carried, ParModel } from "./par.ts";

/** Tokens of a segment and steps of memory that a program is built for; it takes any number of texts. */
export interface ParProgramShape {
  readonly length: number;
  readonly memory: number;
  /** Place of each id by falling frequency, where ids are to be a tokenizer's. Default: ids are places. */
  readonly ranks?: Int32Array | undefined;
}

/** What a run brings to its export. */
export interface ExportedRun extends ParProgramShape {
  readonly ranks: Int32Array;
  readonly model: ParModel;
  readonly weights: Weights;
  readonly step: number;
  /** The bytes of tokenizer.model. */
  readonly tokenizer: Uint8Array;
}

const json = (value: unknown, indent?: number) => new TextEncoder().encode(`${JSON.stringify(value, null, indent)}\n`);

/** The files by name: one program for segments and one for single tokens. `parModel(config.json)` has the weights' names. */
export function exportedPar({
  model,
  weights,
  step,
  tokenizer,
  ranks,
  ...shape
}: ExportedRun): Record<string, Uint8Array> {
  const programs = { "model.onnx": shape, "token.onnx": { ...shape, length: 1 } };
  const onnx = Object.entries(programs).map(([name, each]) => {
    return [name, exportParOnnx(model, weights, { ...each, ranks })] as const;
  });
  return {
    ...Object.fromEntries(onnx),
    "model.safetensors": exportSafetensors(model, weights, { step: String(step) }),
    "config.json": json({ kind: "par-transformer-xl", ...model.options, programs }, 2),
    "ranks.json": json([...ranks]),
    "tokenizer.model": tokenizer,
  };
}

/**
 * An inference ONNX of a decided network: `ids` int32 [B, T] → `log_probabilities` [B, T, V] of the tokens that follow. Each block
 * that attends has its memory as `memory.N` [B, M, C], and `missing` (int32) says how many of its steps hold nothing yet: M at first.
 * `next_memory.N` and `next_missing` are what the next segment takes.
 */
export function exportParOnnx(
  model: ParModel,
  weights: Weights,
  { length, memory, ranks }: ParProgramShape,
): Uint8Array {
  const { vocabulary } = model.options;
  const ids = input("ids", ["B", length], "int");
  const places = ranks && constant(ranks, [ranks.length], "int");
  const segment = model.segment(places ? gather(places, ids) : ids, { batch: "B", length, memory });
  const logs = model.words.logProbabilities(segment.hidden);
  const attending = segment.carried.filter((_, i) => model.policy.blocks[i]!.some(({ kind }) => kind === "attention"));
  const named: Record<string, Tensor> = {
    log_probabilities: reshape(places ? inOrder(logs, places) : logs, ["B", length, vocabulary]),
    ...Object.fromEntries(attending.map(nextOf)),
    ...(attending.length > 0 ? { next_missing: maximum(subtract(segment.inputs.missing!, length), 0) } : {}),
  };
  const names = Object.keys(named);
  const outputs = Object.fromEntries(simplify(Object.values(named)).map((tensor, i) => [names[i]!, tensor]));
  return lower({ outputs, weights: boundWeights(model, weights) });
}

const nextOf = ({ input, output }: Carried) => [`next_${input.attributes.name}`, output] as const;

/** Columns by place → columns by id. */
function inOrder(logs: Tensor, places: Tensor): Tensor {
  return transpose(gather(transpose(logs, [1, 0]), places), [1, 0]);
}
