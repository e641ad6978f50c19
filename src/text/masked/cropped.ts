/** Batches of pieces of documents, each with the words of the whole document that it was cut from. */
import { RandomStream } from "../../base/random.ts";
import type { MaskedBatches } from "./batches.ts";
import {
  type Document,
  inOneStream,
  type PieceTokenizer,
  type StoredDocuments,
  specialIds,
  startPieces,
} from "./documents.ts";
import { type PretrainingExample, stackExamples } from "./examples.ts";

/** How documents are cut. */
export interface CroppedOptions {
  seed: number;
  /** Tokens of a text, [CLS] and [SEP] included; shorter documents are padded. */
  length: number;
  /** Texts of a batch. */
  rows: number;
  /** Passes that are cut in ways of their own before the first comes again; none: every pass is new. */
  distinctPasses?: number | undefined;
}

/** Batches by place, each a function of the seed and the place alone. A pass takes every document once, from a place of its own. */
export function croppedBatches(
  documents: readonly Document[] | StoredDocuments,
  tokenizer: PieceTokenizer,
  { seed, length, rows, distinctPasses }: CroppedOptions,
): MaskedBatches {
  const stored = inOneStream(documents);
  const sizeOf = (document: number) => stored.ends[document]! - (stored.ends[document - 1] ?? 0);
  const whole = (document: number) => {
    const ids = new Int32Array(sizeOf(document));
    stored.ids.copy(stored.ends[document]! - ids.length, ids.length, ids, 0);
    return ids;
  };
  const { cls, sep, pad } = specialIds(tokenizer);
  const starts = startPieces(tokenizer);
  const shares = new WordShares(stored.counts(tokenizer.size));
  const order = ordered(stored.length, seed);
  const cut = (place: number) => {
    const counted = Math.floor(place / stored.length);
    const pass = distinctPasses === undefined ? counted : counted % distinctPasses;
    const document = order(pass)[place % stored.length]!;
    const ids = whole(document);
    const count = Math.min(length - 2, ids.length);
    const from = new RandomStream(seed, `cropped text/${pass}/${document}`).integer(ids.length - count + 1);
    return { document: ids, ids: [cls, ...ids.subarray(from, from + count), sep] };
  };
  const at = (place: number) => {
    const cuts = Array.from({ length: rows }, (_, i) => cut(place * rows + i));
    const documentWords = new Float32Array(rows * tokenizer.size);
    cuts.forEach(({ document }, row) => {
      shares.fill(document, documentWords.subarray(row * tokenizer.size, (row + 1) * tokenizer.size));
    });
    return { ...stackExamples(cuts.map(({ ids }) => padded(ids, length, pad, starts))), documentWords };
  };
  const mean = stored.ends.reduce((sum, _, i) => sum + Math.min(length, sizeOf(i) + 2), 0) / stored.length;
  const count = Math.max(1, Math.floor(stored.length / rows));
  return { count, rows, length, tokens: Math.round(rows * mean), fresh: true, at };
}

/** The order of documents in a pass; that of the last pass asked for is kept. */
function ordered(count: number, seed: number): (pass: number) => readonly number[] {
  let known: { pass: number; order: readonly number[] } | undefined;
  return (pass) => {
    if (known?.pass !== pass) {
      const all = Array.from({ length: count }, (_, i) => i);
      known = { pass, order: new RandomStream(seed, `cropped texts/${pass}`).shuffle(all) };
    }
    return known.order;
  };
}

/** The words of a document as shares of 1, each occurrence worth less the more frequent its word is anywhere: 1/√frequency. */
class WordShares {
  readonly #worth: Float64Array;

  constructor(occurrences: Float64Array) {
    const counts = occurrences.map((count) => count + 1);
    const total = counts.reduce((sum, each) => sum + each, 0);
    this.#worth = counts.map((count) => Math.sqrt(total / count));
  }

  fill(ids: Int32Array, into: Float32Array): void {
    const total = ids.reduce((sum, id) => sum + this.#worth[id]!, 0);
    for (const id of ids) into[id]! += this.#worth[id]! / total;
  }
}

function padded(ids: readonly number[], length: number, pad: number, starts: Uint8Array): PretrainingExample {
  const inputIds = new Int32Array(length).fill(pad);
  inputIds.set(ids);
  const none = new Int32Array(0);
  return {
    inputIds,
    inputMask: new Int32Array(length).fill(1, 0, ids.length),
    segmentIds: new Int32Array(length),
    tokenBoundary: Int32Array.from(inputIds, (id) => starts[id]!),
    maskedPositions: none,
    maskedIds: none,
    maskedWeights: new Float32Array(0),
    orderLabel: 0,
  };
}
