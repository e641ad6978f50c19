/** The candidates training starts from: all characters, and the substrings that occur most, by suffix array. */
import type { Fragments } from "./fragments.ts";
import type { TrainingOptions } from "./options.ts";
import { pieceTest } from "./script.ts";
import { suffixArray } from "./suffix-array.ts";

/** Candidate i is symbols[begins[i]] … symbols[begins[i] + lengths[i] - 1] of the fragments, with a first weight. */
export interface Seeds {
  begins: Int32Array;
  lengths: Int32Array;
  weights: Float64Array;
}

interface Candidate {
  begin: number;
  length: number;
  weight: number;
}

/** Characters first, then at most `seedSize` longer substrings, those that cover most text first. */
export function makeSeeds(fragments: Fragments, options: TrainingOptions): Seeds {
  const candidates = [...characterSeeds(fragments), ...substringSeeds(fragments, options)];
  return {
    begins: Int32Array.from(candidates, (candidate) => candidate.begin),
    lengths: Int32Array.from(candidates, (candidate) => candidate.length),
    weights: Float64Array.from(candidates, (candidate) => candidate.weight),
  };
}

function characterSeeds({ symbols, characterCounts }: Fragments): Candidate[] {
  const seeds: (Candidate | undefined)[] = [];
  for (let begin = 0; begin < symbols.length; begin++) {
    const symbol = symbols[begin]!;
    if (symbol > 0) seeds[symbol] ??= { begin, length: 1, weight: characterCounts[symbol]! };
  }
  return seeds.filter((seed) => seed !== undefined);
}

function substringSeeds(fragments: Fragments, options: TrainingOptions): Candidate[] {
  const { symbols } = fragments;
  const isPiece = pieceTest(fragments.characters, options);
  let candidates: Candidate[] = [];
  const best = (): Candidate[] => candidates.sort((a, b) => b.weight - a.weight).slice(0, options.seedSize);
  visitSubstrings(fragments, options.maximumPieceLength, (begin, length, frequency) => {
    if (length > 1 && frequency > 1 && isPiece(symbols, begin, begin + length)) {
      candidates.push({ begin, length, weight: frequency * length });
      if (candidates.length > 4 * options.seedSize) candidates = best();
    }
  });
  return best();
}

/**
 * Shows each substring that cannot be lengthened without losing an occurrence, with its frequency. Neighbouring suffixes
 * share a prefix; a maximal run of suffixes that share `length` symbols is such a substring, kept on a stack until it ends.
 */
function visitSubstrings(
  fragments: Fragments,
  longest: number,
  visit: (...args: [number, number, number]) => void,
): void {
  const { symbols } = fragments;
  const order = suffixArray(symbols, longest);
  const weights = suffixWeights(fragments);
  const open: { length: number; begin: number; before: number }[] = [];
  let seen = 0;
  for (let i = 0; i < order.length; i++) {
    const begin = order[i]!;
    const before = seen;
    seen += weights[begin]!;
    const own = prefixLength(symbols, begin, longest);
    const next = i + 1 < order.length ? sharedLength(symbols, begin, order[i + 1]!, own) : 0;
    if ((open.at(-1)?.length ?? 0) < own) open.push({ length: own, begin, before });
    let left = before;
    for (let top = open.at(-1); top !== undefined && top.length > next; top = open.at(-1)) {
      visit(top.begin, top.length, seen - top.before);
      left = top.before;
      open.pop();
    }
    if (next > (open.at(-1)?.length ?? 0)) open.push({ length: next, begin, before: left });
  }
}

/** The weight of a suffix is the count of its fragment; the bare end of a fragment has none. */
function suffixWeights({ symbols, starts, counts }: Fragments): Float64Array {
  const weights = new Float64Array(symbols.length);
  for (let fragment = 0; fragment < counts.length; fragment++) {
    weights.fill(counts[fragment]!, starts[fragment]!, starts[fragment + 1]! - 1);
  }
  return weights;
}

function prefixLength(symbols: Int32Array, begin: number, longest: number): number {
  let length = 0;
  while (length < longest && symbols[begin + length]! > 0) length++;
  return length;
}

function sharedLength(symbols: Int32Array, a: number, b: number, longest: number): number {
  let length = 0;
  while (length < longest && symbols[a + length] === symbols[b + length]) length++;
  return length;
}
