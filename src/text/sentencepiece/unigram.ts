/** Unigram segmentation: the best path over pieces by Viterbi, with the 32-bit sums of the real SentencePiece. */
import { type DoubleArray, KEY_ENDS, labelOf, offsetOf } from "./double-array.ts";
import type { Piece } from "./model.ts";
import { roomFor, type Segmenter } from "./segmenter.ts";
import { characterLength, toBytes } from "./utf8.ts";

/**
 * Whose arithmetic to follow. Release 0.2.2 sums in 32 bits throughout, and a user's symbol scores 0.1 for each byte after
 * its first; up to 0.2.0 a sum was compared in 64 bits before it was stored in 32, and a symbol scored -0.1. They differ
 * where two segmentations tie, and where a symbol overlaps a good piece.
 */
export type Release = "0.2.2" | "0.2.0";

/** An unknown character scores this much below the worst piece. */
const UNKNOWN_PENALTY = 10;
const GREATEST_FLOAT = 3.4028234663852886e38;
const TENTH = Math.fround(0.1);

function symbolScore(text: string, release: Release): number {
  return release === "0.2.2" ? Math.fround(Math.fround(toBytes(text).length * TENTH) - TENTH) : -0.1;
}

/** The scores of all pieces as the search adds them; -Infinity for pieces that are never produced. */
function searchScores(pieces: readonly Piece[], unknownId: number, release: Release): Float64Array {
  let least = GREATEST_FLOAT;
  const scores = new Float64Array(pieces.length).fill(Number.NEGATIVE_INFINITY);
  for (const [id, piece] of pieces.entries()) {
    if (piece.kind === "user") scores[id] = symbolScore(piece.text, release);
    if (piece.kind !== "normal") continue;
    scores[id] = piece.score;
    least = Math.min(least, piece.score);
  }
  scores[unknownId] = Math.fround(least - UNKNOWN_PENALTY);
  return scores;
}

export class UnigramSegmenter implements Segmenter {
  readonly #trie: DoubleArray;
  readonly #scores: Float64Array;
  readonly #unknownId: number;
  readonly #single: boolean;
  /** For each end of a path, in bytes: the best sum, the second best, where the last piece starts, and which it is. */
  #best = new Float32Array(0);
  #second = new Float64Array(0);
  #starts = new Int32Array(0);
  #last = new Int32Array(0);
  ids = new Int32Array(0);
  ends = new Int32Array(0);
  lead = 0;
  endScore = 0;

  constructor(trie: DoubleArray, pieces: readonly Piece[], unknownId: number, release: Release) {
    this.#trie = trie;
    this.#single = release === "0.2.2";
    this.#scores = searchScores(pieces, unknownId, release);
    this.#unknownId = unknownId;
  }

  scoreOf(id: number): number {
    return this.#scores[id]!;
  }

  segment(text: Uint8Array, length: number, startScore: number): number {
    this.#reserve(length);
    this.#starts.fill(-1, 0, length + 1);
    this.#best[0] = startScore;
    for (let at = 0; at < length; ) at = this.#extend(text, at, length);
    this.endScore = this.#best[length]!;
    return this.#backtrack(length);
  }

  /** Extends the path that ends at `at` by every piece that starts there; returns where the next character starts. */
  #extend(text: Uint8Array, at: number, length: number): number {
    const units = this.#trie.units;
    const scores = this.#scores;
    const single = this.#single;
    const sum = this.#best[at]!;
    const next = Math.min(at + characterLength(text[at]!), length);
    let state = this.#trie.start;
    let coversCharacter = false;
    for (let i = at; i < length; i++) {
      const byte = text[i]!;
      const node = state ^ byte;
      if (node >= units.length) break;
      const unit = units[node]!;
      if (labelOf(unit) !== byte) break;
      state = node ^ offsetOf(unit);
      if ((unit & KEY_ENDS) === 0) continue;
      const id = units[state]! & 0x7fffffff;
      const score = scores[id]!;
      if (score === Number.NEGATIVE_INFINITY) continue;
      this.#offer(i + 1, single ? Math.fround(score + sum) : score + sum, at, id);
      if (i + 1 === next) coversCharacter = true;
    }
    if (!coversCharacter) this.#offer(next, Math.fround(scores[this.#unknownId]! + sum), at, this.#unknownId);
    return next;
  }

  #offer(end: number, candidate: number, start: number, id: number): void {
    const known = this.#starts[end]! >= 0;
    const best = this.#best[end]!;
    if (known && !(candidate > best)) {
      if (candidate > this.#second[end]!) this.#second[end] = candidate;
      return;
    }
    this.#second[end] = known ? best : Number.NEGATIVE_INFINITY;
    this.#best[end] = candidate;
    this.#starts[end] = start;
    this.#last[end] = id;
  }

  /** Any other path joins the best one for the last time at some end on it, and there it is second at most. */
  #backtrack(length: number): number {
    let count = 0;
    let lead = Number.POSITIVE_INFINITY;
    for (let end = length; end > 0; end = this.#starts[end]!) {
      count++;
      lead = Math.min(lead, this.#best[end]! - this.#second[end]!);
    }
    for (let end = length, i = count - 1; end > 0; end = this.#starts[end]!, i--) {
      this.ids[i] = this.#last[end]!;
      this.ends[i] = end;
    }
    this.lead = lead;
    return count;
  }

  #reserve(length: number): void {
    if (length < this.#best.length) return;
    const room = roomFor(length + 1);
    this.#best = new Float32Array(room);
    this.#second = new Float64Array(room);
    this.#starts = new Int32Array(room);
    this.#last = new Int32Array(room);
    this.ids = new Int32Array(room);
    this.ends = new Int32Array(room);
  }
}
