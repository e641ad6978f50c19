/** Field numbers of the messages in a `.model`, shared by its reader and its writer. */
import type { NormaliserSpec, TrainerSpec } from "./model.ts";

export const MODEL_FIELDS = { pieces: 1, trainer: 2, normaliser: 3, denormaliser: 5 } as const;
export const PIECE_FIELDS = { text: 1, score: 2, kind: 3 } as const;

type KeysOf<S, T> = { [K in keyof S]-?: S[K] extends T ? (T extends S[K] ? K : never) : never }[keyof S];

/** The trainer's fields by type; `kind` is an enumeration and stands apart. */
export const TRAINER_KIND_FIELD = 3;
export const TRAINER_INTEGERS: Readonly<Record<KeysOf<TrainerSpec, number> & IntegerKeys, number>> = {
  vocabularySize: 4,
  maximumPieceLength: 20,
  unknownId: 40,
  bosId: 41,
  eosId: 42,
  padId: 43,
};
type IntegerKeys = Exclude<KeysOf<TrainerSpec, number>, "characterCoverage">;
export const TRAINER_FLOATS: Readonly<Record<"characterCoverage", number>> = { characterCoverage: 10 };
export const TRAINER_FLAGS: Readonly<Record<KeysOf<TrainerSpec, boolean>, number>> = {
  splitByScript: 21,
  splitByWhitespace: 22,
  splitByNumber: 23,
  whitespaceAsSuffix: 24,
  splitDigits: 25,
  byteFallback: 35,
};
export const TRAINER_LISTS: Readonly<Record<KeysOf<TrainerSpec, string[]>, number>> = {
  controlSymbols: 30,
  userSymbols: 31,
};
export const TRAINER_STRINGS: Readonly<Record<Exclude<KeysOf<TrainerSpec, string>, "kind">, number>> = {
  unknownSurface: 44,
  unknownPiece: 45,
  bosPiece: 46,
  eosPiece: 47,
  padPiece: 48,
};

export const NORMALISER_NAME_FIELD = 1;
export const NORMALISER_CHARSMAP_FIELD = 2;
export const NORMALISER_FLAGS: Readonly<Record<KeysOf<NormaliserSpec, boolean>, number>> = {
  addDummyPrefix: 3,
  removeExtraWhitespaces: 4,
  escapeWhitespaces: 5,
};
