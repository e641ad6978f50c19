/** Fields that the settings of several tasks have in common. */
import { LARGEST } from "../base/limits.ts";
import { type ShareMode, shareModes } from "../depth/plan.ts";
import { choice, flag, group, optional, real, text, textLike, whole } from "../runs/fields.ts";

/** Activations of feed-forward layers. */
export const activationNames = ["gelu", "gelu_new", "relu", "relu2", "silu", "tanh"] as const;

/** Where data, tokenizers and trained vocabularies come from. */
export const dataFields = group("Data", {
  tokenizer: optional(
    text(
      "",
      "a SentencePiece model by name or file, a tokenizer.json with byte-level BPE, bytes, or words (the most frequent); default: the data's own, or one trained on it",
    ),
  ),
  pieces: optional(
    whole(
      4000,
      "vocabulary size of a trained tokenizer; default: 12,000, or what a short text supports",
      2,
      LARGEST.pieces,
    ),
  ),
  data: optional(text("", "folder of datasets and tokenizers; default: LAYERWISE_DATA, or one in the cache")),
});

/** What sets newer blocks apart, of every task that has them. */
export const styleFields = group("Model", {
  norm: choice(["layer", "rms"], "layer", "layer norms, or norms by the mean square alone"),
  gated: flag("a gate in the feed-forward layer: with silu this is SwiGLU"),
  untied: flag("a head of its own instead of the embedding's transpose"),
});

const planForm = {
  pattern: /^\d+([\s,]+\d+)*$/,
  needed: `block numbers from 0 without gaps, such as 0,1,2,2,1,0, at most ${LARGEST.depth}`,
  fits: (plan: string) => {
    const numbers = plan.split(/[\s,]+/).map(Number);
    return numbers.length <= LARGEST.depth && new Set(numbers).size === Math.max(...numbers) + 1;
  },
};

/** The order of blocks by hand. */
export const plan = (description: string) => textLike("0,1,1", description, planForm);

/** Which block runs at each depth. */
export const planFields = group("Depth", {
  depth: whole(4, "blocks that run", 1, LARGEST.depth),
  unique: optional(whole(4, "blocks that own weights; default: as many as run", 1, LARGEST.depth)),
  share: choice(Object.keys(shareModes) as ShareMode[], "cycle", "order in which shared blocks run"),
  plan: optional(plan("the order by hand, such as 0,1,2,2,1,0, instead of depth, unique and share")),
});

/** Activations again instead of kept, for every task that trains whole models. */
export const recompute = flag(
  "compute activations again instead of keeping them: about half the memory, a third more time, the same weights",
);

/** Optimisation of language models and of translation. */
const optimisationFields = group("Optimisation", {
  batch: whole(16, "rows per batch", 1, LARGEST.batch),
  accumulate: whole(1, "batches per update", 1, LARGEST.accumulate),
  recompute,
  optimiser: choice(
    ["muon", "adamw", "adam", "lamb", "sgd"],
    "muon",
    "muon for hidden matrices with adamw for the rest, adamw, adam, lamb or sgd",
  ),
  rate: optional(
    real(
      0.002,
      "highest learning rate; default: 0.006 for muon, 0.002 for adam and adamw, 0.005 for lamb, 0.05 for sgd",
    ),
  ),
  schedule: choice(
    ["cosine", "linear", "constant", "inverse-sqrt"],
    "cosine",
    "learning rate schedule after the warm-up",
  ),
  warmup: optional(
    whole(50, "updates over which the learning rate rises; default: a tenth of them, at most 50 (translate: 200)", 0),
  ),
  floor: real(0.1, "fraction of the highest rate that is left at the end (cosine, linear)", { from: 0, to: 1 }),
  weightDecay: real(0.05, "decay of matrices; biases and norms have none"),
  momentum: real(0.9, "momentum of sgd", { from: 0, below: 1 }),
  clipNorm: optional(real(1, "largest gradient norm; larger gradients are scaled down; none: no limit"), 1),
  clipValue: optional(real(1, "largest number in a gradient; default: no limit")),
  seed: whole(1, "seed of weights, data order and dropout", 0),
  init: optional(text("", "start from the weights of another run; of a language model also one of another depth")),
  initStep: optional(whole(1000, "the step of that run's checkpoint; default: its last", 0)),
});

/** Highest learning rates that served on small models. */
export const usualRates = { muon: 0.006, adamw: 0.002, adam: 0.002, lamb: 0.005, sgd: 0.05 } as const;

/** Presets of language models and of translation. */
export const smallPresets = {
  /** A minute or two on two cores. */
  quick: { minutes: 1.5, evaluateEvery: 100, checkpointEvery: 100 },
  /** Small enough for tests and for trying things out. */
  tiny: {
    pieces: 300,
    width: 32,
    heads: 2,
    depth: 2,
    length: 32,
    batch: 8,
    steps: 60,
    warmup: 10,
    evaluateEvery: 20,
    checkpointEvery: 20,
  },
};

/** How long to train: one of the three. */
export const lengthFields = group("Length", {
  steps: optional(whole(1000, "train for this many updates", 1, LARGEST.steps)),
  epochs: optional(real(1, "train for this many passes over the data")),
  minutes: optional(real(1, "train for this many minutes")),
});

/** On how much of a large text models are evaluated: WikiText's valid and test text is a third of it. */
export const evaluateTokens = whole(1_000_000, "evaluate on at most this many tokens of a split; 0: all", 0);

/** Weights in TensorBoard, for every task that trains whole models. */
export const histogramEvery = optional(
  whole(1, "evaluations between histograms of every trained parameter in TensorBoard; default: none", 1, LARGEST.steps),
);

/** Evaluations and checkpoints of language models and of translation. */
const habitFields = group("Evaluation and checkpoints", {
  evaluateEvery: optional(whole(250, "updates between evaluations; default: each epoch, at most every 500")),
  evaluateTokens,
  checkpointEvery: whole(50, "updates between checkpoints"),
  keep: whole(3, "checkpoints kept besides the best"),
  histogramEvery,
  patience: optional(whole(5, "stop after this many evaluations without a new best; default: never")),
});

/** What programs run on. */
export const hardwareFields = group("Hardware", {
  threads: optional(whole(2, "threads of ONNX Runtime; default: physical cores", 1, LARGEST.threads)),
  device: choice(["cpu", "cuda", "webgpu", "dml"], "cpu", "where programs run"),
  localSteps: whole(
    1,
    "under mpirun: updates between averages of weights; 1: gradients are summed at each",
    1,
    LARGEST.steps,
  ),
});

/** How language models and translation are trained, as far as it is the same. */
export const trainFields = { ...optimisationFields, ...lengthFields, ...habitFields, ...hardwareFields };
