/** Batches of running text: documents one after another, cut into texts of one length, with no padding. */
import { reject } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import type { MaskedBatches } from "./batches.ts";
import { type Document, type PieceTokenizer, type SpecialIds, specialIds, startPieces } from "./documents.ts";
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
  documents: readonly Document[],
  tokenizer: PieceTokenizer,
  options: PackedOptions,
): MaskedBatches {
  const special = specialIds(tokenizer);
  const running = runningText(documents, special);
  const cuts = new Cuts(running.length, options);
  const starts = startPieces(tokenizer);
  const vocabulary: MaskVocabulary = { size: tokenizer.size, mask: special.mask, starts };
  const { rows, length } = options;
  const example = (place: number): PretrainingExample => {
    const { pass, index, from } = cuts.at(place);
    const ids = running.slice(from, from + length);
    if (options.causal) return nextPieces(ids, running.subarray(from + 1, from + length), starts);
    const random = new RandomStream(options.seed, `packed masks/${pass}/${index}`);
    return maskedPieces(ids, special, vocabulary, random, options);
  };
  const at = (place: number) => stackExamples(Array.from({ length: rows }, (_, i) => example(place * rows + i)));
  return { count: Math.max(1, Math.floor(cuts.each / rows)), rows, length, tokens: rows * length, fresh: true, at };
}

/** [CLS] document [SEP], one after another. */
function runningText(documents: readonly Document[], { cls, sep }: SpecialIds): Int32Array {
  const sizes = documents.map((sentences) => sentences.reduce((sum, { length }) => sum + length, 2));
  const text = new Int32Array(sizes.reduce((sum, size) => sum + size, 0));
  let at = 0;
  for (const sentences of documents) {
    text[at++] = cls;
    for (const ids of sentences) {
      text.set(ids, at);
      at += ids.length;
    }
    text[at++] = sep;
  }
  return text;
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
