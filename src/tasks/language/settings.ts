/** The configuration of a training run: one literal of defaults with a word on each, and how presets, files and flags change it. */
import type { Command } from "commander";
import { stringify } from "yaml";
import { type ShareMode, sharedParts, shareModes } from "../../depth/plan.ts";
import {
  choice,
  type Field,
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

const isPlan = (value: unknown) => {
  const numbers = typeof value === "string" && /^\d+([\s,]+\d+)*$/.test(value) ? value.split(/[\s,]+/).map(Number) : [];
  const whole = numbers.length > 0 && new Set(numbers).size === Math.max(...numbers) + 1;
  return whole ? undefined : "block numbers from 0 without gaps, such as 0,1,2,2,1,0";
};
/** The order of blocks by hand. */
const order = (help: string): Field<string> => ({ value: "", help, check: isPlan });

/** The defaults. */
export const fields = {
  task: choice(["language", "translate"], "language", "what is learnt: the next piece of a text, or translation"),

  // Data
  corpus: text("books", "books (embedded), wikitext-2, a text file, or a folder with train, valid and test"),
  tokenizer: open(text("", "a SentencePiece model by name or file; open: the data's own, or one trained on the text")),
  pieces: open(whole(4000, "vocabulary size of a trained tokenizer; open: 12,000, or what a short text supports", 2)),
  cased: flag("keep upper case in a trained tokenizer"),
  data: open(text("", "folder of datasets and tokenizers; open: LAYERWISE_DATA, or one in the cache")),

  source: text("en", "language to translate from"),
  target: text("de", "language to translate to"),

  // Model
  width: whole(192, "width of the hidden state"),
  heads: whole(6, "attention heads; they divide the width"),
  depth: whole(4, "blocks that run"),
  unique: open(whole(4, "blocks that own weights; open: as many as run")),
  share: choice(Object.keys(shareModes) as ShareMode[], "cycle", "order in which shared blocks run"),
  plan: open(order("the order by hand, such as 0,1,2,2,1,0, instead of depth, unique and share")),
  halt: flag("every token halts by itself, after as many of the depths as it needs"),
  ponder: real(0.01, "penalty on the mean depth of halting models"),
  ponderWarmup: whole(0, "updates over which that penalty grows from nothing", 0),
  haltBias: real(0, "first bias of the halting unit: 0 halts early, -3 late", -Infinity),
  parts: choice(sharedParts, "layers", "what the plan shares in translation: whole layers, or one part of them"),
  norms: choice(["shared", "per-depth"], "shared", "whether layer norms follow the plan in translation"),
  decoderPlan: open(order("the order of the decoder's blocks in translation; open: as the encoder's")),
  hidden: open(whole(768, "width of the feed-forward layer; open: four times the width")),
  activation: choice(["gelu", "gelu_new", "relu", "silu", "tanh"], "gelu", "activation of the feed-forward layer"),
  length: whole(128, "pieces in a row of a batch, and the longest context"),
  dropout: real(0.1, "part of activations and attention that is dropped in training", 0, 1),

  // Optimisation
  batch: whole(16, "rows of a batch"),
  accumulate: whole(1, "batches for one update"),
  optimiser: choice(
    ["muon", "adamw", "adam", "lamb", "sgd"],
    "muon",
    "muon for hidden matrices with adamw for the rest, adamw, adam, lamb or sgd",
  ),
  rate: open(
    real(0.002, "highest learning rate; open: 0.006 for muon, 0.002 for adam and adamw, 0.005 for lamb, 0.05 for sgd"),
  ),
  schedule: choice(
    ["cosine", "linear", "constant", "inverse-sqrt"],
    "cosine",
    "course of the learning rate after the warm-up",
  ),
  warmup: whole(50, "updates over which the learning rate rises", 0),
  floor: real(0.1, "part of the highest rate that is left at the end (cosine, linear)", 0, 1.000001),
  weightDecay: real(0.05, "decay of matrices; biases and norms have none"),
  momentum: real(0.9, "momentum of sgd", 0, 1),
  clipNorm: open(real(1, "longest gradient; longer ones are scaled down; none: no limit"), 1),
  clipValue: open(real(1, "largest number in a gradient; open: no limit")),
  smoothing: real(0.1, "label smoothing in translation", 0, 1),
  seed: whole(1, "seed of weights, data order and dropout", 0),
  init: open(text("", "start from the weights of another run")),
  initStep: open(whole(1000, "the step of that run's checkpoint; open: its last", 0)),

  // Length and habits
  steps: open(whole(1000, "train for so many updates")),
  epochs: open(real(1, "train for so many passes over the data")),
  minutes: open(real(1, "train for so many minutes")),
  evaluateEvery: open(whole(250, "evaluate every so many updates; open: each epoch, at most every 500")),
  checkpointEvery: whole(50, "store the state every so many updates"),
  keep: whole(3, "checkpoints kept besides the best"),
  patience: open(whole(5, "stop after so many evaluations without a new best; open: never")),
  threads: open(whole(2, "threads of ONNX Runtime; open: physical cores")),
  device: choice(["cpu", "cuda", "webgpu", "dml"], "cpu", "where programs run"),
} as const;

const schema = new Schema(fields, "train");
/** Settings as they are when a run begins: the rate is known. */
export type Config = SettingsOf<typeof fields> & { rate: number };

/** What a task starts from instead of the defaults. */
const taskDefaults: Readonly<Record<Config["task"], Partial<Config>>> = {
  language: {},
  /** Multi30k in about twenty minutes of a core; docs/log.md has the run it is taken from. */
  translate: {
    optimiser: "adamw",
    corpus: "multi30k",
    pieces: 4000,
    width: 128,
    heads: 4,
    hidden: 256,
    depth: 3,
    activation: "relu",
    length: 64,
    batch: 16,
    rate: 0.003,
    warmup: 200,
    floor: 0.02,
    epochs: 8,
  },
};

export const presets: Readonly<Record<string, Partial<Config>>> = {
  /** What `npm start` runs: a minute or two on two cores. */
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
  /** English to German on Multi30k. */
  translate: { task: "translate" },
};

export const defaults = schema.defaults as Config;

/** A preset by name. */
export const presetNamed = (name: string): Partial<Config> => presetFrom(presets, name);

/** The keys of a YAML text. */
export const parseConfig = (yaml: string, source: string) => schema.parse(yaml, source) as Partial<Config>;

export const readConfig = (path: string) => schema.read(path) as Partial<Config>;

const lengths = ["steps", "epochs", "minutes"] as const;
/** Highest learning rates that served on small models. */
const rates: Readonly<Record<Config["optimiser"], number>> = {
  muon: 0.006,
  adamw: 0.002,
  adam: 0.002,
  lamb: 0.005,
  sgd: 0.05,
};

/** defaults < task < preset < file < flags. A length given later replaces another given earlier; two in one place are an error. */
export function resolveConfig(layers: readonly Layer<Config>[]): Config {
  const task = layers.findLast(({ values }) => values.task !== undefined)?.values.task ?? defaults.task;
  const config = schema.resolve({ ...defaults, ...taskDefaults[task] }, layers) as Config;
  config.rate ??= rates[config.optimiser];
  if (lengths.every((key) => config[key] === null)) config.steps = 1000;
  return config;
}

export const configYaml = (config: Config): string => stringify(config);

/** A flag for every setting. */
export const addConfigFlags = (command: Command): Command => schema.addFlags(command);

/** The settings among a command's options. */
export const flagsOf = (options: Readonly<Record<string, unknown>>) => schema.flagsOf(options) as Partial<Config>;
