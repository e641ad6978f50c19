/** A SentencePiece model at work: encodes, decodes, and knows its pieces. */
import { rejectData } from "../../base/errors.ts";
import { BpeSegmenter } from "./bpe.ts";
import { decodePieces } from "./decoder.ts";
import type { DoubleArray } from "./double-array.ts";
import { buildDoubleArray } from "./double-array-builder.ts";
import { Encoder, type EncoderParts } from "./encoder.ts";
import { byteOfPiece, bytePiece, type Model, type PieceKind } from "./model.ts";
import { Normaliser } from "./normaliser.ts";
import { characterEnd, PlainSegmenter, wordEnd } from "./plain-segmenters.ts";
import type { Segmenter } from "./segmenter.ts";
import { type Release, UnigramSegmenter } from "./unigram.ts";
import { SPACE_MARK, toBytes, toText } from "./utf8.ts";

/** Encodes, decodes and looks up; `source` names the model in errors. */
export class SentencePieceTokenizer {
  readonly model: Model;
  readonly size: number;
  readonly unknownId: number;
  readonly padId: number;
  readonly bosId: number;
  readonly eosId: number;
  readonly #source: string;
  readonly #ids = new Map<string, number>();
  readonly #normaliser: Normaliser;
  readonly #denormaliser: Normaliser | undefined;
  /** Whose way with ties it follows. */
  readonly release: Release;
  #made: Encoder | undefined;

  constructor(model: Model, source: string, release: Release = "0.2.2") {
    this.model = model;
    this.#source = source;
    this.release = release;
    this.size = model.pieces.length;
    this.unknownId = model.pieces.findIndex((piece) => piece.kind === "unknown");
    this.#indexPieces();
    this.padId = this.#specialId(model.trainer.padPiece);
    this.bosId = this.#specialId(model.trainer.bosPiece);
    this.eosId = this.#specialId(model.trainer.eosPiece);
    this.#normaliser = normaliserOf(model, source);
    this.#denormaliser =
      model.denormaliser && model.denormaliser.charsmap.length > 0
        ? new Normaliser(model.denormaliser, [], false, source)
        : undefined;
  }

