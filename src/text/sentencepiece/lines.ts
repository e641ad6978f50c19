/** Lines of text to lines of ids or pieces, and back: what the commands print. */
import { rejectData } from "../../base/errors.ts";
import type { SentencePieceTokenizer } from "./tokenizer.ts";
import { toText } from "./utf8.ts";

/** What lines are encoded and decoded with. */
export type Codec = Pick<
  SentencePieceTokenizer,
  "encode" | "encodeBytes" | "encodePieces" | "decode" | "decodePieces" | "size"
>;

/** Turns the bytes of a line into a line; `place` names it in errors. */
export type LineTurner = (line: Uint8Array, place: string) => string;

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of a line, or nothing if it is not valid UTF-8. */
function validText(line: Uint8Array): string | undefined {
  try {
    return strict.decode(line);
  } catch {
    return undefined;
  }
}

/** Space-separated ids, or pieces; each byte that is not UTF-8 counts as one replacement character. */
export function lineEncoder(tokenizer: Codec, pieces: boolean): LineTurner {
  return (line) => {
    const text = validText(line);
    if (pieces) return tokenizer.encodePieces(text ?? line).join(" ");
    return (text === undefined ? tokenizer.encodeBytes(line) : tokenizer.encode(text)).join(" ");
  };
}

/** The inverse of `lineEncoder`. Pieces are parted by single spaces only, since any other character may be in one. */
export function lineDecoder(tokenizer: Codec, pieces: boolean): LineTurner {
  return (line, place) => {
    const words = toText(line)
      .split(pieces ? " " : /\s+/u)
      .filter((word) => word !== "");
    return pieces ? tokenizer.decodePieces(words) : tokenizer.decode(words.map((word) => idIn(word, place, tokenizer)));
  };
}

function idIn(word: string, place: string, { size }: Codec): number {
  const id = Number(word);
  if (Number.isInteger(id) && id >= 0 && id < size) return id;
  return rejectData({ who: place, needed: `ids from 0 to ${size - 1}`, got: JSON.stringify(word.slice(0, 40)) });
}
