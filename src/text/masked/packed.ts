/** Batches of running text: documents one after another, cut into texts of one length, with no padding. */
import { reject } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import type { TokenStream } from "../batches.ts";
import type { MaskedBatches } from "./batches.ts";
import {
  type Document,
  inOneStream,
  type PieceTokenizer,
  type SpecialIds,
  type StoredDocuments,
  specialIds,
  startPieces,
} from "./documents.ts";
import { type PretrainingExample, stackExamples } from "./examples.ts";
import { type MaskingOptions, type MaskVocabulary, maskWords } from "./masking.ts";

/** How running text is cut, and what is to be predicted in it. */
export interface PackedOptions extends MaskingOptions {
  seed: number;
  /** Tokens of a text. */
  length: number;
  /** Texts of a batch. */
  rows: number;
  /** Nothing is masked: at every place the next piece is to be predicted. */
  causal?: boolean | undefined;
  /** Passes that are cut and masked in ways of their own before the first comes again; none: every pass is new. */
  distinctPasses?: number | undefined;
}

/** Batches by place, each a function of the seed and the place alone. */
export function packedBatches(
  documents: readonly Document[] | StoredDocuments,
  tokenizer: PieceTokenizer,
  options: PackedOptions,
): MaskedBatches {
  const special = specialIds(tokenizer);
  const running = runningText(inOneStream(documents), special);
  const cuts = new Cuts(running.length, options);
  const starts = startPieces(tokenizer);
  const vocabulary: MaskVocabulary = { size: tokenizer.size, mask: special.mask, starts };
  const { rows, length } = options;
  const example = (place: number): PretrainingExample => {
    const { pass, index, from } = cuts.at(place);
    const ids = new Int32Array(length);
    running.copy(from, length, ids, 0);
    if (options.causal) return nextPieces(ids, ids.subarray(1), starts);
    const random = new RandomStream(options.seed, `packed masks/${pass}/${index}`);
    return maskedPieces(ids, special, vocabulary, random, options);
  };
  const at = (place: number) => stackExamples(Array.from({ length: rows }, (_, i) => example(place * rows + i)));
  return { count: Math.max(1, Math.floor(cuts.each / rows)), rows, length, tokens: rows * length, fresh: true, at };
}

/** [CLS] document [SEP], one after another. */
function runningText({ ids, ends, length }: StoredDocuments, { cls, sep }: SpecialIds): TokenStream {
  const copy: TokenStream["copy"] = (from, count, out, at) => {
    for (let [document, done] = [documentAt(ends, from), 0]; done < count; document++) {
      const before = document > 0 ? ends[document - 1]! : 0;
      const size = ends[document]! - before;
      let place = from + done - (before + 2 * document); // in the document and its frame
      if (place === 0) out[at + done++] = cls;
      place = Math.max(place, 1);
      const taken = Math.max(0, Math.min(size + 1 - place, count - done));
      ids.copy(before + place - 1, taken, out, at + done);
      done += taken;
      if (done < count) out[at + done++] = sep;
    }
  };
  return { length: ids.length + 2 * length, copy };
}

/** The document in which a place of the running text lies; document i ends, with its frame, at ends[i] + 2 (i + 1). */
function documentAt(ends: Float64Array, place: number): number {
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle]! + 2 * (middle + 1) > place) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Where texts begin: every pass is cut from another first token on, and taken in another order. */
class Cuts {
  /** Texts of a pass. */
  readonly each: number;
  readonly #options: PackedOptions;
  #pass = -1;
  #order: readonly number[] = [];
  #first = 0;

  constructor(tokens: number, options: PackedOptions) {
    this.#options = options;
    this.each = Math.floor(tokens / options.length) - 1; // one less, whatever token comes first
    if (this.each >= 1) return;
    reject({ who: "packed texts", needed: `at least ${2 * options.length} tokens`, got: `${tokens}` });
  }

  at(place: number): { pass: number; index: number; from: number } {
    const { distinctPasses, length } = this.#options;
    const counted = Math.floor(place / this.each);
    const pass = distinctPasses === undefined ? counted : counted % distinctPasses;
    if (pass !== this.#pass) this.#cut(pass);
    const index = place % this.each;
    return { pass, index, from: this.#first + length * this.#order[index]! };
  }

  #cut(pass: number): void {
    const random = new RandomStream(this.#options.seed, `packed texts/${pass}`);
    this.#pass = pass;
    this.#first = random.integer(this.#options.length);
    this.#order = random.shuffle(Array.from({ length: this.each }, (_, i) => i));
  }
}

function maskedPieces(
  ids: Int32Array,
  { cls, sep }: SpecialIds,
  vocabulary: MaskVocabulary,
  random: RandomStream,
  options: PackedOptions,
): PretrainingExample {
  const special = Uint8Array.from(ids, (id) => (id === cls || id === sep ? 1 : 0));
  const masked = maskWords(ids, special, vocabulary, random, options);
  const places = new Int32Array(options.maxPredictions);
  const labels = new Int32Array(options.maxPredictions);
  places.set(masked.positions);
  labels.set(masked.labels);
  const weights = new Float32Array(options.maxPredictions).fill(1, 0, masked.positions.length);
  return exampleOf(masked.ids, vocabulary.starts, places, labels, weights);
}

/** Every place but the last predicts the piece after it. */
function nextPieces(ids: Int32Array, next: Int32Array, starts: Uint8Array): PretrainingExample {
  const places = Int32Array.from(next, (_, i) => i);
  return exampleOf(ids, starts, places, next.slice(), new Float32Array(next.length).fill(1));
}

function exampleOf(
  inputIds: Int32Array,
  starts: Uint8Array,
  maskedPositions: Int32Array,
  maskedIds: Int32Array,
  maskedWeights: Float32Array,
): PretrainingExample {
  return {
    inputIds,
    inputMask: new Int32Array(inputIds.length).fill(1),
    segmentIds: new Int32Array(inputIds.length),
    tokenBoundary: Int32Array.from(inputIds, (id) => starts[id]!),
    maskedPositions,
    maskedIds,
    maskedWeights,
    orderLabel: 0,
  };
}
