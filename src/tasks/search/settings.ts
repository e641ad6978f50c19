/** Settings of a search: a Transformer-XL whose blocks are chosen, how it is trained, and when a choice is made. */

import type { LatencyShape } from "../../analysis/latency.ts";
import { reject } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import { parseDepth, printDepth } from "../../depth/notation.ts";
import { writtenNetwork } from "../../model/par/written.ts";
import {
  choice,
  defaultsOf,
  either,
  flag,
  fraction,
  group,
  list,
  openList,
  optional,
  real,
  shape,
  text,
  type ValuesOf,
  whole,
} from "../../runs/fields.ts";
import { defineSettings, type Resolved } from "../../runs/settings.ts";
import type { Length } from "../../train/loop.ts";
import { scheduleNames } from "../../train/schedule.ts";
import { dataFields, evaluateTokens, hardwareFields, lengthFields, usualRates } from "../fields.ts";
import { budgetFields, candidates, choiceFields, pacedBy } from "./fields.ts";

const shapeNeeded = "batch x segment + memory, such as 1x64+640";

const data = group("Data", {
  corpus: text("books", "books (embedded), wikitext-2, a text file, or a folder with train, valid and test"),
  ...dataFields,
  originalBatches: flag("evaluate on the original's batches, whose last ones repeat tokens"),
});
const sizes = group("Model", {
  width: whole(128, "width of the hidden state", 1, LARGEST.width),
  heads: whole(4, "attention heads", 1, LARGEST.heads),
  feedForward: whole(512, "width of the feed-forward blocks", 1, LARGEST.hidden),
  memory: whole(16, "steps of memory", 0, LARGEST.length),
  evaluationMemory: optional(whole(64, "steps of memory in evaluation; default: as in training", 0, LARGEST.length)),
  dropout: real(0, "fraction of activations dropped in training", { from: 0, below: 1 }),
  attentionDropout: real(0, "fraction of attention's probabilities dropped in training", { from: 0, below: 1 }),
  cutoffs: openList(
    whole(0, "", 0),
    [250, 2500],
    "ends of the softmax clusters; none: plain softmax; default: 250 and 2500, as far as the vocabulary has them",
    "a list of whole numbers, such as 250,2500",
  ),
  factor: real(4, "each tail's projection is narrower by this factor"),
  tied: flag(
    "input embedding and softmax share vectors: with cutoffs those before the first, or all with adaptiveInput",
  ),
  projectionSizes: optional(
    list(whole(1, ""), [64, 16], "projection sizes, one per tail, instead of the factor", "a list of whole numbers"),
  ),
});
const optimisation = group("Optimisation", {
  batch: whole(32, "rows per batch", 1, LARGEST.batch),
  accumulate: whole(
    1,
    "batches of rows per update, one after another: the update of one batch with as many times the rows",
    1,
    LARGEST.accumulate,
  ),
  length: whole(32, "tokens per segment", 1, LARGEST.length),
  evaluationBatch: optional(whole(32, "rows per batch in evaluation; default: as in training", 1, LARGEST.batch)),
  evaluationLength: optional(whole(32, "tokens per segment in evaluation; default: as in training", 1, LARGEST.length)),
  optimiser: choice(
    ["adamw", "muon", "adam", "lamb", "sgd"],
    "adamw",
    "adamw, adam, lamb, sgd, or muon for products inside blocks with adamw for the rest",
  ),
  // Other rates are multiples of the first: without one they would be 0/0.
  rate: real(0.004, "highest learning rate; sgd has 0.05 where none is given", { above: 0 }),
  hiddenRate: optional(real(0.006, "highest learning rate of what muon updates; default: that of the rest")),
  schedule: choice(
    scheduleNames,
    "cosine",
    "learning rate schedule after the warm-up; par-original: a cosine whose first update has rate 0",
  ),
  floor: fraction(0, "fraction of the highest rate that is left at the end (cosine, linear)"),
  warmup: optional(whole(400, "updates over which the learning rate rises; default: a tenth of them, at most 400", 0)),
  weightDecay: real(0.01, "decay of matrices; adam has none"),
  momentum: real(0.9, "momentum of sgd", { from: 0, below: 1 }),
  beta2: real(0.98, "decay rate of Adam's second moment", { from: 0, below: 1 }),
  clipNorm: optional(
    real(0.5, "largest gradient norm; larger gradients are scaled down; none: no limit", { above: 0 }),
    0.5,
  ),
  clipValue: optional(
    real(0.1, "largest number in a gradient, of an embedding in each occurrence of a word; default: no limit", {
      above: 0,
    }),
  ),
  seed: whole(1, "seed of weights, noise and dropout", 0),
});
const latency = group("Latency", {
  latency: shape(
    {
      batch: whole(1, "", 1, LARGEST.batch),
      length: whole(64, "", 1, LARGEST.length),
      memory: whole(640, "", 0, LARGEST.length),
    },
    "batch x segment + memory at which latency is measured; the default is the paper's",
    shapeNeeded,
    {
      read: (given) => shapeIn(given) ?? given,
      show: ({ batch, length, memory }) => `${batch}x${length}+${memory}`,
    },
  ),
});
const others = {
  ...group("Length", {
    steps: lengthFields.steps,
    epochs: optional(real(1, "train for this many passes over the data; default: 1, unless another length is given")),
    minutes: optional(
      real(10, "train for this many minutes; how many updates they are is estimated again on the way", { above: 0 }),
    ),
  }),
  ...group("Evaluation and checkpoints", {
    evaluateEvery: whole(500, "updates between evaluations"),
    evaluateTokens,
    checkpointEvery: whole(500, "updates between checkpoints"),
    keep: whole(3, "checkpoints kept besides the best"),
  }),
  ...hardwareFields,
};

