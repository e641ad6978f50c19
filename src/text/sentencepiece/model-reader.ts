/** Reads a SentencePiece `.model` and checks that it can work: an unknown piece, distinct texts, complete bytes. */
import { rejectFile as reject } from "../../base/errors.ts";
import { ProtoReader, WIRE_BYTES, WIRE_FIXED32, WIRE_VARINT } from "../../format/protobuf.ts";
import {
  byteOfPiece,
  defaultNormaliserSpec,
  defaultTrainerSpec,
  MODEL_KIND_NUMBERS,
  type Model,
  type ModelKind,
  type NormaliserSpec,
  PIECE_KIND_NUMBERS,
  type Piece,
  type PieceKind,
  type TrainerSpec,
} from "./model.ts";
import * as fields from "./model-fields.ts";

/** Longer pieces than this are refused, as SentencePiece does. */
const MAXIMUM_PIECE_BYTES = 8000;
/** Four times the largest published vocabulary. */
const MOST_PIECES = 2 ** 20;

/** What a reader of models may be told. */
export interface ModelLimits {
  /** Pieces that a model may have. Default: 1,048,576. */
  maxPieces?: number | undefined;
}

const pieceKinds = inverted(PIECE_KIND_NUMBERS);
const modelKinds = inverted(MODEL_KIND_NUMBERS);
const trainerIntegers = inverted(fields.TRAINER_INTEGERS);
const trainerFlags = inverted(fields.TRAINER_FLAGS);
const trainerLists = inverted(fields.TRAINER_LISTS);
const trainerStrings = inverted(fields.TRAINER_STRINGS);
const normaliserFlags = inverted(fields.NORMALISER_FLAGS);

function inverted<K extends string>(numbers: Readonly<Record<K, number>>): ReadonlyMap<number, K> {
  const pairs: [number, K][] = [];
  for (const key in numbers) pairs.push([numbers[key], key]);
  return new Map(pairs);
}

/** The model in `bytes`; `source` names the file in errors. */
export function readModel(bytes: Uint8Array, source: string, { maxPieces = MOST_PIECES }: ModelLimits = {}): Model {
  const model: Model = {
    pieces: [],
    trainer: defaultTrainerSpec(),
    normaliser: defaultNormaliserSpec(),
    denormaliser: undefined,
  };
  if (bytes.length === 0) unreadable(source, "an empty file");
  const reader = new ProtoReader(bytes, source);
  const seen = new Set<number>();
  while (!reader.done) {
    seen.add(readModelField(reader, model, source));
    if (model.pieces.length > maxPieces) unreadable(source, `more than ${maxPieces} pieces`, "raise maxPieces");
  }
  checkComplete(seen, source);
  checkModel(model, source);
  return model;
}

function unreadable(source: string, got: string, remedy = "give the .model file, not the .vocab"): never {
  reject({ who: source, needed: "a SentencePiece model", got, remedy });
}

/** A file cut between two pieces still reads well, but what follows the pieces is missing. */
function checkComplete(seen: ReadonlySet<number>, source: string): void {
  const { trainer, normaliser } = fields.MODEL_FIELDS;
  if (!seen.has(trainer) || !seen.has(normaliser)) unreadable(source, "one without its settings, perhaps cut short");
}

/** Reads one field and returns its number. */
function readModelField(reader: ProtoReader, model: Model, source: string): number {
  const { field, wire } = reader.tag();
  if (wire !== WIRE_BYTES) reader.skip(wire);
  else if (field === fields.MODEL_FIELDS.pieces) readPiece(reader.message(), model.pieces, source);
  else if (field === fields.MODEL_FIELDS.trainer) readTrainer(reader.message(), model.trainer, source);
  else if (field === fields.MODEL_FIELDS.normaliser) readNormaliser(reader.message(), model.normaliser);
  else if (field === fields.MODEL_FIELDS.denormaliser) {
    model.denormaliser ??= defaultNormaliserSpec();
    readNormaliser(reader.message(), model.denormaliser);
  } else reader.skip(wire);
  return field;
}

function readPiece(reader: ProtoReader, pieces: Piece[], source: string): void {
  const piece: Piece = { text: "", score: 0, kind: "normal" };
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (field === fields.PIECE_FIELDS.text && wire === WIRE_BYTES) piece.text = reader.string();
    else if (field === fields.PIECE_FIELDS.score && wire === WIRE_FIXED32) piece.score = reader.float();
    else if (field === fields.PIECE_FIELDS.kind && wire === WIRE_VARINT) piece.kind = pieceKind(reader, source);
    else reader.skip(wire);
  }
  checkPiece(piece, pieces.length, source);
  pieces.push(piece);
}

