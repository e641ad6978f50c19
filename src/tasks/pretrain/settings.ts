/** Settings of `layerwise pretrain`: one literal of defaults with a word on each, and the presets. */
import { activations } from "../../nn/index.ts";
import {
  choice,
  flag,
  type Layer,
  open,
  presetFrom,
  real,
  Schema,
  type SettingsOf,
  text,
  whole,
} from "../../runs/settings.ts";

/** The defaults. */
export const fields = {
  // Data
  corpus: text(
    "books",
    "books (embedded), wikitext-2, a text file, a folder, stored examples (data examples), glue/TASK (its training texts), or several with commas between",
  ),
  tokenizer: open(text("", "a SentencePiece model with [CLS], [SEP] and [MASK]; open: one trained on the text")),
  pieces: open(whole(8000, "vocabulary size of a trained tokenizer; open: 12,000, or what a short text supports", 6)),
  data: open(text("", "folder of datasets and tokenizers; open: LAYERWISE_DATA, or one in the cache")),
  maskShare: real(0.15, "part of the tokens to predict", 0, 1),
  predictions: open(whole(20, "most tokens to predict in a text; open: the share of a full text")),
  maxNgram: whole(3, "longest run of words masked together"),
  favourShorter: flag("shorter runs of words are likelier", true),
  wholeWord: flag("all pieces of a word are masked, or none", true),
  shortTexts: real(0.1, "chance that a document is cut into shorter texts", 0, 1.000001),
  randomNext: flag("second segments from other documents instead of swapped ones (BERT's task)"),
  sentenceOrder: flag("guess whether two segments stand in their order, which is noise where lines have none", true),
  distinctPasses: open(whole(40, "passes with masks of their own before they repeat; open: all are new")),

  // Model
  width: whole(256, "width of the hidden state"),
  heads: whole(4, "attention heads; they divide the width"),
  hidden: open(whole(1024, "width of the feed-forward layer; open: four times the width")),
  embedding: whole(128, "width of the embedding tables"),
  depth: whole(6, "iterations of the shared layer: the most, or with --depth-policy fixed all"),
  activation: choice(
    Object.keys(activations) as (keyof typeof activations)[],
    "gelu_new",
    "activation of the feed-forward layer",
  ),
  positions: open(whole(512, "longest text the model can take; open: the longest it is trained on")),
  dropout: real(0, "part of activations and attention that is dropped", 0, 1),
  frequencyBias: flag("the first guess of a masked word is how frequent each is, so that embeddings need not learn it"),

  // Depth
  depthPolicy: choice(["adaptive", "fixed"], "adaptive", "each token halts by itself, or all run to the full depth"),
  ponder: real(0.01, "penalty τ on depths plus remainders; 0: halting without a penalty"),
  ponderReduce: choice(["mean", "sum"], "mean", "penalty on the mean over tokens, or on their sum a text (original)"),
  ponderFrom: real(
    0,
    "part of the updates before the halting unit learns and is penalised: depth is learnt first",
    0,
    1.000001,
  ),
  ponderWarmup: real(0.1, "part of the updates over which the penalty then grows from 0", 0, 1.000001),
  haltBias: real(0, "first bias of the halting unit: 0 halts early, -3 late", -Infinity),
  haltRate: real(1, "the halting unit's learning rate, as a part of the others'"),
  haltEpsilon: real(0.01, "a token halts when its probabilities exceed 1 − epsilon", 0, 1),
  haltAtCap: flag("a token that runs to the last depth pays for what is left of its probability", true),
  accumulateStates: choice(["blend", "weightedSum"], "blend", "states move towards each output, or are their mean"),
  stepEmbedding: flag("adds a learned vector before each iteration"),

  // Optimisation
  length: whole(128, "tokens of a text, [CLS] and two [SEP] included", 8),
  batch: whole(16, "texts of a batch"),
  accumulate: whole(1, "batches for one update"),
  optimiser: choice(["lamb", "adamw", "muon"], "lamb", "lamb, adamw, or muon for the layer's matrices and adamw else"),
  rate: open(real(0.002, "highest learning rate; open: 0.005 for lamb, 0.001 for adamw, 0.006 for muon")),
  schedule: choice(
    ["linear", "cosine", "constant", "polynomial"],
    "linear",
    "course of the rate after the warm-up; polynomial: the original's, which is not shifted by it",
  ),
  warmup: real(0.05, "part of the updates over which the rate rises; from 1: so many updates"),
  weightDecay: real(0.01, "decay of matrices; biases and norms have none"),
  clipNorm: open(real(1, "longest gradient; none: no limit"), 1),
  seed: whole(1, "seed of weights, texts and masks", 0),

  // The second phase
  longLength: open(whole(512, "tokens of a text in a second phase; open: no second phase", 8)),
  longShare: real(0.1, "part of the updates that the second phase has", 0, 1),
  longBatch: open(whole(4, "texts of a batch there; open: as many tokens as before")),
  longRate: open(real(0.0003, "highest learning rate there; open: 0.156 of the first phase's, as the original")),
  longWarmup: real(0.025, "as warmup, for the second phase"),

  // Length and habits
  steps: open(whole(1000, "train for so many updates")),
  epochs: open(real(1, "train for so many passes over the text")),
  minutes: open(real(60, "train for so many minutes")),
  evaluateEvery: whole(500, "evaluate every so many updates"),
  evaluateTexts: whole(256, "texts of the valid part to evaluate on, always the same"),
  checkpointEvery: whole(100, "store the state every so many updates"),
  keep: whole(2, "checkpoints kept besides the best"),
  threads: open(whole(2, "threads of ONNX Runtime; open: physical cores")),
  device: choice(["cpu", "cuda", "webgpu", "dml"], "cpu", "where programs run"),
} as const;

