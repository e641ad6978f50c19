/** An ALBERT for others: weights under Hugging Face's names with its config, an ONNX file, the SentencePiece model. */
import { writeSafetensors } from "../../format/safetensors.ts";
import { reshape, simplify, type Tensor } from "../../graph/index.ts";
import { lower } from "../../onnx/lower.ts";
import type { AlbertRun } from "../../tasks/pretrain/albert-run.ts";
import type { HeadName } from "./description.ts";
import { textInputs } from "./heads.ts";
import { huggingFaceConfig, saveAlbert } from "./weights.ts";

type Exportable = Pick<AlbertRun, "model" | "parameters" | "weights" | "heads" | "tokenizer">;

/** The classes that load the files; where several heads stand side by side it is the one for pre-training. */
const classes: Readonly<Record<HeadName, string>> = {
  maskedLanguage: "AlbertForMaskedLM",
  sentenceOrder: "AlbertForPreTraining",
  classification: "AlbertForSequenceClassification",
  tokenClassification: "AlbertForTokenClassification",
  questionAnswering: "AlbertForQuestionAnswering",
  multipleChoice: "AlbertForMultipleChoice",
};

function architectures(heads: Exportable["heads"]): string[] {
  const names = Object.keys(heads) as HeadName[];
  if (names.length === 0) return ["AlbertModel"];
  return [heads.sentenceOrder ? classes.sentenceOrder : classes[names[0]!]];
}

/** The files by name; an import of them gives the same model. */
export function exportedAlbert(run: Exportable): Record<string, Uint8Array> {
  const { model, parameters, weights, heads, tokenizer } = run;
  const records = [...saveAlbert(model, parameters, weights)].map(([name, { shape, data }]) => {
    return [name, { dtype: "F32" as const, shape, data }] as const;
  });
  const config = { architectures: architectures(heads), ...huggingFaceConfig(model.options) };
  return {
    "model.onnx": exportAlbertOnnx(run),
    "model.safetensors": writeSafetensors(new Map(records), { format: "pt" }),
    "config.json": new TextEncoder().encode(`${JSON.stringify(config, null, 2)}\n`),
    ...(tokenizer ? { "spiece.model": tokenizer.bytes } : {}),
  };
}

/** The encoder: `ids`, `mask`, `types` int32 [B, T] → `sequence` [B, T, C], `pooled` [B, C], and `updates` [B, T] where tokens halt. */
export function exportAlbertOnnx({ model, weights }: Pick<Exportable, "model" | "weights">): Uint8Array {
  const inputs = textInputs({ batch: "B", length: "T" });
  const { sequence, pooled, probes } = model.encode(inputs);
  const named: Record<string, Tensor> = {
    sequence: reshape(sequence, ["B", "T", model.options.width]),
    ...(pooled ? { pooled } : {}),
    ...(probes.updates ? { updates: reshape(probes.updates, ["B", "T"]) } : {}),
  };
  const outputs = Object.fromEntries(
    simplify(Object.values(named)).map((tensor, i) => [Object.keys(named)[i]!, tensor]),
  );
  const own = new Set(model.parameters.map(({ tensor }) => tensor));
  return lower({ outputs, weights: new Map([...weights].filter(([tensor]) => own.has(tensor))) });
}
