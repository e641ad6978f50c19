/** From a config to the parts of a run: data, tokenizer, model, optimiser groups, engine. */
import { reject } from "../../base/errors.ts";
import { type Plan, parsePlan, shareModes } from "../../depth/plan.ts";
import type { Engine } from "../../engine/engine.ts";
import { type LanguageModel, languageModel } from "../../model/language/language.ts";
import { initialise, type Parameter } from "../../nn/index.ts";
import type { Corpus, Split } from "../../text/files/corpus.ts";
import { linesOf, openCorpus, partOf } from "../../text/files/corpus.ts";
import type { OpenTokenizer } from "../../text/files/tokenizer.ts";
import { openBatches, tokensOf } from "../../text/files/tokens.ts";
import { chooseTokenizer } from "../../text/files/trained-tokenizer.ts";
import type { Batches, TextSize } from "../../train/evaluate.ts";
import { sortParameters } from "../../train/grouping.ts";
import type { Group, ParameterTensor } from "../../train/memory.ts";
import { adam, adamw, lamb, type Optimiser, sgd } from "../../train/optimiser.ts";
import type { Config } from "./settings.ts";
import type { Say } from "./trainable.ts";

export type { Say } from "./trainable.ts";

export interface Data {
  readonly corpus: Corpus;
  readonly tokenizer: OpenTokenizer;
}

const given = <K extends string>(key: K, value: string | null) =>
  (value === null ? {} : { [key]: value }) as Partial<Record<K, string>>;

/** The corpus and the tokenizer; `kept` is the tokenizer file of an existing run. */
export async function openData(config: Config, say: Say, kept?: string): Promise<Data> {
  const corpus = await openCorpus(config.corpus, { ...given("data", config.data), say });
  const tokenizer = await chooseTokenizer(kept ?? config.tokenizer ?? undefined, corpus, {
    ...given("data", config.data),
    ...(config.pieces === null ? {} : { pieces: config.pieces }),
    cased: config.cased,
    say,
  });
  return { corpus, tokenizer };
}

/** Batches of a split, in the form the training step takes. */
export async function batchesOf(config: Config, { corpus, tokenizer }: Data, split: Split, say: Say): Promise<Batches> {
  const { batch, length } = config;
  const source = await openBatches(corpus, split, tokenizer, { batch, length, warn: say });
  return {
    count: source.count,
    tokens: source.rows * source.length,
    at: (index) => {
      const { inputs, targets } = source.at(index);
      return { ids: inputs, targets };
    },
  };
}

/** The pieces of a split; of batches, those to be foretold. */
export async function piecesOf({ corpus, tokenizer }: Data, split: Split): Promise<Int32Array | Uint16Array> {
  const part = partOf(corpus, split);
  if (part.kind !== "records") return (await tokensOf(corpus, split, tokenizer)).ids;
  const { openBatchFiles } = await import("../../text/files/records.ts");
  const source = await openBatchFiles(part.paths, tokenizer.tokenizer.size);
  const each = source.rows * source.length;
  const ids = new Int32Array(source.count * each);
  for (let i = 0; i < source.count; i++) ids.set(source.at(i).targets, i * each);
  return ids;
}

/** Words and bytes behind the pieces of a split; where only pieces are left, the text they decode to. */
export async function textSizeOf(data: Data, split: Split): Promise<TextSize> {
  const { corpus, tokenizer } = data;
  const ids = await piecesOf(data, split);
  const isText = partOf(corpus, split).kind === "text";
  const lines = isText ? linesOf(corpus, split) : [tokenizer.tokenizer.decode(ids)];
  let [words, bytes] = [0, 0];
  for (const line of lines) {
    words += line.match(/\S+/g)?.length ?? 0;
    bytes += Buffer.byteLength(line);
  }
  return { tokens: ids.length, words, bytes };
}

export function planOf(config: Config): Plan {
  const { depth, unique, share, plan } = config;
  if (plan !== null) return parsePlan(plan);
  return shareModes[share]({ depth, unique: unique ?? depth });
}

export function modelOf(config: Config, vocabulary: number): LanguageModel {
  if (config.parts !== "layers" || config.norms !== "shared") {
    const got = `parts ${config.parts}, norms ${config.norms}`;
    reject(
      { who: "language model", needed: "whole layers to share", got, remedy: "these are for --task translate" },
      2,
    );
  }
  const { width, heads, hidden, length, dropout, activation, ponder, ponderWarmup, haltBias } = config;
  const plan = planOf(config);
  const halting = config.halt ? { ponder, ponderWarmup, biasInitial: haltBias } : undefined;
  return languageModel({
    vocabulary,
    width,
    heads,
    plan,
    length,
    dropout,
    activation,
    hidden: hidden ?? 4 * width,
    halting,
  });
}

/** Matrices decay, biases and norms do not. */
export async function groupsOf(config: Config, parameters: readonly Parameter[], engine: Engine): Promise<Group[]> {
  const { hidden, matrices, rest } = sortParameters(parameters);
  const others = { parameters: rest, optimiser: optimiserOf(config, false) };
  if (config.optimiser !== "muon") {
    return [{ parameters: [...hidden, ...matrices], optimiser: optimiserOf(config, true) }, others];
  }
  const { muon } = await import("../../train/muon.ts");
  return [
    { parameters: hidden, optimiser: muon(engine, { weightDecay: config.weightDecay }) },
    { parameters: matrices, optimiser: optimiserOf(config, true) },
    others,
  ];
}

function optimiserOf(config: Config, matrix: boolean): Optimiser {
  const weightDecay = matrix ? config.weightDecay : 0;
  const moments = { beta1: 0.9, beta2: 0.99, weightDecay };
  switch (config.optimiser) {
    case "adam":
      return adam({ ...moments, weightDecay: 0 });
    case "sgd":
      return sgd({ momentum: config.momentum, weightDecay });
    case "lamb":
      return lamb({ weightDecay, adapt: matrix });
    default:
      return adamw(moments);
  }
}

/** First weights: drawn from the seed, or taken from another run. */
export function firstWeights(
  parameters: readonly Parameter[],
  seed: number,
  from?: ReadonlyMap<string, { readonly shape: readonly number[]; readonly data: Float32Array }>,
): Map<ParameterTensor, Float32Array> {
  if (!from) return initialise(parameters, seed);
  return new Map(
    parameters.map(({ name, tensor }) => {
      const stored = from.get(name);
      const needed = `[${tensor.attributes.shape}]`;
      if (stored && `[${stored.shape}]` === needed) return [tensor, stored.data];
      return reject({
        who: `--init / ${name}`,
        needed,
        got: stored ? `[${stored.shape}]` : "nothing",
        remedy: "use a model of the same shape",
      });
    }),
  );
}
