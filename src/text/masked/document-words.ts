/** Batches of documents as bags of words: half of each document's pieces are shown, and the words of all of it are asked for. */
import { RandomStream } from "../../base/random.ts";
import type { MaskedBatches } from "./batches.ts";
import { type Document, inOneStream, type PieceTokenizer, type StoredDocuments } from "./documents.ts";
import { stackExamples } from "./examples.ts";

/** How documents are shown. */
export interface DocumentWordsOptions {
  seed: number;
  /** Documents of a batch. */
  rows: number;
  /** Pairs of neighbours that are shown of a document, at most. Default: none. */
  pairs?: number | undefined;
  /** Passes that show halves of their own before the first comes again; none: every pass is new. */
  distinctPasses?: number | undefined;
}

/** Documents from which the usual share of each word is taken. */
const COUNTED = 4096;

/** Batches by place, each a function of the seed and the place alone. A pass takes every document once. */
export function documentWordBatches(
  documents: readonly Document[] | StoredDocuments,
  tokenizer: PieceTokenizer,
  { seed, rows, pairs = 0, distinctPasses }: DocumentWordsOptions,
): MaskedBatches {
  const stored = inOneStream(documents);
  const { size } = tokenizer;
  const whole = (document: number) => {
    const start = stored.ends[document - 1] ?? 0;
    const ids = new Int32Array(stored.ends[document]! - start);
    stored.ids.copy(start, ids.length, ids, 0);
    return ids;
  };
  const shares = new WordShares(stored.counts(size));
  const order = ordered(stored.length, seed);
  const usual = usualShares(order(0).slice(0, COUNTED).map(whole), shares, size);
  const drawn = (place: number) => {
    const counted = Math.floor(place / stored.length);
    const pass = distinctPasses === undefined ? counted : counted % distinctPasses;
    const document = order(pass)[place % stored.length]!;
    const ids = whole(document);
    return { ids, ...halfOf(ids, pairs, new RandomStream(seed, `words of a document/${pass}/${document}`)) };
  };
  const at = (place: number) => {
    const [shownWords, documentWords] = [new Float32Array(rows * size), new Float32Array(rows * size)];
    const neighbours = pairs > 0 ? new ShownPairs(rows, pairs) : undefined;
    for (let row = 0; row < rows; row++) {
      const { ids, shown, rights } = drawn(place * rows + row);
      for (const id of shown) shownWords[row * size + id]! += 1 / shown.length;
      neighbours?.fill(row, ids, rights);
      shares.fill(ids, documentWords.subarray(row * size, (row + 1) * size));
    }
    return { ...stackExamples([]), rows, shownWords, documentWords, usualWords: usual, ...neighbours };
  };
  const mean = (stored.ends.at(-1) ?? 0) / stored.length;
  const count = Math.max(1, Math.floor(stored.length / rows));
  return { count, rows, length: 0, tokens: Math.round(rows * mean), fresh: true, at };
}

/** Pieces in succession that are shown or not together, so that pairs of neighbours are shown, too; fewer where a document is short. */
const SPAN = 8;
const spanOf = ({ length }: Int32Array, pairs: number) => (pairs > 0 ? Math.max(1, Math.min(SPAN, length >> 2)) : 1);

/** About half of the pieces, at least one, and the places of up to `pairs` of them that stand behind another one that is shown. */
function halfOf(
  ids: Int32Array,
  pairs: number,
  random: RandomStream,
): { shown: Int32Array; rights: readonly number[] } {
  const span = spanOf(ids, pairs);
  const spans = Array.from({ length: Math.ceil(ids.length / span) }, () => random.uniform() < 0.5);
  const isShown = spans.includes(true) ? (_: unknown, i: number) => spans[Math.floor(i / span)]! : () => true;
  const rights: number[] = [];
  for (let i = 1; i < ids.length && pairs > 0; i++) if (isShown(0, i) && isShown(0, i - 1)) rights.push(i);
  return {
    shown: ids.filter(isShown),
    rights: rights.length > pairs ? random.shuffle(rights).slice(0, pairs) : rights,
  };
}

/** Pairs of neighbours of the documents of a batch. */
class ShownPairs {
  readonly shownLefts: Int32Array;
  readonly shownRights: Int32Array;
  readonly pairShares: Float32Array;
  readonly #count: number;

  constructor(rows: number, count: number) {
    this.#count = count;
    this.shownLefts = new Int32Array(rows * count);
    this.shownRights = new Int32Array(rows * count);
    this.pairShares = new Float32Array(rows * count);
  }

  /** Those of a document, whose right pieces stand at `places`. */
  fill(row: number, ids: Int32Array, places: readonly number[]): void {
    for (const [k, place] of places.entries()) {
      const at = row * this.#count + k;
      this.shownLefts[at] = ids[place - 1]!;
      this.shownRights[at] = ids[place]!;
      this.pairShares[at] = 1 / places.length;
    }
  }
}

/** Logarithms of the mean share of each word; half an occurrence more for each, so that none is impossible. */
function usualShares(documents: readonly Int32Array[], shares: WordShares, size: number): Float32Array {
  const sums = new Float32Array(size);
  for (const ids of documents) shares.fill(ids, sums);
  const least = 0.5 / documents.reduce((sum, { length }) => sum + length, 1);
  return sums.map((sum) => Math.log(sum / documents.length + least));
}

/** The order of documents in a pass; that of the last pass asked for is kept. */
function ordered(count: number, seed: number): (pass: number) => readonly number[] {
  let known: { pass: number; order: readonly number[] } | undefined;
  return (pass) => {
    if (known?.pass !== pass) {
      const all = Array.from({ length: count }, (_, i) => i);
      known = { pass, order: new RandomStream(seed, `documents in order/${pass}`).shuffle(all) };
    }
    return known.order;
  };
}

/** Occurrences of a word in one document that count. */
const COUNTING = 3;

/** The words of a document as shares of 1, each occurrence worth less the more frequent its word is anywhere: 1/√frequency. */
class WordShares {
  readonly #worth: Float64Array;

  constructor(occurrences: Float64Array) {
    const counts = occurrences.map((count) => count + 1);
    const total = counts.reduce((sum, each) => sum + each, 0);
    this.#worth = counts.map((count) => Math.sqrt(total / count));
  }

  /** Adds the shares of a document's words. */
  fill(ids: Int32Array, into: Float32Array): void {
    const counts = new Map<number, number>();
    for (const id of ids) counts.set(id, Math.min(COUNTING, (counts.get(id) ?? 0) + 1));
    const worths = [...counts].map(([id, count]) => [id, count * this.#worth[id]!] as const);
    const total = worths.reduce((sum, [, worth]) => sum + worth, 0);
    for (const [id, worth] of worths) into[id]! += worth / total;
  }
}
