/** Whole-word n-gram masking: which tokens are to be predicted, and what stands in their place. */
import type { RandomStream } from "../../base/random.ts";

/** Which tokens are masked, and how many. */
export interface MaskingOptions {
  /** Most tokens predicted in an example. */
  maxPredictions: number;
  /** Share of tokens predicted. */
  probability: number;
  /** Longest run of words masked together. */
  maxNgram: number;
  /** P(n) ∝ 1/n; otherwise the longer, the likelier. */
  favourShorter: boolean;
  /** Mask all pieces of a word or none. */
  wholeWord: boolean;
}

/** What the tokens are: which begin words, which are never masked, and what may replace them. */
export interface MaskVocabulary {
  size: number;
  mask: number;
  /** Of every id, whether it begins a word. */
  starts: Uint8Array;
}

/** A text with its masked places. */
export interface Masked {
  ids: Int32Array;
  /** Positions to predict, ascending. */
  positions: number[];
  /** The ids that stood there. */
  labels: number[];
}

/** min(most, max(1, round(share · length))), halves rounded to even. */
export function predictionBudget(length: number, { maxPredictions, probability }: MaskingOptions): number {
  return Math.min(maxPredictions, Math.max(1, roundHalfEven(length * probability)));
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Positions grouped into words; positions with `special` set belong to none and end a word. */
export function wordsOf(
  ids: ArrayLike<number>,
  special: ArrayLike<number>,
  starts: Uint8Array,
  wholeWord = true,
): number[][] {
  const words: number[][] = [];
  for (let i = 0; i < ids.length; i++) {
    if (special[i]) continue;
    const continues = wholeWord && i > 0 && !special[i - 1] && !starts[ids[i]!];
    if (continues) words.at(-1)!.push(i);
    else words.push([i]);
  }
  return words;
}

/** Masks an example: words in random order, n-grams drawn, shrunk to the budget, never overlapping. */
export function maskWords(
  ids: Int32Array,
  special: ArrayLike<number>,
  vocabulary: MaskVocabulary,
  random: RandomStream,
  options: MaskingOptions,
): Masked {
  const words = wordsOf(ids, special, vocabulary.starts, options.wholeWord);
  const chosen = choosePositions(words, predictionBudget(ids.length, options), random, options);
  const out = ids.slice();
  for (const at of chosen) out[at] = replacement(ids[at]!, vocabulary, random);
  const positions = chosen.sort((a, b) => a - b);
  return { ids: out, positions, labels: positions.map((at) => ids[at]!) };
}

function choosePositions(words: number[][], budget: number, random: RandomStream, options: MaskingOptions): number[] {
  const chosen = new Set<number>();
  for (const start of random.shuffle(words.map((_, i) => i))) {
    if (chosen.size >= budget) break;
    let n = drawNgram(words.length - start, random, options);
    let run = words.slice(start, start + n).flat();
    while (chosen.size + run.length > budget && n > 1) run = words.slice(start, start + --n).flat();
    if (chosen.size + run.length > budget || run.some((at) => chosen.has(at))) continue;
    for (const at of run) chosen.add(at);
  }
  return [...chosen];
}

/** How many words to mask together when `left` remain: P(n) ∝ 1/n, or the reverse, over the n that fit. */
export function drawNgram(left: number, random: RandomStream, { maxNgram, favourShorter }: MaskingOptions): number {
  const weights = Array.from({ length: maxNgram }, (_, i) => 1 / (favourShorter ? i + 1 : maxNgram - i));
  return drawWeighted(weights.slice(0, left), random) + 1;
}

/** An index with probability proportional to its weight. */
function drawWeighted(weights: readonly number[], random: RandomStream): number {
  let rest = random.uniform() * weights.reduce((sum, weight) => sum + weight, 0);
  for (let i = 0; i < weights.length - 1; i++) {
    rest -= weights[i]!;
    if (rest < 0) return i;
  }
  return weights.length - 1;
}

/** 80 % the mask, 10 % the token itself, 10 % any piece of the vocabulary. */
function replacement(id: number, { mask, size }: MaskVocabulary, random: RandomStream): number {
  if (random.uniform() < 0.8) return mask;
  return random.uniform() < 0.5 ? id : random.integer(size);
}