export const pretrainingSchema = new Schema(fields, "pretrain");

type Settings = SettingsOf<typeof fields>;
/** Settings as they are when a run begins: rates are known. */
export type PretrainingConfig = Settings & { rate: number; longRate: number };

/** Sizes and schedule of the published models; they differ in depth and penalty only. 4,096 texts an update. */
const original: Partial<Settings> = {
  ...{ width: 768, heads: 12, hidden: 3072, embedding: 128, positions: 512, predictions: 20, distinctPasses: 40 },
  ...{ ponderReduce: "sum", ponderWarmup: 0, haltBias: 0, haltAtCap: false },
  ...{ length: 128, batch: 8, accumulate: 512, optimiser: "lamb", rate: 0.00176, schedule: "polynomial", warmup: 3125 },
  ...{ longLength: 512, longShare: 0.1, longBatch: 8, longRate: 0.000275, longWarmup: 312 },
  ...{ steps: 125_000, evaluateEvery: 5000, checkpointEvery: 5000, keep: 10 },
};

export const pretrainingPresets: Readonly<Record<string, Partial<Settings>>> = {
  tiny: { ...original, depth: 6, ponder: 1e-3 },
  small: { ...original, depth: 12, ponder: 5e-4 },
  base: { ...original, depth: 24, ponder: 2.5e-4 },
  /** Trains within two hours of two cores. It starts deep and first learns to use its depth; docs/log.md has the trials. */
  laptop: {
    ...{ width: 192, heads: 6, embedding: 128, depth: 6, length: 64, batch: 32, positions: 128, maskShare: 0.3 },
    ...{ optimiser: "muon", schedule: "linear", minutes: 110, longLength: 128 },
    ...{ accumulateStates: "weightedSum", haltBias: -3, haltRate: 0.05 },
    ...{ ponder: 0.005, ponderFrom: 0.3, ponderWarmup: 0.1 },
  },
  /** Seconds: to see that everything runs. */
  trial: {
    ...{ width: 32, heads: 2, embedding: 16, depth: 4, length: 32, batch: 8, pieces: 300, steps: 40 },
    ...{ evaluateEvery: 20, evaluateTexts: 32, checkpointEvery: 20 },
  },
};

/** Highest learning rates that served on small models. */
const rates = { lamb: 0.005, adamw: 0.001, muon: 0.006 } as const;
/** What the original's second phase has of the first one's rate. */
const LONG_RATE = 0.156;

export const pretrainingPreset = (name: string): Partial<Settings> => presetFrom(pretrainingPresets, name);

/** defaults < preset < file < flags. */
export function resolvePretraining(layers: readonly Layer<Settings>[]): PretrainingConfig {
  const settings = pretrainingSchema.resolve(pretrainingSchema.defaults, layers);
  const rate = settings.rate ?? rates[settings.optimiser];
  const open = settings.steps === null && settings.epochs === null && settings.minutes === null;
  return { ...settings, rate, longRate: settings.longRate ?? LONG_RATE * rate, ...(open ? { steps: 1000 } : {}) };
}
