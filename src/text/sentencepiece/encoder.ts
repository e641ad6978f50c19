/** Text to ids: normalise and segment, word by word with a cache where that is exact, else line by line. */
import type { Normaliser } from "./normaliser.ts";
import type { Segmenter } from "./segmenter.ts";
import { SPACE, SPACE_MARK } from "./utf8.ts";
import { hashStep, LONGEST_CACHED_WORD, WordCache } from "./word-cache.ts";

const utf8 = new TextEncoder();

/** What the encoder needs to know of a model. */
export interface EncoderParts {
  normaliser: Normaliser;
  segmenter: Segmenter;
  unknownId: number;
  /** Ids of the 256 byte pieces, or nothing without byte fallback. */
  byteIds: Int32Array | undefined;
  /** Whether words, each with the mark before it, may be cut one by one. */
  wordwise: boolean;
}

/** One piece of a segmentation, with its text for pieces that are unknown. */
export type PieceVisitor = (id: number, bytes: Uint8Array, from: number, to: number) => void;

export class Encoder {
  readonly #parts: EncoderParts;
  readonly #cache = new WordCache();
  #input = new Uint8Array(1024);
  #output = new Int32Array(1024);
  #count = 0;
  /** The exact 32-bit sum of scores, but for the cached words that were appended since. */
  #exactScore = 0;
  #sinceExact: number[] = [];

  constructor(parts: EncoderParts) {
    this.#parts = parts;
  }

  /** How many words the cache holds; 0 where lines are encoded whole. */
  get cachedWords(): number {
    return this.#cache.size;
  }

  /** The ids of a line. */
  encode(text: string): Int32Array {
    this.#count = 0;
    if (!this.#parts.wordwise || !this.#encodeWords(text)) {
      this.#count = 0;
      this.#encodeInput(this.#load(text, 0, text.length), 0);
    }
    return this.#output.slice(0, this.#count);
  }

  /** The ids of a line given as bytes, which need not be valid UTF-8. */
  encodeBytes(bytes: Uint8Array): Int32Array {
    this.#count = 0;
    this.#encodeInput(this.#loadBytes(bytes), 0);
    return this.#output.slice(0, this.#count);
  }

  /** Segments a line and shows each piece, unknown characters one by one. */
  visit(line: string | Uint8Array, visitor: PieceVisitor): void {
    const { normaliser, segmenter } = this.#parts;
    const inputLength = typeof line === "string" ? this.#load(line, 0, line.length) : this.#loadBytes(line);
    const length = normaliser.run(this.#input, inputLength);
    const count = segmenter.segment(normaliser.output, length, 0);
    for (let i = 0, from = 0; i < count; i++) {
      const to = segmenter.ends[i]!;
      visitor(segmenter.ids[i]!, normaliser.output, from, to);
      from = to;
    }
  }

  /** Encodes word by word; false if the text holds a literal space mark, which only the whole line can show right. */
  #encodeWords(text: string): boolean {
    const cache = this.#cache;
    this.#exactScore = 0;
    this.#sinceExact.length = 0;
    let cost = 0;
    for (let at = 0; at < text.length; ) {
      let unit = text.charCodeAt(at);
      if (unit === SPACE) {
        at++;
        continue;
      }
      const from = at;
      let hash = 0;
      do {
        hash = hashStep(hash, unit);
        unit = ++at < text.length ? text.charCodeAt(at) : SPACE;
      } while (unit !== SPACE);
      let entry = cache.find(text, from, at, hash);
      if (entry < 0 && at - from <= LONGEST_CACHED_WORD) {
        entry = this.#learn(text, from, at, hash);
        if (entry < 0) return false;
      }
      if (entry >= 0 && cost < cache.limits[entry]!) {
        cost += cache.costs[entry]!;
        this.#appendCached(entry);
      } else {
        if (entry < 0 && text.slice(from, at).includes(SPACE_MARK)) return false;
        this.#synchronise();
        this.#encodeInput(this.#load(text, from, at), this.#exactScore);
        cost = Math.abs(this.#exactScore);
      }
    }
    return true;
  }

  #appendCached(entry: number): void {
    const { ids, idStarts } = this.#cache;
    const { unknownId } = this.#parts;
    const begin = idStarts[entry]!;
    const end = idStarts[entry + 1]!;
    this.#reserveOutput(end - begin);
    const output = this.#output;
    let count = this.#count;
    for (let i = begin; i < end; i++) {
      const id = ids[i]!;
      if (id !== unknownId || count === 0 || output[count - 1] !== unknownId) output[count++] = id;
    }
    this.#count = count;
    this.#sinceExact.push(entry);
  }

