/** Choosing the next token from logits: temperature, the k likeliest, the likeliest that make up p. Pure functions. */
import { reject, rejectData } from "../base/errors.ts";
import type { RandomStream } from "../base/random.ts";

/** Which tokens may come next, and how evenly they are drawn. */
export interface SamplingOptions {
  /** Divides the logits; 0 takes the likeliest token always. Default: 1. */
  temperature?: number | undefined;
  /** Only so many of the likeliest tokens. Default: all. */
  topK?: number | undefined;
  /** Only the likeliest tokens that together reach this probability (after `topK`). Default: 1, all. */
  topP?: number | undefined;
}

/** Tokens that may come next, in order of their ids, and their probabilities, which add up to 1. */
export interface Choices {
  readonly ids: Int32Array;
  readonly probabilities: Float64Array;
}

/** Fails where an option is out of its range. */
export function checkSampling({ temperature = 1, topK = 1, topP = 1 }: SamplingOptions): void {
  if (!(temperature >= 0 && temperature < Number.POSITIVE_INFINITY)) {
    reject({ who: "temperature", needed: "a number from 0", got: `${temperature}` }, 2);
  }
  if (!(Number.isInteger(topK) && topK >= 1))
    reject({ who: "top-k", needed: "a whole number from 1", got: `${topK}` }, 2);
  if (!(topP > 0 && topP <= 1)) reject({ who: "top-p", needed: "a number above 0, at most 1", got: `${topP}` }, 2);
}

/** The id of the largest logit; the first of equals. */
export function likeliest(logits: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i]! > logits[best]!) best = i;
  return best;
}

/** What may come next, and how likely each is. */
export function choices(logits: Float32Array, options: SamplingOptions = {}): Choices {
  checkSampling(options);
  const { temperature = 1, topK = logits.length, topP = 1 } = options;
  const best = likeliest(logits);
  const top = logits[best];
  if (top === undefined || !Number.isFinite(top)) {
    rejectData({ who: "sampling", needed: "finite logits", got: `${top}`, remedy: "check the weights for NaN" });
  }
  if (temperature === 0) return { ids: Int32Array.of(best), probabilities: Float64Array.of(1) };
  const kept = keep(allOf(logits, top, temperature), Math.min(topK, logits.length));
  return topP < 1 ? keep(kept, countReaching(kept.probabilities, topP)) : kept;
}

/** softmax(logits / temperature), shifted by the largest so that nothing overflows. */
function allOf(logits: Float32Array, top: number, temperature: number): Choices {
  const probabilities = new Float64Array(logits.length);
  for (let i = 0; i < logits.length; i++) probabilities[i] = Math.exp((logits[i]! - top) / temperature);
  return normalised(Int32Array.from(logits.keys()), probabilities);
}

function normalised(ids: Int32Array, probabilities: Float64Array): Choices {
  let total = 0;
  for (let i = 0; i < probabilities.length; i++) total += probabilities[i]!;
  for (let i = 0; i < probabilities.length; i++) probabilities[i]! /= total;
  return { ids, probabilities };
}

/** The `count` likeliest, lower ids first among equals. Sorting bare numbers is far cheaper than sorting ids by them. */
function keep(all: Choices, count: number): Choices {
  if (count >= all.ids.length) return all;
  const sorted = all.probabilities.slice().sort();
  const least = sorted[sorted.length - count]!;
  let equals = count - sorted.reduce((above, value) => above + Number(value > least), 0);
  const ids = new Int32Array(count);
  const probabilities = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < all.ids.length; i++) {
    const value = all.probabilities[i]!;
    if (value < least || (value === least && equals-- <= 0)) continue;
    ids[at] = all.ids[i]!;
    probabilities[at++] = value;
  }
  return normalised(ids, probabilities);
}

/** How many of the largest reach `share` together; at least one. */
function countReaching(probabilities: Float64Array, share: number): number {
  const sorted = probabilities.slice().sort();
  let [count, sum] = [0, 0];
  while (count < sorted.length && sum < share) sum += sorted[sorted.length - 1 - count++]!;
  return count;
}

/** What softmax gives a token. */
export function probabilityOf(logits: Float32Array, token: number): number {
  const top = logits[likeliest(logits)]!;
  return Math.exp(logits[token]! - top) / logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0);
}

/** Draws the next token. Takes one uniform number from the stream, none where only one token is left. */
export function sample(logits: Float32Array, options: SamplingOptions, random: RandomStream): number {
  const { ids, probabilities } = choices(logits, options);
  if (ids.length === 1) return ids[0]!;
  let rest = random.uniform();
  for (let i = 0; i < ids.length; i++) {
    rest -= probabilities[i]!;
    if (rest < 0) return ids[i]!;
  }
  // Rounding may leave a sliver of the unit interval: it goes to the likeliest.
  return ids[likeliest(probabilities)]!;
}
