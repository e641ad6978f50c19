/** Vectors of texts: what an ALBERT makes of them before any head. */
import { LARGEST } from "../../base/limits.ts";
import { anything, checkOptions, oneOf, whole } from "../../base/options.ts";
import { type Engine, feedsFor } from "../../engine/engine.ts";
import { writeSafetensors } from "../../format/safetensors.ts";
import { simplifyNamed } from "../../graph/index.ts";
import { averaged, pooledOf, textInputs } from "../../model/albert/heads.ts";
import { encodeGlue, evaluationBatches, layOut } from "../../text/labelled/glue-batches.ts";
import { type PlainText, textsIn } from "../../text/labelled/text-task.ts";
import { specialIds } from "../../text/masked/documents.ts";
import { needTokenizer, type TrainedAlbert } from "./albert-run.ts";

/** How texts become vectors. */
export interface EmbedOptions {
  /** The pooled first token, or the mean of all tokens. Default: mean. */
  readonly pooling?: "first" | "mean" | undefined;
  /** Texts per batch. Default: 32. */
  readonly batch?: number | undefined;
  /** Told how many texts are done, of how many. */
  readonly onText?: ((done: number, count: number) => void) | undefined;
}

/** A vector per text, in the order of the texts. */
export interface Embeddings {
  /** [texts, width] */
  readonly values: Float32Array;
  readonly width: number;
}

/** Vectors of texts or of pairs of them; what is longer than the model reads is cut. */
export async function embedTexts(
  albert: Pick<TrainedAlbert, "model" | "weights" | "tokenizer" | "path">,
  engine: Engine,
  texts: readonly (string | PlainText)[],
  options: EmbedOptions = {},
): Promise<Embeddings> {
  checkOptions("embed", options, {
    pooling: oneOf(["first", "mean"]),
    batch: whole(1, LARGEST.batch),
    onText: anything,
  });
  const { pooling = "mean", batch: rows = 32, onText } = options;
  const { tokenizer } = needTokenizer(albert);
  const { length: most, width } = albert.model.options;
  const examples = texts.map((each) => ({
    texts: textsIn(typeof each === "string" ? { text: each } : each),
    label: 0,
  }));
  const encoded = encodeGlue(examples, tokenizer, most);
  const states = albert.model.encode(textInputs({ batch: rows, length: "T" }));
  const vectors = pooling === "first" ? pooledOf(states) : averaged(states);
  const program = await engine.compile({ outputs: simplifyNamed({ vectors }), weights: albert.weights });
  const values = new Float32Array(texts.length * width);
  try {
    for (const [done, places] of evaluationBatches(encoded, rows).entries()) {
      onText?.(done * rows, texts.length);
      const taken = places.map((place) => encoded[place]!);
      const pad = specialIds(tokenizer).pad;
      const { length, ids, mask, types } = layOut(taken, { rows, length: most, pad, regression: false });
      const shaped = (data: Int32Array) => ({ data, shape: [rows, length] });
      const feeds = feedsFor(program, { ids: shaped(ids), mask: shaped(mask), types: shaped(types) });
      const { data } = (await program.run(feeds)).vectors!;
      for (const [row, place] of places.entries()) {
        values.set(data.subarray(row * width, (row + 1) * width) as Float32Array, place * width);
      }
    }
    return { values, width };
  } finally {
    await program.release();
  }
}

/** Vectors as JSON lines: {text, pair, embedding} each. */
export function vectorLines(texts: readonly PlainText[], { values, width }: Embeddings): string {
  const vector = (i: number) => Array.from(values.subarray(i * width, (i + 1) * width));
  return texts.map((text, i) => `${JSON.stringify({ ...text, embedding: vector(i) })}\n`).join("");
}

/** Vectors as safetensors: one tensor, embeddings [texts, width]. */
export function vectorTensors({ values, width }: Embeddings): Uint8Array {
  const shape = [values.length / width, width];
  return writeSafetensors(new Map([["embeddings", { dtype: "F32", shape, data: values }]]));
}
