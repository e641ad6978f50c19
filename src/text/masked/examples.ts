/** Masked-LM + sentence-order examples: made on the fly from documents, or stored as ALBERT's tf.Example shards. */
import { reject, rejectData, rejectFile } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import { decodeExample, encodeExample, type Feature } from "../../format/tfexample.ts";
import { type Documents, type PieceTokenizer, type SpecialIds, specialIds, startPieces } from "./documents.ts";
import { type MaskingOptions, type MaskVocabulary, maskWords } from "./masking.ts";
import { documentPairs, type Pair, type PairOptions } from "./sentence-order.ts";

/** How examples are cut, paired and masked. */
export interface PretrainingOptions extends PairOptions, MaskingOptions {
  seed: number;
}

/** ALBERT's settings. */
export const PRETRAINING_DEFAULTS: PretrainingOptions = {
  seed: 12345,
  length: 512,
  shortProbability: 0.1,
  randomNext: false,
  maxPredictions: 20,
  probability: 0.15,
  maxNgram: 3,
  favourShorter: true,
  wholeWord: true,
};

/** One example, zero-padded: the first four are [length], the next three [maxPredictions]. */
export interface PretrainingExample {
  inputIds: Int32Array;
  inputMask: Int32Array;
  segmentIds: Int32Array;
  /** 1 where a word begins, and on [CLS] and [SEP]. */
  tokenBoundary: Int32Array;
  maskedPositions: Int32Array;
  maskedIds: Int32Array;
  maskedWeights: Float32Array;
  /** 0: A comes before B; 1: swapped or random. */
  orderLabel: 0 | 1;
}

/** Where an endless stream of examples stands: all it takes to continue it. */
export interface PretrainingPosition {
  /** Passes over the documents done. */
  pass: number;
  /** Examples of this pass done. */
  index: number;
}

/** An endless, seeded stream of examples: every pass draws new chunks, a new order and new masks. */
export class PretrainingStream {
  readonly #documents: Documents;
  readonly #options: PretrainingOptions;
  readonly #special: SpecialIds;
  readonly #vocabulary: MaskVocabulary;
  #pairs: Pair[] = [];
  #pass = -1;
  #position: PretrainingPosition;

