/** Settings of pre-training: an ALBERT whose tokens choose their depth, on masked words and the order of sentences. */
import { LARGEST } from "../../base/limits.ts";
import { parseDepth, printDepth } from "../../depth/notation.ts";
import {
  choice,
  defaultsOf,
  either,
  flag,
  fraction,
  group,
  optional,
  real,
  text,
  textLike,
  type ValuesOf,
  whole,
} from "../../runs/fields.ts";
import { defineSettings, type Resolved } from "../../runs/settings.ts";
import { depthField, endedInWords, saidAlone } from "../depth-words.ts";
import { activationNames, dataFields, hardwareFields, histogramEvery, lengthFields, recompute } from "../fields.ts";
import { budgetFields, candidates, choiceFields } from "../search/fields.ts";

const shapeForm = { pattern: /^[1-9]\d*x[1-9]\d*$/, needed: "texts x tokens, such as 1x128" };

const fields = {
  ...group("Data", {
    corpus: text(
      "books",
      "books (embedded), wikitext-2, a text file, a folder, stored examples (data examples), glue/TASK (its training texts), or several with commas between",
    ),
    ...dataFields,
    tokenizer: optional(
      text("", "a SentencePiece model with [CLS], [SEP] and [MASK]; default: one trained on the text"),
    ),
    pieces: optional(
      whole(
        8000,
        "vocabulary size of a trained tokenizer; default: 12,000, or what a short text supports",
        6,
        LARGEST.pieces,
      ),
    ),
    maskShare: real(0.15, "fraction of the tokens to predict", { from: 0, below: 1 }),
    predictions: optional(
      whole(20, "most tokens to predict per text; default: the fraction of a full text", 1, LARGEST.length),
    ),
    maxNgram: whole(3, "longest sequence of words masked together"),
    favourShorter: flag("shorter sequences of words are likelier", true),
    wholeWord: flag("all pieces of a word are masked, or none", true),
    shortTexts: fraction(0.1, "probability that a document is cut into shorter texts"),
    randomNext: flag("second segments from other documents instead of swapped ones (BERT's task)"),
    sentenceOrder: flag("guess whether two segments are in their order, which is noise where lines have none", true),
    lineDocuments: flag("every line is a document of its own, such as a review; else blank lines end documents"),
    packed: flag("texts are cut from the documents as they run, without padding; needs --no-sentence-order"),
    distinctPasses: optional(whole(40, "passes with masks of their own before they repeat; default: all are new")),
  }),
  ...group("Model", {
    width: whole(256, "width of the hidden state", 1, LARGEST.width),
    heads: whole(4, "attention heads; they divide the width", 1, LARGEST.heads),
    feedForward: optional(
      whole(1024, "width of the feed-forward layer; default: four times the width", 1, LARGEST.hidden),
    ),
    embedding: whole(128, "width of the embedding tables", 1, LARGEST.width),
    activation: choice(activationNames, "gelu_new", "activation of the feed-forward layer"),
    positions: optional(
      whole(512, "longest text the model can take; default: the longest it is trained on", 1, LARGEST.length),
    ),
    dropout: real(0, "fraction of activations and attention that is dropped", { from: 0, below: 1 }),
    norm: choice(["layer", "rms"], "layer", "with a depth in words: layer norms, or norms by the mean square alone"),
    keyHeads: optional(whole(2, "with a depth in words: heads of keys and values; default: as many as heads")),
    queryKeyNorm: flag("with a depth in words: bring every head's queries and keys to one size"),
    gated: flag("with a depth in words: a gate in the feed-forward layer; with silu this is SwiGLU"),
    withoutBias: flag("with a depth in words: products without a bias"),
    rotary: flag("with a depth in words: rotary positions in attention instead of learned ones"),
    pairs: whole(
      0,
      "rows of a table of pairs of neighbouring pieces, learnt from words of documents and read by finetune --pooling pairs; 0: none",
      0,
      LARGEST.pieces,
    ),
    resizeVocabulary: flag("with --init: keep the embeddings of pieces that both tokenizers have, draw the others"),
    frequencyBias: flag(
      "the first guess of a masked word is how frequent each is, so that embeddings need not learn it",
    ),
  }),
  ...group("Depth", {
    depth: depthField(
      "iterations of the shared layer: the most, or with a fixed depth policy all; or which blocks run, how often and who decides: 2*3 halt (docs/depth.md)",
      6,
    ),
    depthPolicy: choice(["adaptive", "fixed"], "adaptive", "each token halts by itself, or all run to the full depth"),
    ponder: real(0.01, "penalty τ on depths plus remainders; 0: halting without a penalty"),
    ponderReduce: choice(
      ["mean", "sum"],
      "mean",
      "penalty on the mean over tokens, or on their sum per text (as the original)",
    ),
    ponderFrom: fraction(
      0,
      "fraction of the updates before the halting unit learns and is penalised: depth is learnt first",
    ),
    ponderWarmup: fraction(0.1, "fraction of the updates over which the penalty then grows from 0"),
    haltBias: real(0, "first bias of the halting unit: 0 halts early, -3 late", {}),
    haltRate: real(1, "the halting unit's learning rate, as a fraction of the others'"),
    haltEpsilon: real(0.01, "a token halts when its probabilities exceed 1 − epsilon", { from: 0, below: 1 }),
    haltAtCap: flag("a token that runs to the last depth pays for what is left of its probability", true),
    accumulateStates: choice(["blend", "weightedSum"], "blend", "states move towards each output, or are their mean"),
    stepEmbedding: flag("adds a learned vector before each iteration"),
  }),
  ...group("Search", {
    search: flag("search which blocks the encoder wants: attention, feed-forward or nothing at each of --blocks"),
    blocks: optional(
      either(
        whole(8, "", 1, LARGEST.depth),
        text("sf", ""),
        "blocks with weights of their own instead of a shared layer, such as (sff)x2; with search, how many",
        "a whole number from 1, or a pattern such as (sff)x2",
      ),
    ),
    candidates,
    ...choiceFields,
    ...budgetFields,
    latency: optional(
      textLike("1x128", "texts x tokens at which latency is measured; default: one text of --length", shapeForm),
    ),
  }),
  ...group("Optimisation", {
    length: whole(128, "tokens per text, [CLS] and two [SEP] included", 8, LARGEST.length),
    batch: whole(16, "texts per batch", 1, LARGEST.batch),
    accumulate: whole(1, "batches per update", 1, LARGEST.accumulate),
    recompute,
    optimiser: choice(
      ["lamb", "adamw", "muon"],
      "lamb",
      "lamb, adamw, or muon for the layer's matrices and adamw else",
    ),
    rate: optional(real(0.002, "highest learning rate; default: 0.005 for lamb, 0.001 for adamw, 0.006 for muon")),
    schedule: choice(
      ["linear", "cosine", "constant", "polynomial"],
      "linear",
      "learning rate schedule after the warm-up; polynomial: the original's, which is not shifted by it",
    ),
    warmup: real(0.05, "fraction of the updates over which the rate rises; from 1: this many updates"),
    weightDecay: real(0.01, "decay of matrices; biases and norms have none"),
    clipNorm: optional(real(1, "largest gradient norm; none: no limit"), 1),
    seed: whole(1, "seed of weights, texts and masks", 0),
  }),
  ...group("Before masked words", {
    documentShare: real(
      0,
      "fraction of the updates, the first ones, in which the word table alone learns to guess the words of a document from half of them",
      { from: 0, below: 1 },
    ),
    documentBatch: whole(256, "documents per update there", 1, LARGEST.batch),
    documentRate: real(0.003, "highest learning rate there"),
    tableRate: real(1, "after that, the tables' learning rate as a multiple of the others'; 0: they rest", { from: 0 }),
    causalShare: real(
      0,
      "fraction of the updates, the first ones or after those, in which every token predicts the next and sees only those before it",
      { from: 0, below: 1 },
    ),
  }),
  ...group("Second phase", {
    longLength: optional(whole(512, "tokens per text in a second phase; default: no second phase", 8, LARGEST.length)),
    longShare: real(0.1, "fraction of the updates that the second phase has", { from: 0, below: 1 }),
    longBatch: optional(whole(4, "texts per batch there; default: as many tokens as before", 1, LARGEST.batch)),
    longRate: optional(
      real(0.0003, "highest learning rate there; default: 0.156 of the first phase's, as the original"),
    ),
    longWarmup: real(0.025, "as warmup, for the second phase"),
  }),
  ...lengthFields,
  ...group("Evaluation and checkpoints", {
    evaluateEvery: whole(500, "updates between evaluations"),
    evaluateTexts: whole(256, "texts of the valid part to evaluate on, always the same"),
    checkpointEvery: whole(100, "updates between checkpoints"),
    keep: whole(2, "checkpoints kept besides the best"),
    histogramEvery,
  }),
  ...hardwareFields,
};