  /** Puts a word into the cache and returns its entry; -1 if it holds a space mark. */
  #learn(text: string, from: number, to: number, hash: number): number {
    const inputLength = this.#load(text, from, to);
    if (inputLength > to - from && text.slice(from, to).includes(SPACE_MARK)) return -1;
    if (this.#cache.isFull) this.#synchronise();
    const { normaliser, segmenter, unknownId, byteIds } = this.#parts;
    const length = normaliser.run(this.#input, inputLength);
    const count = segmenter.segment(normaliser.output, length, 0);
    const ids = segmenter.ids.subarray(0, count);
    const cost = count === 0 ? 0 : Math.abs(segmenter.endScore);
    const inBytes = byteIds !== undefined && ids.includes(unknownId);
    const limit = inBytes ? -1 : safeCost(count === 0 ? Infinity : segmenter.lead, length, cost);
    return this.#cache.add(text, from, to, hash, ids, cost, limit);
  }

  /** Brings the exact sum up to the end of the output. */
  #synchronise(): void {
    const { ids, idStarts } = this.#cache;
    let sum = this.#exactScore;
    for (const entry of this.#sinceExact) {
      const end = idStarts[entry + 1]!;
      for (let i = idStarts[entry]!; i < end; i++) sum = Math.fround(sum + this.#parts.segmenter.scoreOf(ids[i]!));
    }
    this.#exactScore = sum;
    this.#sinceExact.length = 0;
  }

  /** Normalises and segments input[0, length), the sum of scores standing at `startScore`. */
  #encodeInput(length: number, startScore: number): void {
    const { normaliser, segmenter } = this.#parts;
    const normalLength = normaliser.run(this.#input, length);
    if (normalLength === 0) return;
    const count = segmenter.segment(normaliser.output, normalLength, startScore);
    this.#reserveOutput(this.#parts.byteIds === undefined ? count : normalLength);
    for (let i = 0, from = 0; i < count; i++) {
      const to = segmenter.ends[i]!;
      if (segmenter.ids[i] === this.#parts.unknownId) this.#appendUnknown(normaliser.output, from, to);
      else this.#output[this.#count++] = segmenter.ids[i]!;
      from = to;
    }
    this.#exactScore = segmenter.endScore;
  }

  /** Unknown characters become bytes, or one unknown id for a whole run of them. */
  #appendUnknown(bytes: Uint8Array, from: number, to: number): void {
    const { byteIds, unknownId } = this.#parts;
    if (byteIds !== undefined) {
      for (let i = from; i < to; i++) this.#output[this.#count++] = byteIds[bytes[i]!]!;
    } else if (this.#count === 0 || this.#output[this.#count - 1] !== unknownId)
      this.#output[this.#count++] = unknownId;
  }

  /** Puts text[from, to) into the input as UTF-8; most words are ASCII and need no encoder. */
  #load(text: string, from: number, to: number): number {
    this.#reserveInput((to - from) * 3);
    const input = this.#input;
    let at = from;
    for (; at < to; at++) {
      const unit = text.charCodeAt(at);
      if (unit >= 0x80) break;
      input[at - from] = unit;
    }
    if (at === to) return to - from;
    return at - from + utf8.encodeInto(text.slice(at, to), input.subarray(at - from)).written;
  }

  #loadBytes(bytes: Uint8Array): number {
    this.#reserveInput(bytes.length);
    this.#input.set(bytes);
    return bytes.length;
  }

  #reserveInput(length: number): void {
    if (length > this.#input.length) this.#input = new Uint8Array(length + (length >> 1));
  }

  #reserveOutput(extra: number): void {
    if (this.#count + extra <= this.#output.length) return;
    const grown = new Int32Array(Math.max(this.#output.length * 2, this.#count + extra));
    grown.set(this.#output.subarray(0, this.#count));
    this.#output = grown;
  }
}

/**
 * Up to which running cost a word's segmentation cannot turn. Every one of at most `length` additions errs by less than
 * 2^-24 of the sum on either of two paths; the bound keeps a factor of two in hand.
 */
function safeCost(lead: number, length: number, cost: number): number {
  return (lead * 2 ** 22) / (length + 1) - 2 * cost;
}
