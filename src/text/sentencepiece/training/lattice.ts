/** All ways to cut one stretch of symbols into living pieces: expected counts, and the best path. */
import type { SymbolTrie } from "./symbol-trie.ts";

/** An edge that stands for a character without a piece. */
export const UNKNOWN_EDGE = -1;
const UNKNOWN_PENALTY = 10;

/** Built again for each stretch, in buffers that are kept. Scores of pieces that are not alive are -Infinity. */
export class Lattice {
  readonly #trie: SymbolTrie;
  #length = 0;
  /** Edges in the order of where they start. */
  #edges = 0;
  #from = new Int32Array(256);
  #to = new Int32Array(256);
  #id = new Int32Array(256);
  #score = new Float64Array(256);
  /** Log sums over all paths up to, and from, each place. */
  #before = new Float64Array(64);
  #after = new Float64Array(64);
  #bestEdge = new Int32Array(64);

  constructor(trie: SymbolTrie) {
    this.#trie = trie;
  }

  /** Takes the stretch symbols[begin, end); the edge of piece `without` is left out. */
  build(symbols: Int32Array, begin: number, end: number, scores: Float64Array, least: number, without = -1): void {
    this.#length = end - begin;
    this.#edges = 0;
    if (this.#length + 1 > this.#before.length) this.#reservePlaces(this.#length + 1);
    for (let at = begin; at < end; at++) {
      let node = 0;
      let single = false;
      for (let i = at; i < end; i++) {
        node = this.#trie.child(node, symbols[i]!);
        if (node < 0) break;
        const id = this.#trie.valueOf(node);
        if (id < 0 || id === without || scores[id] === Number.NEGATIVE_INFINITY) continue;
        this.#add(at - begin, i + 1 - begin, id, scores[id]!);
        if (i === at) single = true;
      }
      if (!single) this.#add(at - begin, at + 1 - begin, UNKNOWN_EDGE, least - UNKNOWN_PENALTY);
    }
  }

  /** Adds `count` times the probability of each piece to its expected count; returns the log likelihood. */
  addExpected(count: number, expected: Float64Array): number {
    const before = this.#before.fill(Number.NEGATIVE_INFINITY, 0, this.#length + 1);
    const after = this.#after.fill(Number.NEGATIVE_INFINITY, 0, this.#length + 1);
    before[0] = 0;
    after[this.#length] = 0;
    for (let e = 0; e < this.#edges; e++) {
      before[this.#to[e]!] = logAdd(before[this.#to[e]!]!, before[this.#from[e]!]! + this.#score[e]!);
    }
    for (let e = this.#edges - 1; e >= 0; e--) {
      after[this.#from[e]!] = logAdd(after[this.#from[e]!]!, after[this.#to[e]!]! + this.#score[e]!);
    }
    const all = before[this.#length]!;
    for (let e = 0; e < this.#edges; e++) {
      if (this.#id[e] === UNKNOWN_EDGE) continue;
      const log = before[this.#from[e]!]! + this.#score[e]! + after[this.#to[e]!]! - all;
      expected[this.#id[e]!]! += count * Math.exp(log);
    }
    return all * count;
  }

  /** The pieces of the best path, last first, into `ids`; returns its score. */
  bestPath(ids: number[]): number {
    const best = this.#before.fill(Number.NEGATIVE_INFINITY, 0, this.#length + 1);
    best[0] = 0;
    for (let e = 0; e < this.#edges; e++) {
      const score = best[this.#from[e]!]! + this.#score[e]!;
      if (score <= best[this.#to[e]!]!) continue;
      best[this.#to[e]!] = score;
      this.#bestEdge[this.#to[e]!] = e;
    }
    ids.length = 0;
    for (let at = this.#length; at > 0; at = this.#from[this.#bestEdge[at]!]!) ids.push(this.#id[this.#bestEdge[at]!]!);
    return best[this.#length]!;
  }

  #add(from: number, to: number, id: number, score: number): void {
    if (this.#edges === this.#from.length) this.#reserveEdges();
    const edge = this.#edges++;
    this.#from[edge] = from;
    this.#to[edge] = to;
    this.#id[edge] = id;
    this.#score[edge] = score;
  }

  #reserveEdges(): void {
    const grown = (old: Int32Array): Int32Array<ArrayBuffer> => {
      const fresh = new Int32Array(old.length * 2);
      fresh.set(old);
      return fresh;
    };
    this.#from = grown(this.#from);
    this.#to = grown(this.#to);
    this.#id = grown(this.#id);
    const scores = new Float64Array(this.#score.length * 2);
    scores.set(this.#score);
    this.#score = scores;
  }

  #reservePlaces(places: number): void {
    this.#before = new Float64Array(places * 2);
    this.#after = new Float64Array(places * 2);
    this.#bestEdge = new Int32Array(places * 2);
  }
}

/** log(exp(a) + exp(b)). */
function logAdd(a: number, b: number): number {
  if (a === Number.NEGATIVE_INFINITY) return b;
  const high = Math.max(a, b);
  const low = Math.min(a, b);
  return low - high < -40 ? high : high + Math.log1p(Math.exp(low - high));
}
