/** A trained model as bytes for others: an ONNX file for any runtime, safetensors, and the configuration beside it. */
import { type TensorRecord, writeSafetensors } from "../../format/safetensors.ts";
import { input, simplify } from "../../graph/index.ts";
import { lower } from "../../onnx/lower.ts";
import { boundWeights, type LanguageModel, type LanguageModelOptions, type Weights } from "./language.ts";

/**
 * An inference ONNX: `ids` int32 [B, T] → `logits` [B, T, V], any batch and any length up to the model's. A weight stands in it once,
 * however many depths use it. It uses FusedMatMul of the domain com.microsoft, so it runs in ONNX Runtime.
 */
export function exportOnnx(model: LanguageModel, weights: Weights): Uint8Array {
  const ids = input("ids", ["B", "T"], "int");
  const [logits] = simplify([model.logits(ids)]);
  return lower({ outputs: { logits: logits! }, weights: boundWeights(model, weights) });
}

/** All weights under their names, each once; `metadata` goes into the header. */
export function exportSafetensors(
  model: Pick<LanguageModel, "parameters">,
  weights: Weights,
  metadata: Record<string, string> = {},
): Uint8Array {
  const records = [...boundWeights(model, weights)].map(([{ attributes }, data]) => {
    const record: TensorRecord = { dtype: "F32", shape: attributes.shape, data };
    return [attributes.name, record] as const;
  });
  return writeSafetensors(new Map(records), metadata);
}

export interface ExportedConfig extends Required<LanguageModelOptions> {
  readonly kind: "language-model";
}

/** What the weights need to become a model again: `languageModel(exportConfig(model))` has the same parameters. */
export function exportConfig(model: LanguageModel): ExportedConfig {
  return { kind: "language-model", ...model.options };
}