  /** Made at the first use: where a text's ids are cached, nothing is encoded. */
  get #encoder(): Encoder {
    this.#made ??= new Encoder(encoderParts(this.model, this.#normaliser, this.release));
    return this.#made;
  }

  encode(text: string): Int32Array {
    return this.#encoder.encode(text);
  }

  encodeBytes(bytes: Uint8Array): Int32Array {
    return this.#encoder.encodeBytes(bytes);
  }

  encodePieces(line: string | Uint8Array): string[] {
    const pieces: string[] = [];
    let afterUnknown = false;
    this.#encoder.visit(line, (id, bytes, from, to) => {
      const unknown = id === this.unknownId;
      if (unknown && this.model.trainer.byteFallback) {
        for (let i = from; i < to; i++) pieces.push(bytePiece(bytes[i]!));
      } else {
        const surface = toText(bytes.subarray(from, to));
        if (unknown && afterUnknown) pieces[pieces.length - 1] += surface;
        else pieces.push(surface);
      }
      afterUnknown = unknown;
    });
    return pieces;
  }

  decode(ids: ArrayLike<number>): string {
    const texts: string[] = [];
    for (let i = 0; i < ids.length; i++) texts.push(this.pieceOf(ids[i]!));
    return this.#denormalised(decodePieces(this.model, texts, ids));
  }

  decodePieces(pieces: readonly string[]): string {
    const ids = pieces.map((piece) => this.idOf(piece));
    return this.#denormalised(decodePieces(this.model, pieces, ids));
  }

  pieceOf(id: number): string {
    const piece = this.model.pieces[id];
    if (piece === undefined) {
      rejectData({ who: this.#source, needed: `an id from 0 to ${this.size - 1}`, got: String(id) });
    }
    return piece.text;
  }

  idOf(piece: string): number {
    return this.#ids.get(piece) ?? this.unknownId;
  }

  normalise(text: string): string {
    const input = toBytes(text);
    const length = this.#normaliser.run(input, input.length);
    const marked = toText(this.#normaliser.output.subarray(0, length));
    const { addDummyPrefix, removeExtraWhitespaces } = this.model.normaliser;
    const strip = (addDummyPrefix || removeExtraWhitespaces) && marked.startsWith(SPACE_MARK);
    return (strip ? marked.slice(1) : marked).replaceAll(SPACE_MARK, " ");
  }

  /** Control, unknown and byte pieces take precedence over plain ones of the same text. */
  #indexPieces(): void {
    const plain = new Set(["normal", "user", "unused"]);
    for (const [id, piece] of this.model.pieces.entries()) if (plain.has(piece.kind)) this.#ids.set(piece.text, id);
    for (const [id, piece] of this.model.pieces.entries()) if (!plain.has(piece.kind)) this.#ids.set(piece.text, id);
  }

  #specialId(piece: string): number {
    const id = this.#ids.get(piece) ?? -1;
    return id >= 0 && this.model.pieces[id]!.kind === "control" ? id : -1;
  }

  #denormalised(text: string): string {
    if (this.#denormaliser === undefined) return text;
    const bytes = toBytes(text);
    const length = this.#denormaliser.run(bytes, bytes.length);
    return toText(this.#denormaliser.output.subarray(0, length));
  }
}

function symbolsOf(model: Model): string[] {
  return model.pieces.filter((piece) => piece.kind === "user").map((piece) => piece.text);
}

/** What rewrites text for the model; `source` names it in errors. */
export function normaliserOf(model: Model, source: string): Normaliser {
  return new Normaliser(model.normaliser, symbolsOf(model), model.trainer.whitespaceAsSuffix, source);
}

/** What an encoder for the model works with. */
export function encoderParts(model: Model, normaliser: Normaliser, release: Release): EncoderParts {
  const unknownId = model.pieces.findIndex((piece) => piece.kind === "unknown");
  return {
    normaliser,
    segmenter: segmenterOf(model, unknownId, release),
    unknownId,
    byteIds: byteIdsOf(model),
    wordwise: normaliser.isWordwise(symbolsOf(model)) && hasLeadingMarksOnly(model),
  };
}

function pieceTrie(model: Model, kinds: readonly PieceKind[]): DoubleArray {
  const entries = [];
  for (const [value, piece] of model.pieces.entries()) {
    if (kinds.includes(piece.kind)) entries.push({ key: toBytes(piece.text), value });
  }
  return buildDoubleArray(entries);
}

function segmenterOf(model: Model, unknownId: number, release: Release): Segmenter {
  const trie = pieceTrie(model, ["normal", "user", "unused"]);
  const symbols = pieceTrie(model, ["user"]);
  switch (model.trainer.kind) {
    case "unigram":
      return new UnigramSegmenter(trie, model.pieces, unknownId, release);
    case "bpe":
      return new BpeSegmenter(trie, symbols, model.pieces, unknownId);
    case "word":
      return new PlainSegmenter(trie, wordEnd, unknownId);
    case "char":
      return new PlainSegmenter(trie, characterEnd(symbols), unknownId);
  }
}

function byteIdsOf(model: Model): Int32Array | undefined {
  if (!model.trainer.byteFallback) return undefined;
  const ids = new Int32Array(256);
  for (const [id, piece] of model.pieces.entries()) if (piece.kind === "byte") ids[byteOfPiece(piece.text)] = id;
  return ids;
}

/** Words can be cut one by one only if no piece reaches over a space. */
function hasLeadingMarksOnly(model: Model): boolean {
  return model.pieces.every((piece) => piece.text.lastIndexOf(SPACE_MARK) <= 0);
}
