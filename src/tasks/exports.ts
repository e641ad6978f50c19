/** Trained models as files for others: ONNX for any runtime, safetensors, configuration and tokenizer, by file name. */
import { writeSafetensors } from "../format/safetensors.ts";
import type { Albert } from "../model/albert/albert.ts";
import type { AlbertDescription, DescribedAlbert } from "../model/albert/description.ts";
import { albertConfig, albertProgram } from "../model/albert/export.ts";
import { saveAlbert } from "../model/albert/weights.ts";
import { exportConfig, languageProgram } from "../model/language/export.ts";
import type { LanguageModel } from "../model/language/language.ts";
import { type ParProgramShape, parProgram } from "../model/par/export.ts";
import type { ParModel } from "../model/par/par.ts";
import { stateDict } from "../model/state-dict.ts";
import { boundWeights, type Weights } from "../model/weights.ts";
import type { Parameter } from "../nn/index.ts";
import { lower } from "../onnx/lower.ts";
import { tokenizerFileName } from "../text/tokenizer.ts";

/** Files by name. */
export type ExportedFiles = Readonly<Record<string, Uint8Array>>;

/** How numbers are written. */
export interface ExportHow {
  /** Matrices of ONNX files are 8-bit integers, and are multiplied so. Default: false. */
  readonly int8?: boolean | undefined;
}

const json = (value: unknown, indent?: number) => new TextEncoder().encode(`${JSON.stringify(value, null, indent)}\n`);

/**
 * An inference ONNX: `ids` int32 [B, T] → `logits` [B, T, V], any batch and any length up to the model's, and `updates` [B, T] where
 * tokens halt. It uses FusedMatMul of the domain com.microsoft, so it runs in ONNX Runtime.
 */
export function exportOnnx(model: LanguageModel, weights: Weights, { int8 }: ExportHow = {}): Uint8Array {
  return lower({ ...languageProgram(model, weights), int8 });
}

/** An inference ONNX of a network with memory; `parProgram` says what goes in and comes out. */
export function exportParOnnx(
  model: ParModel,
  weights: Weights,
  { int8, ...shape }: ParProgramShape & ExportHow,
): Uint8Array {
  return lower({ ...parProgram(model, weights, shape), int8 });
}

/** An inference ONNX of an encoder; `albertProgram` says what goes in and comes out. */
export function exportAlbertOnnx(model: Albert, weights: Weights, { int8 }: ExportHow = {}): Uint8Array {
  return lower({ ...albertProgram(model, weights), int8 });
}

/** All weights under their names, each once; `metadata` goes into the header. */
export function exportSafetensors(
  { parameters }: { readonly parameters: readonly Parameter[] },
  weights: Weights,
  metadata: Record<string, string> = {},
): Uint8Array {
  return writeSafetensors(stateDict(parameters, boundWeights({ parameters }, weights)), metadata);
}

/** What a run brings to its export besides a model and its weights. */
export interface ExportNotes extends ExportHow {
  /** The step of the weights. */
  readonly step: number;
  /** The bytes of tokenizer.model. */
  readonly tokenizer: Uint8Array;
}

/** The files of a language model; `languageModel(config.json)` has the weights' names. */
export function exportedLanguage(
  model: LanguageModel,
  weights: Weights,
  { step, tokenizer, int8 }: ExportNotes,
): ExportedFiles {
  return {
    "model.onnx": exportOnnx(model, weights, { int8 }),
    "model.safetensors": exportSafetensors(model, weights, { step: String(step) }),
    "config.json": json(exportConfig(model), 2),
    [tokenizerFileName(tokenizer)]: tokenizer,
  };
}

/** The files of a network with memory, one program for segments and one for single tokens. `parModel(config.json)` has the weights' names. */
export function exportedPar(
  model: ParModel,
  weights: Weights,
  { step, tokenizer, ranks, int8, ...shape }: ExportNotes & ParProgramShape & { readonly ranks: Int32Array },
): ExportedFiles {
  const programs = { "model.onnx": shape, "token.onnx": { ...shape, length: 1 } };
  const onnx = Object.entries(programs).map(([name, each]) => {
    return [name, exportParOnnx(model, weights, { ...each, ranks, int8 })] as const;
  });
  return {
    ...Object.fromEntries(onnx),
    "model.safetensors": exportSafetensors(model, weights, { step: String(step) }),
    "config.json": json({ kind: "par-transformer-xl", ...model.options, programs }, 2),
    "ranks.json": json([...ranks]),
    [tokenizerFileName(tokenizer)]: tokenizer,
  };
}

/** The files of an ALBERT under Hugging Face's names; an import of them gives the same model. */
export function exportedAlbert(
  { model, parameters, description }: DescribedAlbert & { readonly description: AlbertDescription },
  weights: Weights,
  { tokenizer, int8 }: ExportHow & { readonly tokenizer?: Uint8Array | undefined } = {},
): ExportedFiles {
  const records = [...saveAlbert(model, parameters, weights)].map(([name, { shape, data }]) => {
    return [name, { dtype: "F32" as const, shape, data }] as const;
  });
  return {
    "model.onnx": exportAlbertOnnx(model, weights, { int8 }),
    "model.safetensors": writeSafetensors(new Map(records), { format: "pt" }),
    "config.json": json(albertConfig(model, description.heads), 2),
    ...(tokenizer ? { "spiece.model": tokenizer } : {}),
  };
}