/** Sizes and schedule of the published models; they differ in depth and penalty only. 4,096 texts per update. */
const original = {
  width: 768,
  heads: 12,
  feedForward: 3072,
  embedding: 128,
  positions: 512,
  predictions: 20,
  distinctPasses: 40,
  ponderReduce: "sum",
  ponderWarmup: 0,
  haltBias: 0,
  haltAtCap: false,
  length: 128,
  batch: 8,
  accumulate: 512,
  optimiser: "lamb",
  rate: 0.00176,
  schedule: "polynomial",
  warmup: 3125,
  longLength: 512,
  longShare: 0.1,
  longBatch: 8,
  longRate: 0.000275,
  longWarmup: 312,
  steps: 125_000,
  evaluateEvery: 5000,
  checkpointEvery: 5000,
  keep: 10,
} as const;

/** The three of them; their former names are still presets. */
const published = {
  tiny: { ...original, depth: 6, ponder: 1e-3 },
  small: { ...original, depth: 12, ponder: 5e-4 },
  base: { ...original, depth: 24, ponder: 2.5e-4 },
};

/** Highest learning rates that served on small models. */
const rates = { lamb: 0.005, adamw: 0.001, muon: 0.006 } as const;
/** What the original's second phase has of the first one's rate. */
const LONG_RATE = 0.156;

