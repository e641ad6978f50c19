/** What cuts normalised text into pieces: the interface shared by unigram, BPE, word and character models. */

/** Cuts into buffers of its own, which the next call overwrites. */
export interface Segmenter {
  /** Ids of the pieces found; an unknown character is a piece of its own. */
  readonly ids: Int32Array;
  /** Where each piece ends, in bytes. */
  readonly ends: Int32Array;
  /**
   * By how much the best segmentation beat every other one. Scores are 32-bit sums, so a small lead may turn where the sum
   * began at another value; Infinity if the result does not depend on it.
   */
  readonly lead: number;
  /** The sum at the end of the text. */
  readonly endScore: number;
  /** Cuts text[0, length), the scores being summed from `startScore` on; returns how many pieces there are. */
  segment(text: Uint8Array, length: number, startScore: number): number;
  /** The score that piece `id` adds to the sum. */
  scoreOf(id: number): number;
}

/** What segmenters have whose cuts do not depend on scores. */
export abstract class Unscored {
  readonly lead = Number.POSITIVE_INFINITY;
  readonly endScore = 0;
  ids = new Int32Array(0);
  ends = new Int32Array(0);

  scoreOf(): number {
    return 0;
  }

  /** Room for pieces of so many bytes; gives the new capacity where there was too little. */
  protected reserve(length: number): number | undefined {
    if (length <= this.ids.length) return undefined;
    const room = roomFor(length);
    this.ids = new Int32Array(room);
    this.ends = new Int32Array(room);
    return room;
  }
}

/** Capacity for `needed` items, with room to grow. */
export function roomFor(needed: number): number {
  return Math.max(256, needed + (needed >> 1));
}