/** What an ordinary network is told, too. */
const networkFields = { ...data, ...sizes, ...optimisation, ...latency, ...others };

/** The name of such a setting. */
export type NetworkSetting = keyof typeof networkFields;

const fields = {
  ...data,
  ...group("Model", {
    blocks: either(
      whole(6, ""),
      text("sf", ""),
      "blocks to search; or a pattern that is already found, such as (sff)x2, to train it instead",
      "a whole number from 1, or a pattern such as (sff)x2",
    ),
    depth: optional(
      either(
        whole(3, "", 1, LARGEST.depth),
        text("(sf)x2*3", ""),
        "instead of blocks: letters that run again with the same weights, (sf)x2*3, or how many pairs of them there are (docs/depth.md)",
        `a whole number from 1 to ${LARGEST.depth}, or a text such as (sf)x2*3`,
      ),
    ),
    candidates,
  }),
  ...sizes,
  ...group("Model", {
    adaptiveInput: flag("shorter vectors for rare words in the input, too"),
    clampLength: optional(whole(64, "positions further back count as this far")),
    sameLength: flag("every position sees as many steps back"),
    compat: optional(choice(["original"], "original", "build the model as the TensorFlow original has it")),
  }),
  ...group("Evaluation and checkpoints", {
    noisyEvaluation: flag("draw Gumbel noise at the present temperature in evaluations too, as the original does"),
  }),
  ...optimisation,
  ...group("Search", {
    procedure: choice(
      ["joint", "alternate"],
      "joint",
      "train weights and architecture together, as the original, or by turns after a freeze, as the paper",
    ),
    architectureRate: choiceFields.architectureRate,
    freeze: choiceFields.freeze,
    straightThrough: flag("forward the one candidate that was drawn"),
    trainedTemperature: flag("each block learns a temperature of its own, starting at temperatureStart"),
    temperatureStart: choiceFields.temperatureStart,
    temperatureEnd: choiceFields.temperatureEnd,
    cut: choiceFields.cut,
    settle: choiceFields.settle,
    decide: choiceFields.decide,
    cutEvery: choiceFields.cutEvery,
    front: flag(
      "train one network of the supernet per update and rank them all: perplexity against latency, for every budget",
    ),
    networks: whole(600, "networks that are measured to find the front", 1, LARGEST.networks),
    fullDepth: flag("networks of the front skip a block only where even the cheapest in each would be too dear"),
    mostParameters: optional(whole(2_500_000, "networks of the front have at most so many parameters")),
    mostMemory: optional(
      real(
        12,
        "networks of the front hold at most so many megabytes: float32 weights, and memories at the latency's shape",
        {
          above: 0,
        },
      ),
    ),
    rankBatches: whole(2, "valid batches on which each is measured; the best are measured on four times as many"),
  }),
  ...group("Latency", budgetFields),
  ...latency,
  ...others,
};

