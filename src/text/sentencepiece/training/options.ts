/** What a unigram vocabulary is trained with: the defaults, one comment per field, and the checks on them. */
import { reject } from "../../../base/errors.ts";
import { bytePiece, defaultTrainerSpec, type Piece, type PieceKind } from "../model.ts";
import { NORMALISATIONS, type Normalisation } from "../normalisation-rules.ts";

/** All options of a training. */
export interface TrainingOptions {
  /** Pieces in all, special ones included. */
  vocabularySize: number;
  /** Share of the text's characters that must be covered; the rarest beyond it become unknown. */
  characterCoverage: number;
  /** `nfkc_cf` folds case. */
  normalisation: Normalisation;
  /** Kept whole wherever they occur in text. */
  userSymbols: readonly string[];
  /** Have an id but are never found in text. */
  controlSymbols: readonly string[];
  /** Adds 256 byte pieces, so that no input is lost. */
  byteFallback: boolean;
  /** Ids of the special pieces; -1 for none. */
  padId: number;
  bosId: number;
  eosId: number;
  unknownId: number;
  padPiece: string;
  bosPiece: string;
  eosPiece: string;
  unknownPiece: string;
  /** Longest piece in characters. */
  maximumPieceLength: number;
  /** No piece mixes scripts (`Fu` and `ど`), letters and digits, or reaches over a space. */
  splitByScript: boolean;
  splitByNumber: boolean;
  splitByWhitespace: boolean;
  /** Every digit is a piece of its own. */
  splitDigits: boolean;
  /** How many candidates training starts from. */
  seedSize: number;
  /** Share of the pieces that survives each round of pruning. */
  shrinkingFactor: number;
  /** Expectation-maximisation steps between two rounds of pruning. */
  subIterations: number;
}

/** The special pieces are PAR Transformer-XL's; the rest as in SentencePiece. */
export const TRAINING_DEFAULTS: Readonly<TrainingOptions> = {
  vocabularySize: 12_000,
  characterCoverage: 0.9995,
  normalisation: "nfkc_cf",
  userSymbols: [],
  controlSymbols: [],
  byteFallback: false,
  padId: 0,
  bosId: 1,
  eosId: 2,
  unknownId: 3,
  padPiece: "[PAD]",
  bosPiece: "[BOS]",
  eosPiece: "[EOS]",
  unknownPiece: "[UNK]",
  maximumPieceLength: 16,
  splitByScript: true,
  splitByNumber: true,
  splitByWhitespace: true,
  splitDigits: false,
  seedSize: 1_000_000,
  shrinkingFactor: 0.75,
  subIterations: 2,
};

const WHO = "tokenizer training";

/** Refuses options that cannot work. */
export function checkOptions(options: TrainingOptions): void {
  checkNumber("vocabulary size", options.vocabularySize, 2, 10_000_000);
  checkNumber("longest piece", options.maximumPieceLength, 1, 512);
  if (!(options.characterCoverage > 0 && options.characterCoverage <= 1)) {
    reject({ who: WHO, needed: "a character coverage above 0, at most 1", got: `${options.characterCoverage}` }, 2);
  }
  if (!NORMALISATIONS.includes(options.normalisation)) {
    reject({ who: WHO, needed: `a normalisation (${NORMALISATIONS.join(", ")})`, got: options.normalisation }, 2);
  }
}

function checkNumber(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  reject({ who: WHO, needed: `a ${name} from ${least} to ${most}`, got: `${value}` }, 2);
}

/** The special, control, user and byte pieces by id. Symbols take the free ids from 0 up, bytes last. */
export function metaPieces(options: TrainingOptions): Map<number, Piece> {
  const pieces = new Map<number, Piece>();
  if (options.unknownId < 0)
    reject({ who: WHO, needed: "an id for the unknown piece", got: `${options.unknownId}` }, 2);
  place(pieces, options.unknownId, options.unknownPiece, "unknown", options);
  place(pieces, options.bosId, options.bosPiece, "control", options);
  place(pieces, options.eosId, options.eosPiece, "control", options);
  place(pieces, options.padId, options.padPiece, "control", options);
  append(pieces, options.controlSymbols, "control");
  append(pieces, options.userSymbols, "user");
  if (options.byteFallback)
    append(
      pieces,
      Array.from({ length: 256 }, (_, byte) => bytePiece(byte)),
      "byte",
    );
  checkDistinct(pieces);
  return pieces;
}

function place(pieces: Map<number, Piece>, id: number, text: string, kind: PieceKind, options: TrainingOptions): void {
  if (id < 0) return;
  if (pieces.has(id) || id >= options.vocabularySize) {
    const needed = `ids of special pieces that are distinct and below ${options.vocabularySize}`;
    reject({ who: WHO, needed, got: `${id} for ${text}` }, 2);
  }
  pieces.set(id, { text, score: 0, kind });
}

function append(pieces: Map<number, Piece>, texts: readonly string[], kind: PieceKind): void {
  let id = 0;
  for (const text of texts) {
    while (pieces.has(id)) id++;
    pieces.set(id, { text, score: 0, kind });
  }
}

function checkDistinct(pieces: ReadonlyMap<number, Piece>): void {
  const seen = new Set<string>();
  for (const { text } of pieces.values()) {
    if (text === "" || text.includes("\0")) {
      reject({ who: WHO, needed: "symbols that are not empty, without NUL", got: JSON.stringify(text) }, 2);
    }
    if (seen.has(text)) reject({ who: WHO, needed: "distinct symbols", got: `${text} twice` }, 2);
    seen.add(text);
  }
}

/** The trainer's record that goes into the model. */
export function trainerSpec(options: TrainingOptions): ReturnType<typeof defaultTrainerSpec> {
  const { vocabularySize, characterCoverage, byteFallback, maximumPieceLength } = options;
  const { padId, bosId, eosId, unknownId, padPiece, bosPiece, eosPiece, unknownPiece } = options;
  const { splitByScript, splitByNumber, splitByWhitespace, splitDigits } = options;
  return {
    ...defaultTrainerSpec(),
    ...{ vocabularySize, characterCoverage, byteFallback, maximumPieceLength },
    ...{ padId, bosId, eosId, unknownId, padPiece, bosPiece, eosPiece, unknownPiece },
    ...{ splitByScript, splitByNumber, splitByWhitespace, splitDigits },
    controlSymbols: [...options.controlSymbols],
    userSymbols: [...options.userSymbols],
  };
}
