/** BPE segmentation: neighbouring symbols are merged, best score first and leftmost first among equals. */
import type { DoubleArray } from "./double-array.ts";
import type { Piece } from "./model.ts";
import { type Segmenter, Unscored } from "./segmenter.ts";
import { characterLength } from "./utf8.ts";

/** A merge that may be made: the symbols at `left` and `right` into a piece of `size` bytes. */
interface Merge {
  left: number;
  right: number;
  score: number;
  size: number;
}

function isBefore(a: Merge, b: Merge): boolean {
  return a.score > b.score || (a.score === b.score && a.left < b.left);
}

/** A binary heap of merges, the next one on top. */
class Agenda {
  readonly #heap: Merge[] = [];

  get size(): number {
    return this.#heap.length;
  }

  push(merge: Merge): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(merge);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(merge, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = merge;
  }

  pop(): Merge {
    const heap = this.#heap;
    const top = heap[0]!;
    const last = heap.pop()!;
    if (heap.length > 0) this.#sink(last);
    return top;
  }

  #sink(merge: Merge): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, merge)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = merge;
  }
}

export class BpeSegmenter extends Unscored implements Segmenter {
  readonly #trie: DoubleArray;
  readonly #symbols: DoubleArray;
  readonly #pieces: readonly Piece[];
  readonly #unknownId: number;
  /** Per symbol: first byte, size in bytes (0 once merged away), neighbours, and whether it may be merged. */
  #begin = new Int32Array(0);
  #size = new Int32Array(0);
  #previous = new Int32Array(0);
  #next = new Int32Array(0);
  #frozen = new Uint8Array(0);
  #text: Uint8Array = new Uint8Array(0);
  /** For pieces that are not to be used: the size of the left part they were last merged from. */
  readonly #leftSize = new Map<number, number>();

  constructor(trie: DoubleArray, symbols: DoubleArray, pieces: readonly Piece[], unknownId: number) {
    super();
    [this.#trie, this.#symbols, this.#pieces, this.#unknownId] = [trie, symbols, pieces, unknownId];
  }

  segment(text: Uint8Array, length: number): number {
    this.#makeRoom(length);
    this.#text = text;
    this.#leftSize.clear();
    const count = this.#split(length);
    this.#mergeAll(count);
    let written = 0;
    for (let symbol = count === 0 ? -1 : 0; symbol >= 0; symbol = this.#next[symbol]!) {
      written = this.#emit(this.#begin[symbol]!, this.#size[symbol]!, written);
    }
    return written;
  }

  /** Symbols at first: the user's symbols, which stay whole, and single characters. */
  #split(length: number): number {
    let count = 0;
    for (let at = 0; at < length; count++) {
      const symbol = this.#symbols.longest(this.#text, at, length);
      this.#begin[count] = at;
      this.#size[count] = symbol > 0 ? symbol : Math.min(characterLength(this.#text[at]!), length - at);
      this.#frozen[count] = symbol > 0 ? 1 : 0;
      this.#previous[count] = count - 1;
      at += this.#size[count]!;
      this.#next[count] = at < length ? count + 1 : -1;
    }
    return count;
  }

  #mergeAll(count: number): void {
    const agenda = new Agenda();
    for (let i = 1; i < count; i++) this.#propose(agenda, i - 1, i);
    while (agenda.size > 0) {
      const { left, right, size } = agenda.pop();
      if (this.#size[left] === 0 || this.#size[right] === 0 || this.#size[left]! + this.#size[right]! !== size)
        continue;
      this.#size[left] = size;
      this.#size[right] = 0;
      const after = this.#next[right]!;
      this.#next[left] = after;
      if (after >= 0) this.#previous[after] = left;
      this.#propose(agenda, this.#previous[left]!, left);
      this.#propose(agenda, left, after);
    }
  }

  #propose(agenda: Agenda, left: number, right: number): void {
    if (left < 0 || right < 0 || this.#frozen[left] || this.#frozen[right]) return;
    const begin = this.#begin[left]!;
    const size = this.#size[left]! + this.#size[right]!;
    const id = this.#trie.find(this.#text, begin, begin + size);
    if (id < 0) return;
    const piece = this.#pieces[id]!;
    agenda.push({ left, right, score: piece.score, size });
    if (piece.kind === "unused") this.#leftSize.set(id, this.#size[left]!);
  }

  /** Writes a symbol's id, or the parts of a symbol that is not to be used. */
  #emit(begin: number, size: number, written: number): number {
    const id = this.#trie.find(this.#text, begin, begin + size);
    const leftSize = id >= 0 && this.#pieces[id]!.kind === "unused" ? this.#leftSize.get(id) : undefined;
    if (leftSize !== undefined) {
      const middle = this.#emit(begin, leftSize, written);
      return this.#emit(begin + leftSize, size - leftSize, middle);
    }
    this.ids[written] = id < 0 ? this.#unknownId : id;
    this.ends[written] = begin + size;
    return written + 1;
  }

  #makeRoom(length: number): void {
    const room = this.reserve(length);
    if (room === undefined) return;
    this.#begin = new Int32Array(room);
    this.#size = new Int32Array(room);
    this.#previous = new Int32Array(room);
    this.#next = new Int32Array(room);
    this.#frozen = new Uint8Array(room);
  }
}