/** Settings that only a search looks at. */
export const searchKeys = ["search", "candidates", ...Object.keys(choiceFields), ...Object.keys(budgetFields)] as const;

/** Settings that a depth in words says itself. */
const saidInDepth = [
  "search",
  "blocks",
  "depthPolicy",
  "ponder",
  "ponderReduce",
  "ponderFrom",
  "ponderWarmup",
  "haltBias",
  "haltEpsilon",
  "haltAtCap",
  "accumulateStates",
  "stepEmbedding",
] as const;

/** A number says how often one layer runs; as many layers with weights of their own are `6*1`, which would print as 6. */
function inWords(depth: string, given: Readonly<Record<string, unknown>>): string | number {
  const written = printDepth(parseDepth(depth));
  if (/^\s*\d+\s*$/.test(depth)) return Number(written);
  const told = { who: "depth", said: saidInDepth, given, defaults: defaultsOf(fields) };
  return saidAlone(/^\d+$/.test(written) ? `${written}*1` : written, told);
}

/** Blocks run once; a search has eight of them unless told otherwise. */
function usualIn({ search, blocks }: Partial<Pick<ValuesOf<typeof fields>, "search" | "blocks">>) {
  const hasBlocks = search === true || (blocks ?? null) !== null;
  return { ...(hasBlocks ? { depthPolicy: "fixed" as const } : {}), ...(search ? { blocks: 8 } : {}) };
}

/** The schema of pre-training's settings. */
export const pretrainSettings = defineSettings("pretrain", fields, {
  presets: {
    "albert-act-tiny": published.tiny,
    "albert-act-small": published.small,
    "albert-act-base": published.base,
    ...published,
    /** Trains within two hours of two cores. It starts deep and first learns to use its depth; docs/log.md has the trials. */
    laptop: {
      width: 192,
      heads: 6,
      embedding: 128,
      depth: 6,
      length: 64,
      batch: 32,
      positions: 128,
      maskShare: 0.3,
      optimiser: "muon",
      schedule: "linear",
      minutes: 110,
      longLength: 128,
      accumulateStates: "weightedSum",
      haltBias: -3,
      haltRate: 0.05,
      ponder: 0.005,
      ponderFrom: 0.3,
      ponderWarmup: 0.1,
    },
    /** Vectors of words and pairs of words that know what texts are about, in twelve minutes of one core: for few labels (finetune --head-start fitted --pooling pairs). */
    "few-labels": {
      pieces: 16_000,
      width: 256,
      heads: 4,
      embedding: 256,
      feedForward: 512,
      depth: 3,
      length: 128,
      positions: 1024,
      maskShare: 0.3,
      sentenceOrder: false,
      packed: true,
      frequencyBias: true,
      optimiser: "muon",
      rate: 0.001,
      documentShare: 0.92,
      tableRate: 0.05,
      pairs: 131_072,
      accumulateStates: "weightedSum",
      haltBias: -2,
      haltRate: 0.1,
      steps: 1300,
      evaluateEvery: 300,
    },
    /** A search of eight blocks on the embedded books, about two minutes on two cores. */
    "par-bert": {
      search: true,
      blocks: 8,
      pieces: 1000,
      width: 64,
      heads: 2,
      embedding: 64,
      length: 64,
      batch: 16,
      maskShare: 0.2,
      sentenceOrder: false,
      packed: true,
      optimiser: "adamw",
      rate: 0.002,
      steps: 600,
      evaluateEvery: 100,
      checkpointEvery: 100,
    },
    /** Half a minute: to see that everything runs, and tokens that stop after different depths. */
    trial: {
      width: 64,
      heads: 2,
      embedding: 64,
      depth: 4,
      length: 32,
      batch: 16,
      pieces: 500,
      optimiser: "muon",
      accumulateStates: "weightedSum",
      haltBias: -2,
      haltRate: 0.3,
      ponderFrom: 0.3,
      steps: 400,
      evaluateEvery: 100,
      evaluateTexts: 32,
      checkpointEvery: 100,
    },
  },
  usual: usualIn,
  ends: endedInWords(saidInDepth),
  derive: ({ optimiser, steps, epochs, minutes, budget, depth, ...given }) => {
    const rate = given.rate ?? rates[optimiser];
    const isOpen = steps === null && epochs === null && minutes === null;
    return {
      rate,
      depth: typeof depth === "string" ? inWords(depth, given) : depth,
      longRate: given.longRate ?? LONG_RATE * rate,
      steps: isOpen ? 1000 : steps,
      budget: budget === null ? null : `${budget}`,
    };
  },
});

/** Settings of pre-training as they are when a run begins: rates are known. */
export type PretrainingConfig = Resolved<typeof pretrainSettings>;

/** Settings where none are given. */
export const pretrainDefaults: PretrainingConfig = pretrainSettings.resolve([]);
