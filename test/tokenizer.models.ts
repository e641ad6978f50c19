/** Small SentencePiece models, written out, for tests. */
import {
  bytePiece,
  defaultNormaliserSpec,
  defaultTrainerSpec,
  type Model,
  type NormaliserSpec,
  type Piece,
  type PieceKind,
  type TrainerSpec,
} from "../src/text/sentencepiece/model.ts";

/** A model with the given normal pieces and scores after `<unk>`, `<s>` and `</s>`; no rewriting rules. */
export function smallModel(
  scores: Readonly<Record<string, number>>,
  {
    trainer = {},
    normaliser = {},
    symbols = [],
  }: { trainer?: Partial<TrainerSpec>; normaliser?: Partial<NormaliserSpec>; symbols?: readonly string[] } = {},
): Model {
  const pieces = [piece("<unk>", 0, "unknown"), piece("<s>", 0, "control"), piece("</s>", 0, "control")];
  for (const symbol of symbols) pieces.push(piece(symbol, 0, "user"));
  if (trainer.byteFallback) for (let byte = 0; byte < 256; byte++) pieces.push(piece(bytePiece(byte), 0, "byte"));
  for (const [text, score] of Object.entries(scores)) pieces.push(piece(text, Math.fround(score), "normal"));
  return {
    pieces,
    trainer: { ...defaultTrainerSpec(), ...trainer },
    normaliser: { ...defaultNormaliserSpec(), name: "identity", ...normaliser },
    denormaliser: undefined,
  };
}

function piece(text: string, score: number, kind: PieceKind): Piece {
  return { text, score, kind };
}

/** A few words and all the letters they need. */
export const ENGLISH: Readonly<Record<string, number>> = {
  "▁": -2,
  "▁the": -3,
  "▁cat": -5,
  "▁ca": -6,
  t: -4,
  s: -3.5,
  e: -4,
  h: -4.5,
  a: -4,
  c: -4.2,
  at: -5,
  "▁s": -4.1,
  "▁sat": -6,
  he: -5,
  ing: -5,
  i: -4.4,
  n: -4.4,
  g: -4.6,
};