type Given = Partial<ValuesOf<typeof fields>>;

/** How the original searches: with the temperature of its noise, one rate for all, nothing cut. */
const asOriginal = {
  dropout: 0.1,
  rate: 0.003,
  architectureRate: null,
  freeze: 0,
  temperatureStart: 1,
  temperatureEnd: 0.1,
  settle: null,
  decide: null,
};

/** Defaults of other procedures: the original's model is searched as the original does; turns have the paper's freeze; paths of a front know no π. */
export function usualIn(given: Pick<Given, "compat" | "procedure" | "cut" | "front" | "optimiser">) {
  return { ...usualProcedure(given), ...(given.optimiser === "sgd" ? { rate: usualRates.sgd } : {}) };
}

function usualProcedure({ compat, procedure, cut, front }: Pick<Given, "compat" | "procedure" | "cut" | "front">) {
  if (front) return { ...asOriginal, freeze: null, warmup: 400, cutEvery: 100 };
  if (compat === "original") return { ...asOriginal, cut: null };
  if (procedure === "alternate") return { ...asOriginal, freeze: null };
  return cut === null ? { settle: null, decide: null } : {};
}

/** The recipe of the README's figure, with all that it had. */
const headline = {
  corpus: "wikitext-2",
  tokenizer: "wiki2_12k",
  steps: 6800,
  rate: 0.004,
  warmup: 400,
  dropout: 0,
  temperatureStart: 5,
  temperatureEnd: 0.2,
  architectureRate: 0.02,
  freeze: 0.05,
  settle: [0.1, 0.25] as [number, number],
  decide: null,
  cutEvery: 100,
  evaluateEvery: 3400,
  originalBatches: true,
};

/** The schema of a search's settings. */
export const searchSettings = defineSettings("search", fields, {
  usual: usualIn,
  presets: {
    /** Half a minute on the embedded books: the search of the tour. */
    quick: {
      pieces: 1000,
      blocks: 6,
      width: 96,
      heads: 2,
      feedForward: 384,
      cutoffs: [],
      batch: 16,
      warmup: 30,
      steps: 600,
      evaluateEvery: 100,
      evaluationBatch: 32,
      checkpointEvery: 150,
      latency: { batch: 1, length: 16, memory: 32 },
    },
    /** The TensorFlow original's run: its model, Keras's Adam without clipping, its schedules, an evaluation with noise every epoch. */
    "par-original": {
      ...asOriginal,
      corpus: "wikitext-2",
      tokenizer: "wiki2_12k",
      compat: "original",
      cut: null,
      optimiser: "adam",
      rate: 0.0001,
      schedule: "par-original",
      warmup: 4000,
      weightDecay: 0,
      beta2: 0.999,
      clipNorm: null,
      epochs: 20,
      originalBatches: true,
      noisyEvaluation: true,
      evaluateEvery: 2825,
      checkpointEvery: 2825,
      keep: 5,
    },
    /** The paper's procedure: 10,000 updates of weights alone, then turns of a fifth for π, at the paper's rates and decays. */
    "par-paper": {
      ...asOriginal,
      corpus: "wikitext-2",
      tokenizer: "wiki2_12k",
      procedure: "alternate",
      blocks: 32,
      freeze: 0.2,
      cut: null,
      optimiser: "lamb",
      rate: 0.01,
      architectureRate: 0.01,
      weightDecay: 0.0001,
      beta2: 0.999,
      warmup: 1000,
      clipNorm: 0.25,
      steps: 50_000,
    },
    /** 38.72 on WikiText-2: blocks settle within the first quarter. docs/log.md has the run. */
    "par-headline": headline,
    /** The same, by its former name. */
    wikitext: headline,
    /** WikiText-2, twelve blocks, every budget from one supernet. docs/log.md has the runs. */
    front: {
      corpus: "wikitext-2",
      tokenizer: "wiki2_12k",
      blocks: 12,
      front: true,
      dropout: 0,
      steps: 1500,
    },
  },
  derive: ({ budget, depth, blocks }) => ({
    budget: budget === null ? null : `${budget}`,
    blocks,
    depth,
    ...(depth === null ? {} : inWords(depth, blocks)),
  }),
});

