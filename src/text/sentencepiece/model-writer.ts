/** Writes a model as a SentencePiece `.model` and as a `.vocab`. */
import { ProtoWriter } from "../../format/protobuf.ts";
import {
  MODEL_KIND_NUMBERS,
  type Model,
  type NormaliserSpec,
  PIECE_KIND_NUMBERS,
  type Piece,
  type TrainerSpec,
} from "./model.ts";
import * as fields from "./model-fields.ts";

/** The bytes of a `.model` that the real SentencePiece loads. */
export function writeModel(model: Model): Uint8Array<ArrayBuffer> {
  const writer = new ProtoWriter();
  for (const piece of model.pieces) writer.message(fields.MODEL_FIELDS.pieces, (inner) => writePiece(inner, piece));
  writer.message(fields.MODEL_FIELDS.trainer, (inner) => writeTrainer(inner, model.trainer));
  writer.message(fields.MODEL_FIELDS.normaliser, (inner) => writeNormaliser(inner, model.normaliser));
  const { denormaliser } = model;
  if (denormaliser) writer.message(fields.MODEL_FIELDS.denormaliser, (inner) => writeNormaliser(inner, denormaliser));
  return writer.finish();
}

/** The text of a `.vocab`: piece, tab, score, one line each. */
export function writeVocabulary(model: Model): string {
  return model.pieces.map((piece) => `${piece.text}\t${Number(piece.score.toPrecision(6))}\n`).join("");
}

function writePiece(writer: ProtoWriter, piece: Piece): void {
  writer.string(fields.PIECE_FIELDS.text, piece.text).float(fields.PIECE_FIELDS.score, piece.score);
  if (piece.kind !== "normal") writer.integer(fields.PIECE_FIELDS.kind, PIECE_KIND_NUMBERS[piece.kind]);
}

function writeTrainer(writer: ProtoWriter, trainer: TrainerSpec): void {
  writer.integer(fields.TRAINER_KIND_FIELD, MODEL_KIND_NUMBERS[trainer.kind]);
  for (const [key, field] of entries(fields.TRAINER_INTEGERS)) writer.integer(field, trainer[key]);
  for (const [key, field] of entries(fields.TRAINER_FLOATS)) writer.float(field, trainer[key]);
  for (const [key, field] of entries(fields.TRAINER_FLAGS)) writer.integer(field, trainer[key] ? 1 : 0);
  for (const [key, field] of entries(fields.TRAINER_STRINGS)) writer.string(field, trainer[key]);
  for (const [key, field] of entries(fields.TRAINER_LISTS)) {
    for (const text of trainer[key]) writer.string(field, text);
  }
}

function writeNormaliser(writer: ProtoWriter, spec: NormaliserSpec): void {
  writer.string(fields.NORMALISER_NAME_FIELD, spec.name).bytes(fields.NORMALISER_CHARSMAP_FIELD, spec.charsmap);
  for (const [key, field] of entries(fields.NORMALISER_FLAGS)) writer.integer(field, spec[key] ? 1 : 0);
}

function entries<K extends string>(numbers: Readonly<Record<K, number>>): [K, number][] {
  const pairs: [K, number][] = [];
  for (const key in numbers) pairs.push([key, numbers[key]]);
  return pairs;
}
