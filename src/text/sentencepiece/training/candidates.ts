/** The candidates of a training run: which are alive, what they score, and the two steps that change that. */
import type { Fragments } from "./fragments.ts";
import { Lattice } from "./lattice.ts";
import type { Seeds } from "./seeds.ts";
import { SymbolTrie } from "./symbol-trie.ts";

/** A piece that is expected less often than this goes. */
const LEAST_EXPECTED = 0.5;
const DEAD = Number.NEGATIVE_INFINITY;

export class Candidates {
  readonly fragments: Fragments;
  readonly seeds: Seeds;
  /** Log probabilities; -Infinity for the dead. */
  readonly scores: Float64Array;
  #lattice: Lattice;
  /** How many candidates the lattice looks up, some of them dead. */
  #lookedUp = 0;
  alive: number;
  /** The least score of the living. */
  least = 0;

  constructor(fragments: Fragments, seeds: Seeds) {
    this.fragments = fragments;
    this.seeds = seeds;
    const total = Math.log(seeds.weights.reduce((sum, weight) => sum + weight, 0));
    this.scores = seeds.weights.map((weight) => Math.log(weight) - total);
    this.alive = this.scores.length;
    this.#lattice = this.#latticeOfLiving();
    this.#settle();
  }

  #latticeOfLiving(): Lattice {
    const { symbols } = this.fragments;
    const { begins, lengths } = this.seeds;
    const trie = new SymbolTrie();
    for (const id of this.living()) trie.add(symbols, begins[id]!, begins[id]! + lengths[id]!, id);
    this.#lookedUp = this.alive;
    return new Lattice(trie);
  }

  textOf(id: number): string {
    const { symbols, characters } = this.fragments;
    const begin = this.seeds.begins[id]!;
    let text = "";
    for (let i = begin; i < begin + this.seeds.lengths[id]!; i++) text += characters[symbols[i]! - 1]!;
    return text;
  }

  /** One step of expectation-maximisation with a sparse prior (Liang and Klein 2007); returns the mean log likelihood. */
  improve(): number {
    const expected = new Float64Array(this.scores.length);
    let likelihood = 0;
    let total = 0;
    this.#eachFragment((lattice, count) => {
      likelihood += lattice.addExpected(count, expected);
      total += count;
    });
    this.#maximise(expected);
    return likelihood / total;
  }

  /** How often each piece is on the best path of a fragment. */
  bestCounts(): Float64Array {
    const counts = new Float64Array(this.scores.length);
    const path: number[] = [];
    this.#eachFragment((lattice, count) => {
      lattice.bestPath(path);
      for (const id of path) if (id >= 0) counts[id]! += count;
    });
    return counts;
  }

  /** The best way to spell piece `id` with other pieces, and its score; undefined if a character would be unknown. */
  alternative(id: number, path: number[]): number | undefined {
    const begin = this.seeds.begins[id]!;
    const end = begin + this.seeds.lengths[id]!;
    this.#lattice.build(this.fragments.symbols, begin, end, this.scores, this.least, id);
    const score = this.#lattice.bestPath(path);
    return path.includes(-1) ? undefined : score;
  }

  /** Lets only the given pieces live. */
  keep(ids: Iterable<number>): void {
    const kept = new Uint8Array(this.scores.length);
    for (const id of ids) kept[id] = 1;
    for (let id = 0; id < kept.length; id++) if (!kept[id]) this.scores[id] = DEAD;
    this.#settle();
  }

  /** The living, in their first order. */
  *living(): Generator<number> {
    for (let id = 0; id < this.scores.length; id++) if (this.scores[id] !== DEAD) yield id;
  }

  #eachFragment(visit: (lattice: Lattice, count: number) => void): void {
    const { symbols, starts, counts } = this.fragments;
    for (let fragment = 0; fragment < counts.length; fragment++) {
      this.#lattice.build(symbols, starts[fragment]!, starts[fragment + 1]! - 1, this.scores, this.least);
      visit(this.#lattice, counts[fragment]!);
    }
  }

  #maximise(expected: Float64Array): void {
    let sum = 0;
    for (const count of expected) if (count >= LEAST_EXPECTED) sum += count;
    const total = digamma(sum);
    for (let id = 0; id < expected.length; id++) {
      const count = expected[id]!;
      this.scores[id] = count >= LEAST_EXPECTED ? digamma(count) - total : DEAD;
    }
    this.#settle();
  }

  #settle(): void {
    this.alive = 0;
    this.least = Number.POSITIVE_INFINITY;
    for (const score of this.scores) {
      if (score === DEAD) continue;
      this.alive++;
      if (score < this.least) this.least = score;
    }
    if (this.alive === 0) this.least = 0;
    if (this.alive < this.#lookedUp / 2) this.#lattice = this.#latticeOfLiving();
  }
}

/** The derivative of log Γ: recurrence up to 7, then the asymptotic series around x - 1/2. */
export function digamma(x: number): number {
  let result = 0;
  for (; x < 7; x++) result -= 1 / x;
  const y = 1 / (x - 0.5) ** 2;
  return result + Math.log(x - 0.5) + y * (1 / 24 - y * (7 / 960 - y * (31 / 8064 - (y * 127) / 30720)));
}
