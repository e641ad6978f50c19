/** Sentence-order pairs: cuts documents into chunks, each chunk into A and B, and swaps half of them unless told not to. */
import type { RandomStream } from "../../base/random.ts";
import type { Document, Documents } from "./documents.ts";

/** Two segments; `swapped` is the label: 0 in order, 1 swapped or random. */
export interface Pair {
  a: number[];
  b: number[];
  swapped: 0 | 1;
}

/** How pairs are cut. */
export interface PairOptions {
  /** Tokens of an example, [CLS] and two [SEP] included. */
  length: number;
  /** Chance that a document's pass aims at a shorter length. */
  shortProbability: number;
  /** Take B from another document with probability ½ instead of swapping (BERT's task). */
  randomNext: boolean;
  /** Leave A before B, always: for models that are not asked about the order. */
  ordered?: boolean;
}

/** The pairs of one pass over one document. */
export function documentPairs(documents: Documents, index: number, random: RandomStream, options: PairOptions): Pair[] {
  const document = documents.at(index)!;
  const most = options.length - 3;
  const target = random.uniform() < options.shortProbability ? between(random, 2, most) : most;
  const pairs: Pair[] = [];
  let first = 0; // first sentence of the chunk
  let tokens = 0;
  for (let i = 0; i < document.length; i++) {
    tokens += document[i]!.length;
    if (tokens < target && i < document.length - 1) continue;
    const { pair, used } = chunkPair(documents, index, document.slice(first, i + 1), target, random, options);
    truncatePair(pair, most, random);
    pairs.push(pair);
    i = first + used - 1; // unused sentences are put back
    first += used;
    tokens = 0;
  }
  return pairs;
}

/** A pair out of one chunk, and how many of its sentences it uses. */
function chunkPair(
  documents: Documents,
  index: number,
  chunk: Document,
  target: number,
  random: RandomStream,
  { randomNext, ordered = false }: PairOptions,
): { pair: Pair; used: number } {
  const aEnd = chunk.length < 2 ? 1 : between(random, 1, chunk.length - 1);
  const a = join(chunk.slice(0, aEnd));
  if (chunk.length === 1 || (randomNext && random.uniform() < 0.5)) {
    return { pair: { a, b: randomText(documents, index, target - a.length, random), swapped: 1 }, used: aEnd };
  }
  const b = join(chunk.slice(aEnd));
  const swap = !randomNext && !ordered && random.uniform() < 0.5;
  return { pair: swap ? { a: b, b: a, swapped: 1 } : { a, b, swapped: 0 }, used: chunk.length };
}

/** Sentences from a random place of another document (ten tries to find another), until `target` tokens. */
function randomText(documents: Documents, index: number, target: number, random: RandomStream): number[] {
  let other = index;
  for (let tries = 0; tries < 10 && other === index; tries++) other = random.integer(documents.length);
  const document = documents.at(other)!;
  const text: number[] = [];
  for (let i = random.integer(document.length); i < document.length; i++) {
    for (const id of document[i]!) text.push(id);
    if (text.length >= target) break;
  }
  return text;
}

/** Removes tokens from the longer side, front or back with equal chance, until the pair fits. */
export function truncatePair(pair: Pair, most: number, random: RandomStream): void {
  const sides = [pair.a, pair.b].map((ids) => ({ ids, from: 0, to: ids.length }));
  const [a, b] = sides as [(typeof sides)[0], (typeof sides)[0]];
  while (a.to - a.from + (b.to - b.from) > most) {
    const longer = a.to - a.from > b.to - b.from ? a : b;
    if (random.uniform() < 0.5) longer.from++;
    else longer.to--;
  }
  pair.a = pair.a.slice(a.from, a.to);
  pair.b = pair.b.slice(b.from, b.to);
}

function join(sentences: Document): number[] {
  return sentences.flatMap((ids) => [...ids]);
}

/** Uniform integer from `low` to `high`, both included. */
function between(random: RandomStream, low: number, high: number): number {
  return low + random.integer(high - low + 1);
}
