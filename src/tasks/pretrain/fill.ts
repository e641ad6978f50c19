/** The likeliest pieces for the masks of a text, by an ALBERT that was trained to guess them. */
import { reject } from "../../base/errors.ts";
import { check, checkOptions, whole } from "../../base/options.ts";
import { table } from "../../base/table.ts";
import { type Engine, feedsFor } from "../../engine/engine.ts";
import { gather, input, simplifyNamed, softmax } from "../../graph/index.ts";
import { textInputs } from "../../model/albert/heads.ts";
import { inference } from "../../nn/index.ts";
import { normaliseForAlbert, specialIds } from "../../text/masked/documents.ts";
import type { Tokenizer } from "../../text/tokenizer.ts";
import { needTokenizer, type TrainedAlbert } from "./albert-run.ts";

/** What may stand at a mask. */
export interface MaskGuess {
  readonly piece: string;
  readonly probability: number;
}

/** One `[MASK]` of a text. */
export interface FilledMask {
  /** By falling probability. */
  readonly guesses: readonly MaskGuess[];
  /** Iterations that its place took, where tokens halt by themselves. */
  readonly depth: number | undefined;
}

const MASK = "[MASK]";

/** Guesses every `[MASK]` of a text, `top` pieces each (default: 8). */
export async function fillMasks(
  albert: Pick<TrainedAlbert, "model" | "heads" | "weights" | "tokenizer" | "path">,
  engine: Engine,
  text: string,
  options: { readonly top?: number | undefined } = {},
): Promise<FilledMask[]> {
  checkOptions("fill", options, ["top"]);
  const { top = 8 } = options;
  check("fill / top", top, whole(1));
  const { tokenizer } = needTokenizer(albert);
  const { ids, masks } = maskedIds(text, tokenizer, albert.model.options.length);
  const program = await engine.compile({ outputs: outputsOf(albert), weights: albert.weights });
  try {
    const shaped = (data: Int32Array) => ({ data, shape: [1, ids.length] });
    const feeds = {
      ids: shaped(ids),
      mask: shaped(new Int32Array(ids.length).fill(1)),
      types: shaped(new Int32Array(ids.length)),
      places: { data: masks, shape: [masks.length] },
    };
    const { words, depths } = await program.run(feedsFor(program, feeds));
    return Array.from(masks, (place, i) => {
      const row = (words!.data as Float32Array).subarray(i * tokenizer.size, (i + 1) * tokenizer.size);
      return { guesses: likeliestOf(row, top, tokenizer), depth: depths?.data[place] };
    });
  } finally {
    await program.release();
  }
}

/** Probabilities of all pieces at the places, [N, V], and depths of all tokens. */
function outputsOf({ model, heads, path = "ALBERT" }: Pick<TrainedAlbert, "model" | "heads" | "path">) {
  const head = heads.maskedLanguage ?? reject({ who: path, needed: "a head that guesses words", got: "none" }, 2);
  const encoded = model.encode(textInputs({ batch: 1, length: "T" }));
  const sequence = gather(encoded.sequence, input("places", ["N"], "int"));
  const { words } = head.logits({ ...encoded, sequence }, {}, inference);
  const { updates } = encoded.probes;
  return simplifyNamed({ words: softmax(words!), ...(updates ? { depths: updates } : {}) });
}

/** [CLS] text [SEP], cut to the model's length, and where the masks stand in it. */
function maskedIds(text: string, tokenizer: Tokenizer, length: number): { ids: Int32Array; masks: Int32Array } {
  const special = specialIds(tokenizer);
  const parts = text.split(MASK).map((part) => [...tokenizer.encode(normaliseForAlbert(part))]);
  const body = parts.flatMap((part, i) => (i === 0 ? part : [special.mask, ...part])).slice(0, length - 2);
  const ids = Int32Array.from([special.cls, ...body, special.sep]);
  const masks = Int32Array.from([...ids.keys()].filter((i) => ids[i] === special.mask));
  if (masks.length > 0) return { ids, masks };
  return reject({ who: "fill", needed: `a text with ${MASK} among its first ${length - 2} pieces`, got: "none" }, 2);
}

function likeliestOf(row: Float32Array, top: number, tokenizer: Tokenizer): MaskGuess[] {
  const order = Array.from(row.keys()).sort((a, b) => row[b]! - row[a]! || a - b);
  return order.slice(0, top).map((id) => ({ piece: tokenizer.pieceOf(id), probability: row[id]! }));
}

/** The guesses as a table, a row each. */
export const guessTable = (masks: readonly FilledMask[]): string =>
  table(
    masks.flatMap(({ guesses, depth }, i) =>
      guesses.map(({ piece, probability }) => ({
        mask: i + 1,
        piece,
        probability: probability.toFixed(4),
        ...(depth === undefined ? {} : { depth }),
      })),
    ),
  );
