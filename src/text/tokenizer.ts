/** What the rest of the project asks of a tokenizer, and how one is loaded from the bytes of a SentencePiece model or a tokenizer.json. */
import { rejectFile } from "../base/errors.ts";
import { sha256Of } from "../format/sha256.ts";
import { type ModelLimits, readModel } from "./sentencepiece/model-reader.ts";
import { SentencePieceTokenizer } from "./sentencepiece/tokenizer.ts";
import type { Release } from "./sentencepiece/unigram.ts";

/** Text to ids and back. Ids run from 0 to size - 1. */
export interface Tokenizer {
  readonly size: number;
  readonly unknownId: number;
  /** Ids of the special pieces; -1 where the model has none. */
  readonly padId: number;
  readonly bosId: number;
  readonly eosId: number;
  /** Whether line ends are pieces like others, so that text is read as it stands. Default: false. */
  readonly keepsLineEnds?: boolean | undefined;
  /** The ids of a line, without begin or end markers. */
  encode(text: string): Int32Array;
  /** As `encode`, for bytes that may be invalid UTF-8. */
  encodeBytes(bytes: Uint8Array): Int32Array;
  /** The pieces of a line; a run of unknown characters is one piece, its own text. */
  encodePieces(line: string | Uint8Array): string[];
  decode(ids: ArrayLike<number>): string;
  decodePieces(pieces: readonly string[]): string;
  /** The piece with this id; an id out of range is an error. */
  pieceOf(id: number): string;
  /** The id of a piece; the unknown id if there is no such piece. */
  idOf(piece: string): number;
  /** The text that `decode(encode(text))` gives back where nothing is unknown. */
  normalise(text: string): string;
}

/** The tokenizer in the bytes of a `.model`; `source` names the file in errors, `release` whose way with ties to follow. */
export function loadTokenizer(
  bytes: Uint8Array,
  source: string,
  release: Release = "0.2.2",
  limits: ModelLimits = {},
): Tokenizer {
  if (isTokenizerJson(bytes)) {
    const remedy = "open it with openTokenizer or tokenizerFromBytes";
    rejectFile({ who: source, needed: "a SentencePiece model", got: "JSON", remedy });
  }
  return new SentencePieceTokenizer(readModel(bytes, source, limits), source, release);
}

/** Whether bytes are those of a tokenizer.json: no SentencePiece model begins with a brace. */
export const isTokenizerJson = (bytes: Uint8Array): boolean =>
  bytes[bytes.findIndex((byte) => byte > 32)] === "{".charCodeAt(0);

/** The name under which a folder keeps a tokenizer's bytes for other programs. */
export const tokenizerFileName = (bytes: Uint8Array): string =>
  isTokenizerJson(bytes) ? "tokenizer.json" : "tokenizer.model";

/** The tokenizer in the bytes of a SentencePiece model or of a tokenizer.json with byte-level byte-pair encoding. */
export async function readTokenizer(bytes: Uint8Array, source: string, release?: Release): Promise<Tokenizer> {
  if (!isTokenizerJson(bytes)) return loadTokenizer(bytes, source, release);
  const { byteLevelTokenizer } = await import("./byte-level/byte-level.ts");
  return byteLevelTokenizer(bytes, source);
}

/** A tokenizer with its model: the bytes to keep with what is made with it, and the hash that identifies it. */
export interface OpenTokenizer {
  readonly tokenizer: Tokenizer;
  /** SHA-256 of the model's bytes. */
  readonly sha256: string;
  readonly bytes: Uint8Array;
  readonly name: string;
}

/** The tokenizer in the bytes of a `.model` file or a tokenizer.json. */
export async function tokenizerFromBytes(bytes: Uint8Array, name = "tokenizer"): Promise<OpenTokenizer> {
  const kept = Uint8Array.from(bytes);
  return { tokenizer: await readTokenizer(kept, name), sha256: await sha256Of(kept), bytes: kept, name };
}
