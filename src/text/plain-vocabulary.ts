/** Vocabularies that need no training of pieces: all bytes, or the most frequent words. Both are SentencePiece models. */
import { rejectData } from "../base/errors.ts";
import type { Model } from "./sentencepiece/model.ts";
import { defaultNormaliserSpec, type Piece } from "./sentencepiece/model.ts";
import { writeModel } from "./sentencepiece/model-writer.ts";
import { metaPieces, type TrainingOptions, trainerSpec } from "./sentencepiece/training/options.ts";
import { SPACE_MARK } from "./sentencepiece/utf8.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { trainingOptions, type VocabularyOptions } from "./vocabulary.ts";

/** Names of such vocabularies, where a tokenizer is asked for. */
export const plainVocabularies = ["bytes", "words"] as const;
/** One of them. */
export type PlainVocabulary = (typeof plainVocabularies)[number];

export const isPlainVocabulary = (name: string | undefined): name is PlainVocabulary =>
  plainVocabularies.some((each) => each === name);

/** The special pieces, those of bytes where asked for, and others at the ids that are left. */
function piecesOf(options: TrainingOptions, others: readonly Piece[]): Piece[] {
  const meta = metaPieces(options);
  const rest = [...others];
  return Array.from({ length: meta.size + others.length }, (_, id) => meta.get(id) ?? rest.shift()!);
}

/** The model of a vocabulary of all 256 bytes: text as it stands, nothing unknown, spaces and line ends included. */
export function byteModel({ masked }: Pick<VocabularyOptions, "masked"> = {}): Uint8Array<ArrayBuffer> {
  const options = { ...trainingOptions({ masked, pieces: 1000 }), byteFallback: true };
  const pieces = piecesOf(options, []);
  const model: Model = {
    pieces,
    trainer: { ...trainerSpec(options), kind: "char", vocabularySize: pieces.length },
    normaliser: {
      ...defaultNormaliserSpec(),
      name: "identity",
      addDummyPrefix: false,
      removeExtraWhitespaces: false,
      escapeWhitespaces: false,
    },
    denormaliser: undefined,
  };
  return writeModel(model);
}

/** The model of the most frequent words of lines, as white space separates and people write them; others are unknown. */
export function wordModel(
  lines: Iterable<string>,
  { pieces = 12_000, masked }: Pick<VocabularyOptions, "pieces" | "masked">,
): Uint8Array<ArrayBuffer> {
  const options = trainingOptions({ masked, pieces });
  const room = pieces - metaPieces(options).size;
  if (room < 1) rejectData({ who: "words", needed: "pieces for words beside the special ones", got: `${pieces}` });
  const counts = new Map<string, number>();
  let total = 0;
  for (const line of lines) {
    for (const word of line.match(/\S+/g) ?? []) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
      total++;
    }
  }
  if (total === 0) rejectData({ who: "words", needed: "text with words in it", got: "none" });
  const frequent = [...counts].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, room);
  const words = frequent.map(([word, count]) => ({
    text: `${SPACE_MARK}${word}`,
    score: Math.fround(Math.log(count / total)),
    kind: "normal" as const,
  }));
  const made = piecesOf(options, words);
  return writeModel({
    pieces: made,
    trainer: { ...trainerSpec(options), kind: "word", vocabularySize: made.length },
    normaliser: { ...defaultNormaliserSpec(), name: "identity" },
    denormaliser: undefined,
  });
}

/** Whether a tokenizer knows bytes alone: it reads text with its line ends, which others never see. */
export function isByteTokenizer(tokenizer: Pick<Tokenizer, "size" | "pieceOf">): boolean {
  if (tokenizer.size < 256 || tokenizer.size > 300) return false;
  const pieces = Array.from({ length: tokenizer.size }, (_, id) => tokenizer.pieceOf(id));
  return pieces.filter((piece) => /^<0x[0-9A-F]{2}>$/.test(piece)).length === 256;
}
