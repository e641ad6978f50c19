/** Settings of language models: text, a causal transformer, and which of its blocks run at each depth. */
import { LARGEST } from "../../base/limits.ts";
import { choice, defaultsOf, flag, group, optional, real, text, whole } from "../../runs/fields.ts";
import { defineSettings, type Resolved } from "../../runs/settings.ts";
import { depthField, depthInWords, endedInWords } from "../depth-words.ts";
import {
  activationNames,
  dataFields,
  planFields,
  smallPresets,
  styleFields,
  trainFields,
  usualRates,
} from "../fields.ts";

const fields = {
  ...group("Data", {
    corpus: text("books", "books (embedded), wikitext-2, a text file, or a folder with train, valid and test"),
    ...dataFields,
    cased: flag("keep upper case in a trained tokenizer"),
  }),
  ...group("Model", {
    width: whole(192, "width of the hidden state", 1, LARGEST.width),
    heads: whole(6, "attention heads; they divide the width", 1, LARGEST.heads),
    feedForward: optional(
      whole(768, "width of the feed-forward layer; default: four times the width", 1, LARGEST.hidden),
    ),
    activation: choice(activationNames, "gelu", "activation of the feed-forward layer"),
    length: whole(128, "tokens per row of a batch, and the longest context", 1, LARGEST.length),
    dropout: real(0.1, "fraction of activations and attention that is dropped in training", { from: 0, below: 1 }),
    positions: choice(["learned", "rotary"], "learned", "a learned vector for each place, or rotary ones in attention"),
    rotaryBase: real(10_000, "base of rotary positions", { above: 1 }),
    norm: styleFields.norm,
    normEpsilon: real(1e-5, "what norms add to the variance or mean square", { above: 0 }),
    keyHeads: optional(whole(2, "heads of keys and values, shared among heads; default: as many as heads")),
    queryKeyNorm: flag("bring every head's queries and keys to one size"),
    gated: styleFields.gated,
    withoutBias: flag("products without a bias"),
    untied: styleFields.untied,
  }),
  ...planFields,
  ...group("Depth", {
    depth: depthField("blocks that run; or which, how often and who decides: 2 + 4*3 halt + 1 (docs/depth.md)"),
    halt: flag("every token halts by itself, after as many of the depths as it needs"),
    ponder: real(0.01, "penalty on the mean depth of halting models"),
    ponderFrom: whole(0, "updates before the halting unit learns and is penalised: depth is learnt first", 0),
    ponderWarmup: whole(0, "updates over which the penalty then grows from 0", 0),
    haltBias: real(0, "first bias of the halting unit: 0 halts early, -3 late", {}),
    haltRate: real(1, "the halting unit's learning rate, as a multiple of the others'"),
    accumulateStates: choice(["blend", "weightedSum"], "blend", "states move towards each output, or are their mean"),
  }),
  ...trainFields,
  ...group("Optimisation", {
    initBlocks: choice(
      ["average", "stepwise", "first"],
      "average",
      "with init of another depth: shared blocks are the mean of those at their depths, evenly spaced ones, or the first",
    ),
  }),
  ...group("Evaluation and checkpoints", {
    evaluationBatch: optional(
      whole(16, "rows per batch in evaluation; 0: as in training; default: the fastest", 0, LARGEST.batch),
    ),
  }),
};

/** Settings that say the same as a written depth. */
const saidInDepth = [
  "unique",
  "share",
  "plan",
  "halt",
  "ponder",
  "ponderFrom",
  "ponderWarmup",
  "haltBias",
  "accumulateStates",
] as const;

/** The schema of a language model's settings. */
export const languageSettings = defineSettings("language", fields, {
  command: "train",
  presets: {
    ...smallPresets,
    /** Tokens of the embedded books that halt by themselves: half a minute on two cores. The unit rests until depth is of use. */
    halting: {
      pieces: 1000,
      width: 64,
      heads: 4,
      depth: 6,
      unique: 1,
      length: 64,
      batch: 8,
      dropout: 0,
      halt: true,
      haltBias: -2,
      accumulateStates: "weightedSum",
      ponder: 0.01,
      ponderFrom: 120,
      ponderWarmup: 40,
      schedule: "linear",
      floor: 0,
      weightDecay: 0.01,
      steps: 400,
      warmup: 20,
      evaluateEvery: 100,
      checkpointEvery: 100,
    },
    /** The fixed-depth baseline on WikiText-2. */
    wikitext: {
      corpus: "wikitext-2",
      tokenizer: "wiki2_12k",
      width: 256,
      heads: 8,
      depth: 6,
      length: 64,
      batch: 32,
      minutes: 10,
      dropout: 0.15,
      optimiser: "adamw",
      rate: 0.0015,
      warmup: 100,
    },
  },
  ends: endedInWords(saidInDepth),
  derive: ({ rate, optimiser, steps, epochs, minutes, depth, ...given }) => ({
    task: "language" as const,
    depth:
      typeof depth === "string"
        ? depthInWords(depth, { who: "depth", said: saidInDepth, given, defaults: defaultsOf(fields) })
        : depth,
    rate: rate ?? usualRates[optimiser],
    steps: steps === null && epochs === null && minutes === null ? 1000 : steps,
  }),
  elsewhere: {
    source: "task translate",
    target: "task translate",
    smoothing: "task translate",
    parts: "task translate",
    norms: "task translate",
    decoderPlan: "task translate",
    decoderDepth: "task translate",
  },
});

/** Settings of a language model as they are when a run begins. */
export type LanguageConfig = Resolved<typeof languageSettings>;