/** A depth as it is printed, and the pattern that it runs; other blocks beside it are refused. */
export function inWords(depth: number | string, blocks?: number | string): { depth: number | string; blocks: string } {
  const { blocks: pattern } = writtenNetwork(`${depth}`);
  const printed = typeof depth === "number" ? depth : printDepth(parseDepth(depth));
  if (blocks === undefined || blocks === defaultsOf(fields).blocks || blocks === pattern) {
    return { depth: printed, blocks: pattern };
  }
  const got = `blocks ${blocks} beside ${JSON.stringify(depth)}`;
  return reject({ who: "depth", needed: "blocks or a depth", got, remedy: "leave one of them out" }, 2);
}

const ofNetwork = (values: object) => Object.entries(values).filter(([key]) => key in networkFields);

/** The schema of a retraining's settings: those of a search that an ordinary network has too. */
export const retrainSettings = defineSettings("retrain", networkFields, {
  presets: Object.fromEntries(
    Object.entries(searchSettings.presets).map(([name, values]) => [name, Object.fromEntries(ofNetwork(values))]),
  ),
  wider: searchSettings,
});

/** Everything a search is told; plain data, kept in its folder. */
export type SearchConfig = Resolved<typeof searchSettings>;

/** The base size on the embedded books. */
export const searchDefaults: SearchConfig = searchSettings.resolve([]);

/** The same for its loop: by the clock where minutes are given. */
export function loopLength(settings: SearchConfig, expected: number): Length {
  return settings.minutes === null ? lengthOf(settings) : { minutes: settings.minutes, expected };
}

/** How long a search trains: one pass unless told otherwise. */
export function lengthOf({ steps, epochs }: SearchConfig): Exclude<Length, { minutes: number }> {
  if (steps !== null && epochs !== null) {
    reject({ who: "search", needed: "--steps or --epochs", got: "both", remedy: "give one" }, 2);
  }
  return steps === null ? { epochs: epochs ?? 1 } : { steps };
}

/** Settings whose defaults follow from vocabulary and length, once these are known. */
export interface FilledConfig extends SearchConfig {
  readonly cutoffs: number[];
  readonly warmup: number;
  readonly architectureRate: number | null;
  readonly cutEvery: number;
}

/** The clusters of a vocabulary: those that are asked for, else the usual ones as far as it has them. */
export const cutoffsIn = ({ cutoffs }: Pick<SearchConfig, "cutoffs">, vocabulary: number): number[] =>
  cutoffs ?? [250, 2500].filter((end) => end < vocabulary);

/** Settings with what follows from the vocabulary and the number of updates. */
export function filledIn(settings: SearchConfig, vocabulary: number, total: number): FilledConfig {
  const { warmup } = settings;
  return {
    ...settings,
    ...pacedBy(settings, total),
    cutoffs: cutoffsIn(settings, vocabulary),
    warmup: warmup ?? Math.min(400, Math.floor(total / 10)),
  };
}

/** `1x64+640` → batch, segment, memory; undefined where it is something else. */
function shapeIn(given: string): LatencyShape | undefined {
  const found = /^(\d+)x(\d+)\+(\d+)$/.exec(given.trim());
  const [batch, length, memory] = (found ?? []).slice(1).map(Number);
  return batch && length && memory !== undefined ? { batch, length, memory } : undefined;
}
