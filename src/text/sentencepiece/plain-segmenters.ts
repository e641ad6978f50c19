/** Segmentation of word and character models: no search, one piece a word or a character. */
import type { DoubleArray } from "./double-array.ts";
import { type Segmenter, Unscored } from "./segmenter.ts";
import { characterLength, SPACE_MARK_BYTES } from "./utf8.ts";

/** Where the unit that starts at `at` ends. */
export type UnitEnd = (text: Uint8Array, at: number, length: number) => number;

function isMark(text: Uint8Array, at: number): boolean {
  return SPACE_MARK_BYTES.every((byte, i) => text[at + i] === byte);
}

/** A word runs up to the next space mark. */
export const wordEnd: UnitEnd = (text, at, length) => {
  let end = at + characterLength(text[at]!);
  while (end < length && !isMark(text, end)) end += characterLength(text[end]!);
  return Math.min(end, length);
};

/** One character, or one of the user's symbols. */
export function characterEnd(symbols: DoubleArray): UnitEnd {
  return (text, at, length) => {
    const symbol = symbols.longest(text, at, length);
    return Math.min(at + (symbol > 0 ? symbol : characterLength(text[at]!)), length);
  };
}

export class PlainSegmenter extends Unscored implements Segmenter {
  readonly #trie: DoubleArray;
  readonly #unitEnd: UnitEnd;
  readonly #unknownId: number;

  constructor(trie: DoubleArray, unitEnd: UnitEnd, unknownId: number) {
    super();
    [this.#trie, this.#unitEnd, this.#unknownId] = [trie, unitEnd, unknownId];
  }

  segment(text: Uint8Array, length: number): number {
    this.reserve(length);
    let count = 0;
    for (let at = 0; at < length; count++) {
      const end = this.#unitEnd(text, at, length);
      const id = this.#trie.find(text, at, end);
      this.ids[count] = id < 0 ? this.#unknownId : id;
      this.ends[count] = end;
      at = end;
    }
    return count;
  }
}
