/** Attention probabilities as a file: safetensors with `attentions` and `depths`; text and pieces stand in its metadata. */
import type { Attentions } from "../analysis/attentions.ts";
import { type TensorRecord, writeSafetensors } from "../format/safetensors.ts";

/** The bytes of the file of a text. */
export function attentionsFile(text: string, { pieces, depths, shape, values }: Attentions): Uint8Array {
  const tensors = new Map<string, TensorRecord>([
    ["attentions", { dtype: "F32", shape, data: values }],
    ["depths", { dtype: "F32", shape: [depths.length], data: depths }],
  ]);
  return writeSafetensors(tensors, { text, pieces: JSON.stringify(pieces) });
}
