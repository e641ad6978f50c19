/** Counts the words of a text line by line, so that a corpus of any size takes memory only for its distinct words. */

import type { NormaliserSpec } from "../model.ts";
import { Normaliser } from "../normaliser.ts";
import { SPACE_MARK, toBytes, toText } from "../utf8.ts";

/** Words longer than this (in UTF-16 units) are left out, as SentencePiece leaves out long lines. */
const LONGEST_WORD = 4192;
/** V8 keeps the whole line alive for a slice of at least this many characters. */
const SLICE_LENGTH = 13;

export class WordCounts {
  readonly #normaliser: Normaliser;
  readonly #wordwise: boolean;
  readonly #splits: boolean;
  /** Words as they stand in the text, and words or lines that had to be normalised at once. */
  readonly #raw = new Map<string, number>();
  readonly #normal = new Map<string, number>();
  lines = 0;
  /** Words that were too long. */
  skipped = 0;

  constructor(spec: NormaliserSpec, splitByWhitespace: boolean) {
    this.#normaliser = new Normaliser(spec, [], false, "normalisation");
    this.#splits = splitByWhitespace;
    this.#wordwise = splitByWhitespace && this.#normaliser.isWordwise([]);
  }

  /** Counts the words of one line. */
  add(line: string): void {
    this.lines++;
    if (!this.#wordwise || line.includes(SPACE_MARK)) {
      this.#addNormal(line, 1, this.#normal);
      return;
    }
    for (const word of line.split(" ")) if (word !== "") this.#count(this.#raw, word, 1);
  }

  /** Normalised words, each with its space mark in front, and how often they occurred. */
  finish(): Map<string, number> {
    const counts = new Map(this.#normal);
    for (const [word, count] of this.#raw) this.#addNormal(word, count, counts);
    return counts;
  }

  #addNormal(text: string, count: number, counts: Map<string, number>): void {
    const bytes = toBytes(text);
    const length = this.#normaliser.run(bytes, bytes.length);
    const normal = toText(this.#normaliser.output.subarray(0, length));
    for (const word of this.#splits ? wordsOf(normal) : [normal]) if (word !== "") this.#count(counts, word, count);
  }

  #count(counts: Map<string, number>, word: string, count: number): void {
    const known = counts.get(word);
    if (known !== undefined) counts.set(word, known + count);
    else if (word.length > LONGEST_WORD) this.skipped += count;
    else counts.set(word.length < SLICE_LENGTH ? word : copied(word), count);
  }
}

function copied(word: string): string {
  return toText(toBytes(word));
}

/** Cuts before each space mark. */
function wordsOf(normal: string): string[] {
  return normal.split(new RegExp(`(?=${SPACE_MARK})`, "u"));
}