  constructor(
    documents: Documents,
    tokenizer: PieceTokenizer,
    options: Partial<PretrainingOptions> = {},
    position: PretrainingPosition = { pass: 0, index: 0 },
  ) {
    this.#options = { ...PRETRAINING_DEFAULTS, ...options };
    checkOptions(this.#options, documents);
    this.#documents = documents;
    this.#special = specialIds(tokenizer);
    this.#vocabulary = { size: tokenizer.size, mask: this.#special.mask, starts: startPieces(tokenizer) };
    this.#position = { ...position };
  }

  get position(): PretrainingPosition {
    return { ...this.#position };
  }

  /** Examples in the current pass. */
  get passLength(): number {
    return this.#pairsOf(this.#position.pass).length;
  }

  next(): PretrainingExample {
    if (this.#position.index >= this.passLength) this.#position = { pass: this.#position.pass + 1, index: 0 };
    const { pass, index } = this.#position;
    const pair = this.#pairsOf(pass)[index]!;
    this.#position.index++;
    const random = new RandomStream(this.#options.seed, `masks/${pass}/${index}`);
    return makeExample(pair, this.#special, this.#vocabulary, random, this.#options);
  }

  /** Passes over examples of this pass without making them. */
  skip(count: number): void {
    this.#position.index += count;
  }

  /** The shuffled pairs of a pass, kept until another pass is asked for. */
  #pairsOf(pass: number): Pair[] {
    if (pass === this.#pass) return this.#pairs;
    const random = new RandomStream(this.#options.seed, `pairs/${pass}`);
    const pairs: Pair[] = [];
    for (let i = 0; i < this.#documents.length; i++) {
      for (const pair of documentPairs(this.#documents, i, random, this.#options)) pairs.push(pair);
    }
    this.#pairs = random.shuffle(pairs);
    this.#pass = pass;
    return this.#pairs;
  }
}

function checkOptions({ length, maxPredictions, maxNgram }: PretrainingOptions, documents: Documents): void {
  const who = "masked-LM data";
  if (length < 8) reject({ who, needed: "a length of at least 8", got: `${length}` }, 2);
  if (maxPredictions < 1) reject({ who, needed: "at least 1 prediction", got: `${maxPredictions}` }, 2);
  if (maxNgram < 1) reject({ who, needed: "n-grams of at least 1 word", got: `${maxNgram}` }, 2);
  if (documents.length === 0) rejectData({ who, needed: "at least one sentence", got: "no text" });
}

/** [CLS] A [SEP] B [SEP], masked and padded. */
export function makeExample(
  { a, b, swapped }: Pair,
  { pad, cls, sep }: SpecialIds,
  vocabulary: MaskVocabulary,
  random: RandomStream,
  options: PretrainingOptions,
): PretrainingExample {
  const { length, maxPredictions } = options;
  const tokens = Int32Array.from([cls, ...a, sep, ...b, sep]);
  const special = new Uint8Array(tokens.length);
  special[0] = special[a.length + 1] = special[tokens.length - 1] = 1;
  const masked = maskWords(tokens, special, vocabulary, random, options);
  const inputIds = new Int32Array(length).fill(pad);
  inputIds.set(masked.ids);
  return {
    inputIds,
    inputMask: new Int32Array(length).fill(1, 0, tokens.length),
    segmentIds: new Int32Array(length).fill(1, a.length + 2, tokens.length),
    tokenBoundary: padded(
      [...tokens].map((id, i) => special[i]! | vocabulary.starts[id]!),
      length,
    ),
    maskedPositions: padded(masked.positions, maxPredictions),
    maskedIds: padded(masked.labels, maxPredictions),
    maskedWeights: new Float32Array(maxPredictions).fill(1, 0, masked.positions.length),
    orderLabel: swapped,
  };
}

function padded(values: readonly number[], length: number): Int32Array {
  const out = new Int32Array(length);
  out.set(values);
  return out;
}

/** Examples side by side: each field is [examples, …]. */
export type PretrainingBatch = Omit<PretrainingExample, "orderLabel"> & {
  rows: number;
  orderLabels: Int32Array;
  /** The words of each document as shares of 1, [rows, pieces], where they are to be guessed from those that are shown. */
  documentWords?: Float32Array;
  shownWords?: Float32Array;
  /** Both pieces of pairs of neighbours that are shown, and the pairs' shares of 1, [rows, pairs], where a model has vectors for pairs. */
  shownLefts?: Int32Array;
  shownRights?: Int32Array;
  pairShares?: Float32Array;
  /** Logarithms of the usual share of each word, [pieces]. */
  usualWords?: Float32Array;
};

/** Stacks examples of one shape into a batch. */
export function stackExamples(examples: readonly PretrainingExample[]): PretrainingBatch {
  const ints = (field: IntField) => Int32Array.from(examples.flatMap((example) => [...example[field]]));
  return {
    rows: examples.length,
    inputIds: ints("inputIds"),
    inputMask: ints("inputMask"),
    segmentIds: ints("segmentIds"),
    tokenBoundary: ints("tokenBoundary"),
    maskedPositions: ints("maskedPositions"),
    maskedIds: ints("maskedIds"),
    maskedWeights: Float32Array.from(examples.flatMap((example) => [...example.maskedWeights])),
    orderLabels: Int32Array.from(examples, ({ orderLabel }) => orderLabel),
  };
}

type IntField = "inputIds" | "inputMask" | "segmentIds" | "tokenBoundary" | "maskedPositions" | "maskedIds";

/** ALBERT's names of the integer fields. */
const FEATURE_NAMES: Readonly<Record<IntField, string>> = {
  inputIds: "input_ids",
  inputMask: "input_mask",
  segmentIds: "segment_ids",
  tokenBoundary: "token_boundary",
  maskedPositions: "masked_lm_positions",
  maskedIds: "masked_lm_ids",
};
const INT_FIELDS = Object.keys(FEATURE_NAMES) as IntField[];

/** Serialises an example as ALBERT's tf.Example. */
export function encodePretraining(example: PretrainingExample): Uint8Array<ArrayBuffer> {
  const features = new Map<string, Feature>();
  for (const field of INT_FIELDS) features.set(FEATURE_NAMES[field], { kind: "int", values: example[field] });
  features.set("masked_lm_weights", { kind: "float", values: [...example.maskedWeights] });
  features.set("next_sentence_labels", { kind: "int", values: [example.orderLabel] });
  return encodeExample(features);
}

/** Parses ALBERT's tf.Example; `source` names the record. A missing token_boundary is filled with zeros, as older files have none. */
export function decodePretraining(bytes: Uint8Array, source: string): PretrainingExample {
  const features = decodeExample(bytes, source);
  const ints = (name: string): Int32Array => {
    const feature = features.get(name);
    if (feature?.kind === "int" && feature.values instanceof Int32Array) return feature.values;
    return rejectFile({
      who: source,
      needed: `integers of 32 bits named ${name}`,
      got: feature?.kind === "int" ? "larger ones" : `features: ${namesOf(features)}`,
    });
  };
  const inputIds = ints("input_ids");
  const weights = features.get("masked_lm_weights");
  const example: PretrainingExample = {
    inputIds,
    inputMask: ints("input_mask"),
    segmentIds: ints("segment_ids"),
    tokenBoundary: features.has("token_boundary") ? ints("token_boundary") : new Int32Array(inputIds.length),
    maskedPositions: ints("masked_lm_positions"),
    maskedIds: ints("masked_lm_ids"),
    maskedWeights: Float32Array.from(weights?.kind === "float" ? weights.values : []),
    orderLabel: ints("next_sentence_labels")[0] === 1 ? 1 : 0,
  };
  checkExample(example, source);
  return example;
}

const namesOf = (features: ReadonlyMap<string, unknown>) => [...features.keys()].join(", ").slice(0, 200);

function checkExample(example: PretrainingExample, source: string): void {
  const { inputIds, inputMask, segmentIds, tokenBoundary, maskedPositions, maskedIds, maskedWeights } = example;
  const same = (fields: ArrayLike<number>[], what: string) => {
    const lengths = fields.map(({ length }) => length);
    if (new Set(lengths).size > 1)
      rejectFile({ who: source, needed: `${what} of one length`, got: lengths.join(", ") });
  };
  same([inputIds, inputMask, segmentIds, tokenBoundary], "input fields");
  same([maskedPositions, maskedIds, maskedWeights], "masked_lm fields");
  const outside = maskedPositions.find((at) => at < 0 || at >= inputIds.length);
  if (outside === undefined) return;
  rejectFile({ who: source, needed: `masked positions from 0 to ${inputIds.length - 1}`, got: `${outside}` });
}