function pieceKind(reader: ProtoReader, source: string): PieceKind {
  const number = reader.integer();
  return pieceKinds.get(number) ?? unreadable(source, `a piece of type ${number}`);
}

function readTrainer(reader: ProtoReader, trainer: TrainerSpec, source: string): void {
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (wire === WIRE_VARINT) readTrainerNumber(reader, field, trainer, source);
    else if (wire === WIRE_BYTES) readTrainerText(reader, field, trainer);
    else if (wire === WIRE_FIXED32 && field === fields.TRAINER_FLOATS.characterCoverage)
      trainer.characterCoverage = reader.float();
    else reader.skip(wire);
  }
}

function readTrainerNumber(reader: ProtoReader, field: number, trainer: TrainerSpec, source: string): void {
  const value = reader.integer();
  const integer = trainerIntegers.get(field);
  const flag = trainerFlags.get(field);
  if (integer) trainer[integer] = value;
  else if (flag) trainer[flag] = value !== 0;
  else if (field === fields.TRAINER_KIND_FIELD) trainer.kind = modelKind(value, source);
}

function modelKind(number: number, source: string): ModelKind {
  return modelKinds.get(number) ?? unreadable(source, `model type ${number}`);
}

function readTrainerText(reader: ProtoReader, field: number, trainer: TrainerSpec): void {
  const list = trainerLists.get(field);
  const text = trainerStrings.get(field);
  if (list) trainer[list].push(reader.string());
  else if (text) trainer[text] = reader.string();
  else reader.skip(WIRE_BYTES);
}

function readNormaliser(reader: ProtoReader, spec: NormaliserSpec): void {
  while (!reader.done) {
    const { field, wire } = reader.tag();
    const flag = normaliserFlags.get(field);
    if (flag && wire === WIRE_VARINT) spec[flag] = reader.integer() !== 0;
    else if (field === fields.NORMALISER_NAME_FIELD && wire === WIRE_BYTES) spec.name = reader.string();
    else if (field === fields.NORMALISER_CHARSMAP_FIELD && wire === WIRE_BYTES) spec.charsmap = reader.bytes();
    else reader.skip(wire);
  }
}

function checkModel(model: Model, source: string): void {
  if (model.pieces.length === 0) unreadable(source, "no pieces");
  const normal = new Set<string>();
  const reserved = new Set<string>();
  for (const piece of model.pieces) {
    const plain = piece.kind === "normal" || piece.kind === "user" || piece.kind === "unused";
    const seen = plain ? normal : reserved;
    if (seen.has(piece.text)) unreadable(source, `piece ${JSON.stringify(piece.text)} twice`);
    seen.add(piece.text);
  }
  checkUnknown(model, source);
  checkBytes(model, source);
  // Unigrams and merges are looked up among normal pieces; characters may all fall back to bytes.
  const needsNone = model.trainer.kind === "char" && model.trainer.byteFallback;
  if (normal.size === 0 && !needsNone) unreadable(source, "only control pieces");
}

function checkPiece(piece: Piece, id: number, source: string): void {
  if (piece.text === "") unreadable(source, `an empty piece (id ${id})`);
  if (piece.text.includes("\0")) unreadable(source, `a NUL character in piece ${id}`);
  if (piece.text.length >= MAXIMUM_PIECE_BYTES)
    unreadable(source, `a piece of ${piece.text.length} characters (id ${id})`);
  if (!Number.isFinite(piece.score)) unreadable(source, `score ${piece.score} of piece ${id}`);
}

function checkUnknown(model: Model, source: string): void {
  const count = model.pieces.filter((piece) => piece.kind === "unknown").length;
  if (count !== 1) unreadable(source, `${count} unknown pieces where one is needed`);
}

function checkBytes(model: Model, source: string): void {
  const bytes = model.pieces.filter((piece) => piece.kind === "byte");
  const found = new Set(bytes.map((piece) => byteOfPiece(piece.text)));
  if (found.has(-1)) unreadable(source, "a byte piece that is not <0x00> … <0xFF>");
  if (model.trainer.byteFallback && found.size !== 256) unreadable(source, `${found.size} byte pieces of 256`);
  if (!model.trainer.byteFallback && found.size > 0) unreadable(source, "byte pieces, though byte fallback is off");
}
