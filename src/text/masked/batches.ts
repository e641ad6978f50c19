/** Masked-LM batches by place: drawn again in each pass over the documents, or stacked from stored examples. */
import { rejectData } from "../../base/errors.ts";
import type { Documents, PieceTokenizer } from "./documents.ts";
import {
  type PretrainingBatch,
  type PretrainingExample,
  type PretrainingOptions,
  PretrainingStream,
  stackExamples,
} from "./examples.ts";

/** Batches of masked text by place. */
export interface MaskedBatches {
  /** Batches in a pass; the first one's, where passes differ. */
  readonly count: number;
  readonly rows: number;
  readonly length: number;
  /** Tokens of a batch without padding: the mean of a few. */
  readonly tokens: number;
  /** Whether places are counted over all passes. */
  readonly fresh: boolean;
  at(place: number): PretrainingBatch;
}

/** How examples are drawn and put into batches. */
export interface DrawnOptions extends PretrainingOptions {
  /** Examples of a batch. */
  rows: number;
  /** Passes with chunks and masks of their own before the first comes again; none: every pass is new. */
  distinctPasses?: number | undefined;
}

/** Batches drawn from documents: a function of the seed and the place alone, cheapest in rising order. */
export function drawnBatches(
  documents: Documents,
  tokenizer: PieceTokenizer,
  { rows, distinctPasses, ...options }: DrawnOptions,
): MaskedBatches {
  const drawing = new Drawing((pass) => {
    const drawn = distinctPasses === undefined ? pass : pass % distinctPasses;
    return new PretrainingStream(documents, tokenizer, options, { pass: drawn, index: 0 });
  });
  const at = (place: number) => {
    drawing.seek(place * rows);
    return stackExamples(Array.from({ length: rows }, () => drawing.next()));
  };
  const count = Math.max(1, Math.floor(drawing.firstLength / rows));
  return { count, rows, length: options.length, tokens: meanTokens(at, count), fresh: true, at };
}

/** Examples of all passes one after another. */
class Drawing {
  readonly firstLength: number;
  readonly #open: (pass: number) => PretrainingStream;
  #pass = 0;
  #stream: PretrainingStream;
  /** Number of the example that comes next, over all passes. */
  #place = 0;

  constructor(open: (pass: number) => PretrainingStream) {
    this.#open = open;
    this.#stream = open(0);
    this.firstLength = this.#stream.passLength;
  }

  next(): PretrainingExample {
    if (this.#stream.position.index >= this.#stream.passLength) this.#stream = this.#open(++this.#pass);
    this.#place++;
    return this.#stream.next();
  }

  /** Goes to an example: passes have lengths of their own, so the way there is walked. */
  seek(place: number): void {
    if (place === this.#place) return;
    [this.#pass, this.#place] = [0, place];
    let index = place;
    for (this.#stream = this.#open(0); index >= this.#stream.passLength; this.#stream = this.#open(++this.#pass)) {
      index -= this.#stream.passLength;
    }
    this.#stream.skip(index);
  }
}

/** Batches of stored examples, all of one length. */
export function storedBatches(examples: readonly PretrainingExample[], rows: number, source: string): MaskedBatches {
  const length = examples[0]?.inputIds.length ?? 0;
  const count = Math.floor(examples.length / rows);
  if (count === 0) {
    rejectData({ who: source, needed: `at least ${rows} examples for a batch`, got: `${examples.length}` });
  }
  const other = examples.find(({ inputIds }) => inputIds.length !== length);
  if (other)
    rejectData({ who: source, needed: `examples of ${length} tokens`, got: `one of ${other.inputIds.length}` });
  const at = (place: number) => {
    const first = (place % count) * rows;
    return stackExamples(examples.slice(first, first + rows));
  };
  return { count, rows, length, tokens: meanTokens(at, count), fresh: false, at };
}

const SAMPLED = 8;

function meanTokens(at: (place: number) => PretrainingBatch, count: number): number {
  const batches = Math.min(SAMPLED, count);
  let total = 0;
  for (let i = 0; i < batches; i++) total += at(i).inputMask.reduce((sum, one) => sum + one, 0);
  return Math.round(total / batches);
}

/** Words of documents under the names of the objective's inputs. */
export function documentFeeds({
  shownWords,
  documentWords,
  usualWords,
  shownLefts,
  shownRights,
  pairShares,
}: PretrainingBatch): Record<string, Int32Array | Float32Array> {
  if (!shownWords || !documentWords || !usualWords) return {};
  const pairs = shownLefts && shownRights && pairShares ? { shownLefts, shownRights, pairShares } : {};
  return { shownWords, documentWords, usualWords, ...pairs };
}

/** A batch under the names of the objective's inputs. */
export function pretrainingFeeds(batch: PretrainingBatch): Record<string, Int32Array | Float32Array> {
  return {
    ids: batch.inputIds,
    mask: batch.inputMask,
    types: batch.segmentIds,
    maskedPositions: batch.maskedPositions,
    maskedLabels: batch.maskedIds,
    maskedWeights: batch.maskedWeights,
    order: batch.orderLabels,
    ...documentFeeds(batch),
  };
}
