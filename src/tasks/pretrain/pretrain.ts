/** Pre-training from a program: an ALBERT's sizes, texts and phases in, a model with weights out. */
import { reject } from "../../base/errors.ts";
import { nearest } from "../../base/nearest.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Corpus } from "../../text/corpus.ts";
import { documentCorpus } from "../../text/masked/documents.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Session } from "../../train/session.ts";
import type { TaskEvent } from "../job.ts";
import { type Performing, performOpened } from "../perform.ts";
import { givenText } from "../text-data.ts";
import { openPretrain, type PretrainResult, pretrainJob } from "./job.ts";
import { type AlbertSource, initialOf } from "./origin.ts";
import { type PretrainingConfig, pretrainSettings } from "./settings.ts";

/** The model's sizes under the names of `albert`, and the settings that they are. */
const modelKeys = {
  width: "width",
  heads: "heads",
  depth: "depth",
  embedding: "embedding",
  hidden: "feedForward",
  activation: "activation",
  dropout: "dropout",
  /** The longest text it can take. */
  length: "positions",
} as const satisfies Record<string, keyof Partial<PretrainingConfig>>;

/** The same of halting; `ponderWarmup` is a fraction of the updates. */
const haltingKeys = {
  epsilon: "haltEpsilon",
  accumulate: "accumulateStates",
  haltAtCap: "haltAtCap",
  biasInitial: "haltBias",
  stepEmbedding: "stepEmbedding",
  ponder: "ponder",
  ponderReduce: "ponderReduce",
  ponderWarmup: "ponderWarmup",
} as const satisfies Record<string, keyof Partial<PretrainingConfig>>;

/** Settings under other names. */
export type Renamed<K extends Readonly<Record<string, keyof Partial<PretrainingConfig>>>> = {
  readonly [N in keyof K]?: PretrainingConfig[K[N]] | undefined;
};

/** Sizes of a model to pre-train. */
export interface PretrainModel extends Renamed<typeof modelKeys> {
  /** Every token halts by itself. Absent: all run to the full depth, unless that is said in words. */
  readonly halting?: Renamed<typeof haltingKeys> | undefined;
}

/** Texts and updates of one phase; what is not given is as in the settings. */
export interface PretrainPhase {
  readonly steps: number;
  /** Tokens of a text. */
  readonly length: number;
  /** Texts of a batch. */
  readonly batch?: number | undefined;
  /** Highest learning rate. */
  readonly rate?: number | undefined;
  /** Fraction of the phase's updates over which the rate rises; from 1 on: this many. */
  readonly warmup?: number | undefined;
}

/** How to pre-train. Every setting of `layerwise pretrain` may be given by name. */
export interface PretrainOptions extends Omit<Partial<PretrainingConfig>, "corpus" | "tokenizer">, Performing {
  /** A named set of settings, below all that is given. */
  readonly preset?: string | undefined;
  readonly model?: PretrainModel | undefined;
  /** One phase, or short texts first and long ones then. */
  readonly phases?: readonly [PretrainPhase] | readonly [PretrainPhase, PretrainPhase] | undefined;
  /** Texts in memory, a document per string, a sentence per line; the last of their lines are kept to evaluate on. */
  readonly documents?: readonly string[] | undefined;
  /** Text by name or path, or opened; `documentCorpus` makes one of documents. Default: the embedded books. */
  readonly corpus?: string | Corpus | undefined;
  /** With [CLS], [SEP] and [MASK]. Default: one trained on the text. */
  readonly tokenizer?: string | OpenTokenizer | undefined;
  /** Begin with the weights of another ALBERT. */
  readonly init?: AlbertSource | undefined;
  /** Default: the best there is here. */
  readonly engine?: Engine | undefined;
}

/** Pre-trains an ALBERT on masked words and the order of sentences. Iterate the session, or await its result. */
export function pretrain(options: PretrainOptions): Session<TaskEvent, PretrainResult> {
  const { into, signal, engine, init, documents, corpus = "books", tokenizer, ...rest } = options;
  if (documents && options.corpus !== undefined) {
    reject({ who: "pretrain", needed: "documents or a corpus", got: "both", remedy: "leave one out" }, 2);
  }
  const { settings: named, given } = givenText({ corpus: documents ? documentCorpus(documents) : corpus, tokenizer });
  const settings = pretrainSettingsOf({ ...rest, ...named });
  return performOpened(
    async (say) => {
      const parts = await openPretrain(settings, { ...given, engine, say });
      return pretrainJob(parts, await initialOf(init, parts, { say }));
    },
    { into, signal },
  );
}

type Given = Partial<PretrainingConfig> & Pick<PretrainOptions, "preset" | "model" | "phases">;

/** Partial<PretrainingConfig>: defaults < preset < model and phases < all others. */
export function pretrainSettingsOf({ preset, model, phases, ...values }: Given): PretrainingConfig {
  return pretrainSettings.resolve([
    ...(preset === undefined ? [] : [pretrainSettings.preset(preset)]),
    layer("pretrain / model", model && modelSettings(model)),
    layer("pretrain / phases", phases && phaseSettings(phases)),
    layer("pretrain", values),
  ]);
}

function layer(source: string, values: object = {}) {
  return { source, values };
}

function modelSettings({ halting, ...sizes }: PretrainModel): Partial<PretrainingConfig> {
  const own = renamed(sizes, modelKeys, "pretrain / model");
  if (!halting) return typeof sizes.depth === "string" ? own : { ...own, depthPolicy: "fixed" };
  return { ...own, ...renamed(halting, haltingKeys, "pretrain / model / halting"), depthPolicy: "adaptive" };
}

function renamed(values: object, keys: Readonly<Record<string, string>>, who: string): Partial<PretrainingConfig> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const known = (name: string) => (Object.hasOwn(keys, name) ? keys[name]! : refuse(name, keys, who));
  return Object.fromEntries(given.map(([name, value]) => [known(name), value]));
}

function refuse(name: string, keys: Readonly<Record<string, string>>, who: string): never {
  const guess = nearest(name, Object.keys(keys));
  const remedy = guess ? `did you mean ${guess}?` : `they are ${Object.keys(keys).join(", ")}`;
  return reject({ who, needed: "a known option", got: name, remedy }, 2);
}

const phaseKeys = { steps: "steps", length: "length", batch: "batch", rate: "rate", warmup: "warmup" } as const;
const longKeys = { length: "longLength", batch: "longBatch", rate: "longRate", warmup: "longWarmup" } as const;

function phaseSettings([first, second]: NonNullable<PretrainOptions["phases"]>): Partial<PretrainingConfig> {
  const own = renamed(first, phaseKeys, "pretrain / phases / 0");
  if (!second) return own;
  const { steps, ...long } = second;
  const total = first.steps + steps;
  return { ...own, ...renamed(long, longKeys, "pretrain / phases / 1"), steps: total, longShare: steps / total };
}
