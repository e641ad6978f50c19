/** What a SentencePiece `.model` holds, as plain data, with the defaults its format prescribes. */

/** How a piece may be used. */
export type PieceKind = "normal" | "unknown" | "control" | "user" | "unused" | "byte";

/** The kinds' numbers in the file. */
export const PIECE_KIND_NUMBERS: Readonly<Record<PieceKind, number>> = {
  normal: 1,
  unknown: 2,
  control: 3,
  user: 4,
  unused: 5,
  byte: 6,
};

/** How a model cuts text into pieces. */
export type ModelKind = "unigram" | "bpe" | "word" | "char";

export const MODEL_KIND_NUMBERS: Readonly<Record<ModelKind, number>> = { unigram: 1, bpe: 2, word: 3, char: 4 };

/** One vocabulary entry; its place in the list is its id. */
export interface Piece {
  text: string;
  /** Log probability (unigram) or merge priority (BPE), a 32-bit float. */
  score: number;
  kind: PieceKind;
}

/** How text is rewritten before it is cut into pieces. */
export interface NormaliserSpec {
  name: string;
  /** Rewriting rules: a double-array trie and its strings; empty for none. */
  charsmap: Uint8Array;
  addDummyPrefix: boolean;
  removeExtraWhitespaces: boolean;
  escapeWhitespaces: boolean;
}

/** The part of the trainer's record that a reader needs, or that says how the model was made. */
export interface TrainerSpec {
  kind: ModelKind;
  vocabularySize: number;
  characterCoverage: number;
  maximumPieceLength: number;
  splitByScript: boolean;
  splitByNumber: boolean;
  splitByWhitespace: boolean;
  splitDigits: boolean;
  whitespaceAsSuffix: boolean;
  byteFallback: boolean;
  controlSymbols: string[];
  userSymbols: string[];
  unknownId: number;
  bosId: number;
  eosId: number;
  padId: number;
  unknownPiece: string;
  bosPiece: string;
  eosPiece: string;
  padPiece: string;
  /** What an unknown id decodes to. */
  unknownSurface: string;
}

/** A whole model: pieces with scores, and how text is normalised. */
export interface Model {
  pieces: Piece[];
  trainer: TrainerSpec;
  normaliser: NormaliserSpec;
  /** Rules applied to decoded text; almost always absent. */
  denormaliser: NormaliserSpec | undefined;
}

export function defaultTrainerSpec(): TrainerSpec {
  return {
    kind: "unigram",
    vocabularySize: 8000,
    characterCoverage: 0.9995,
    maximumPieceLength: 16,
    splitByScript: true,
    splitByNumber: true,
    splitByWhitespace: true,
    splitDigits: false,
    whitespaceAsSuffix: false,
    byteFallback: false,
    controlSymbols: [],
    userSymbols: [],
    unknownId: 0,
    bosId: 1,
    eosId: 2,
    padId: -1,
    unknownPiece: "<unk>",
    bosPiece: "<s>",
    eosPiece: "</s>",
    padPiece: "<pad>",
    unknownSurface: " \u2047 ",
  };
}

export function defaultNormaliserSpec(): NormaliserSpec {
  return {
    name: "",
    charsmap: new Uint8Array(0),
    addDummyPrefix: true,
    removeExtraWhitespaces: true,
    escapeWhitespaces: true,
  };
}

/** `<0x41>` for 0x41. */
export function bytePiece(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}

/** The byte that `<0x41>` stands for, or -1. */
export function byteOfPiece(text: string): number {
  return /^<0x[0-9A-F]{2}>$/.test(text) ? Number.parseInt(text.slice(3, 5), 16) : -1;
}
