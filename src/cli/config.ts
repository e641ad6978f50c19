/** The configuration of a training run: one literal of defaults with a word on each, and how presets, files and flags change it. */
import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { parse, stringify } from "yaml";
import { messageOf, reject, UserError } from "../base/errors.ts";
import { nearest } from "../base/nearest.ts";
import { type ShareMode, sharedParts, shareModes } from "../depth/plan.ts";

/** A setting: its default, a word on it, and the test a value must pass (a sentence says what is wrong). */
interface Field<T> {
  readonly value: T;
  readonly help: string;
  readonly check: (value: unknown) => string | undefined;
  readonly choices?: readonly string[];
}

const isWhole = (least: number) => (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) >= least ? undefined : `a whole number from ${least}`;
const isReal = (least: number, below: number) => (value: unknown) =>
  typeof value === "number" && value >= least && value < below ? undefined : `a number from ${least} to below ${below}`;
const isText = (value: unknown) => (typeof value === "string" && value !== "" ? undefined : "a text");
const isPlan = (value: unknown) => {
  const numbers = typeof value === "string" && /^\d+([\s,]+\d+)*$/.test(value) ? value.split(/[\s,]+/).map(Number) : [];
  const whole = numbers.length > 0 && new Set(numbers).size === Math.max(...numbers) + 1;
  return whole ? undefined : "block numbers from 0 without gaps, such as 0,1,2,2,1,0";
};
const isFlag = (value: unknown) => (typeof value === "boolean" ? undefined : "true or false");

const whole = (value: number, help: string, least = 1): Field<number> => ({ value, help, check: isWhole(least) });
const real = (value: number, help: string, least = 0, below = Infinity): Field<number> => ({
  value,
  help,
  check: isReal(least, below),
});
const text = (value: string, help: string): Field<string> => ({ value, help, check: isText });
/** The order of blocks by hand. */
const order = (help: string): Field<string> => ({ value: "", help, check: isPlan });
const flag = (help: string): Field<boolean> => ({ value: false, help, check: isFlag });

/** A setting that may be left open (null), and is unless a value is given. */
function open<T>(field: Field<T>, value: T | null = null): Field<T | null> {
  return { ...field, value, check: (each) => (each === null ? undefined : field.check(each)) };
}

function choice<T extends string>(choices: readonly T[], value: T, help: string): Field<T> {
  const check = (each: unknown) => (choices.includes(each as T) ? undefined : `one of ${choices.join(", ")}`);
  return { value, help, check, choices };
}

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
  haltBias: real(0, "first bias of the halting unit: 0 halts early, -3 late", -Infinity),
  parts: choice(sharedParts, "layers", "what the plan shares in translation: whole layers, or one part of them"),
  norms: choice(["shared", "per-depth"], "shared", "whether layer norms follow the plan in translation"),
  decoderPlan: open(order("the order of the decoder's blocks in translation; open: as the encoder's")),
  hidden: open(whole(768, "width of the feed-forward layer; open: four times the width")),
  activation: choice(["gelu", "gelu_new", "relu", "silu"], "gelu", "activation of the feed-forward layer"),
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

type Fields = typeof fields;
type Key = keyof Fields;
type Settings = { -readonly [K in Key]: Fields[K] extends Field<infer T> ? T : never };
/** Settings as they are when a run begins: the rate is known. */
export type Config = Settings & { rate: number };

const keys = Object.keys(fields) as Key[];

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

export const defaults = Object.fromEntries(keys.map((key) => [key, fields[key].value])) as Config;

/** Checks names and values; `source` says where they come from. */
function checked(values: Readonly<Record<string, unknown>>, source: string): Partial<Config> {
  for (const [key, value] of Object.entries(values)) {
    if (!keys.includes(key as Key)) {
      const guess = nearest(key, keys);
      reject(
        {
          who: source,
          needed: "a known key",
          got: key,
          remedy: guess ? `did you mean ${guess}?` : "see layerwise train --help",
        },
        2,
      );
    }
    const needed = fields[key as Key].check(value);
    if (needed) reject({ who: `${source} / ${key}`, needed, got: JSON.stringify(value) }, 2);
  }
  return values as Partial<Config>;
}

/** A preset by name. */
export function presetNamed(name: string): Partial<Config> {
  const preset = presets[name];
  if (preset) return preset;
  const guess = nearest(name, Object.keys(presets));
  return reject(
    {
      who: "preset",
      needed: `one of ${Object.keys(presets).join(", ")}`,
      got: name,
      remedy: guess ? `did you mean ${guess}?` : "leave it out",
    },
    2,
  );
}

/** The keys of a YAML text. */
export function parseConfig(yaml: string, source: string): Partial<Config> {
  let values: unknown;
  try {
    values = parse(yaml);
  } catch (error) {
    throw new UserError(`${source}: not YAML: ${messageOf(error)}`, 2);
  }
  if (values === null || values === undefined) return {};
  if (typeof values !== "object" || Array.isArray(values))
    reject({ who: source, needed: "keys with values", got: typeof values }, 2);
  return checked(values as Record<string, unknown>, source);
}

export function readConfig(path: string): Partial<Config> {
  let yaml: string;
  try {
    yaml = readFileSync(path, "utf8");
  } catch (error) {
    throw new UserError(`config: cannot read ${path}: ${messageOf(error)}`, 2);
  }
  return parseConfig(yaml, path);
}

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
export function resolveConfig(layers: readonly { source: string; values: Partial<Config> }[]): Config {
  const task = layers.findLast(({ values }) => values.task !== undefined)?.values.task ?? defaults.task;
  let config: Config = { ...defaults, ...taskDefaults[task] };
  for (const { source, values } of layers) {
    checked(values, source);
    const given = lengths.filter((key) => values[key] !== undefined && values[key] !== null);
    if (given.length > 1) {
      reject(
        { who: source, needed: "one of steps, epochs and minutes", got: given.join(" and "), remedy: "leave one out" },
        2,
      );
    }
    if (given.length === 1) config = { ...config, steps: null, epochs: null, minutes: null };
    config = { ...config, ...values };
  }
  config.rate ??= rates[config.optimiser];
  if (lengths.every((key) => config[key] === null)) config.steps = 1000;
  return config;
}

export const configYaml = (config: Config): string => stringify(config);

const kebab = (key: string) => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** A flag for every setting. */
export function addConfigFlags(command: Command): Command {
  for (const key of keys) {
    const field: Field<unknown> = fields[key];
    const shown = field.value === null ? "" : ` (default: ${field.value})`;
    const option = new Option(
      field.check === isFlag ? `--${kebab(key)}` : `--${kebab(key)} <value>`,
      `${field.help}${shown}`,
    );
    if (field.choices) option.choices(field.choices);
    else if (field.check !== isFlag) option.argParser((given) => flagValue(field, given));
    command.addOption(option);
  }
  return command;
}

/** How a flag says that a setting is left open; commander has no place for null. */
const NONE = "none";

/** The value of a flag: a number where the text is one and the setting takes it. */
function flagValue(field: Field<unknown>, given: string): unknown {
  if (given === NONE && field.check(null) === undefined) return NONE;
  if (field.check(given) === undefined) return given;
  const value = given.trim() === "" ? given : Number(given);
  const needed = field.check(value);
  if (needed) throw new InvalidArgumentError(`It must be ${needed}.`);
  return value;
}

/** The settings among a command's options. */
export function flagsOf(options: Readonly<Record<string, unknown>>): Partial<Config> {
  const given = keys.filter((key) => options[key] !== undefined);
  return Object.fromEntries(given.map((key) => [key, options[key] === NONE ? null : options[key]]));
}
