/** Trained ALBERTs as folders that transformers.js loads: config.json, tokenizer.json, tokenizer_config.json and onnx/model.onnx. */
import type { DescribedAlbert } from "../model/albert/description.ts";
import { answeringProgram } from "../model/albert/export.ts";
import { huggingFaceConfig } from "../model/albert/weights.ts";
import type { Weights } from "../model/weights.ts";
import { lowerGraph } from "../onnx/lower.ts";
import { encodeModel } from "../onnx/proto.ts";
import { wideInputs } from "../onnx/wide-inputs.ts";
import type { TextTask } from "../text/labelled/text-task.ts";
import { specialIds } from "../text/masked/documents.ts";
import { albertTokenizerJson, type FramePieces } from "../text/masked/tokenizer-json.ts";
import { readModel } from "../text/sentencepiece/model-reader.ts";
import type { OpenTokenizer } from "../text/tokenizer.ts";
import type { ExportedFiles } from "./exports.ts";

/** What a head was taught. */
export interface AnswerNotes {
  /** Gives classes their names. */
  readonly task?: TextTask | undefined;
  /** Longest text in pieces. Default: the model's. */
  readonly length?: number | undefined;
}

const WHO = "export --format transformers.js";
/** Our names of the inputs, and theirs. */
const INPUTS = { ids: "input_ids", mask: "attention_mask", types: "token_type_ids" };
const json = (value: unknown, indent = 2) => new TextEncoder().encode(`${JSON.stringify(value, null, indent)}\n`);

/** The folder of an ALBERT with its head, of fixed depth or halting: fill-mask, text-classification, question-answering or feature-extraction. */
export function transformersJsAlbert(
  described: DescribedAlbert,
  weights: Weights,
  { bytes, name, tokenizer }: OpenTokenizer,
  { task, length = Number.POSITIVE_INFINITY }: AnswerNotes = {},
): ExportedFiles {
  const { architecture, program } = answeringProgram(described, weights, WHO);
  const { pad, cls, sep, mask } = specialIds(tokenizer);
  const pieceOf = (id: number) => tokenizer.pieceOf(id);
  const frame = { pad: pieceOf(pad), cls: pieceOf(cls), sep: pieceOf(sep), mask: pieceOf(mask) };
  const { options } = described.model;
  const config = {
    ...huggingFaceConfig(options),
    // Tokens that halt do so inside the program: to its users it is an ALBERT.
    model_type: "albert",
    architectures: [architecture],
    pad_token_id: pad,
    bos_token_id: cls,
    eos_token_id: sep,
    ...labelsOf(task),
    "transformers.js_config": { dtype: "fp32" },
  };
  return {
    "config.json": json(config),
    "tokenizer.json": json(albertTokenizerJson(readModel(bytes, name), frame, WHO), 0),
    "tokenizer_config.json": json(
      tokenizerConfig(frame, pieceOf(tokenizer.unknownId), Math.min(length, options.length)),
    ),
    "onnx/model.onnx": encodeModel(wideInputs(lowerGraph(program), INPUTS)),
  };
}

/** Names of classes, and whether a text may have several of them. */
function labelsOf(task: TextTask | undefined): Record<string, unknown> {
  if (!task) return {};
  const names = task.labels ?? ["LABEL_0"];
  const single = task.labels ? "single_label_classification" : "regression";
  return {
    id2label: Object.fromEntries(names.map((name, i) => [i, name])),
    label2id: Object.fromEntries(names.map((name, i) => [name, i])),
    problem_type: task.several ? "multi_label_classification" : single,
  };
}

function tokenizerConfig({ pad, cls, sep, mask }: FramePieces, unknown: string, length: number) {
  return {
    tokenizer_class: "AlbertTokenizer",
    model_max_length: length,
    do_lower_case: true,
    remove_space: true,
    clean_up_tokenization_spaces: false,
    bos_token: cls,
    eos_token: sep,
    cls_token: cls,
    sep_token: sep,
    mask_token: mask,
    pad_token: pad,
    unk_token: unknown,
  };
}
