/**
 * The run folder of an ALBERT: what imports, pre-training and fine-tuning write, and how all others open it.
 *
 * config.yaml: `task: albert`, `model` (AlbertOptions, among them `halting`: absent for fixed depth), `heads` (HeadOptions: name →
 * options) and `training` (whatever the command that trains wants to find again; nobody else reads it). Beside it tokenizer.model,
 * where there is one, and checkpoints whose weights have our parameter names.
 */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { reject, rejectFile } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import { readSafetensors } from "../../format/safetensors.ts";
import {
  type AlbertDescription,
  type DescribedAlbert,
  describedAlbert,
  type HeadName,
  type HeadOptions,
} from "../../model/albert/description.ts";
import { isAdapter } from "../../model/albert/lora.ts";
import { loadAlbert } from "../../model/albert/weights.ts";
import { type NamedTensors, stateDict } from "../../model/state-dict.ts";
import { initialise, PAIR_WEIGHT, type Parameter } from "../../nn/index.ts";
import { either, flag, choice as one, optional, options, real, text, whole } from "../../runs/fields.ts";
import { TOKENIZER_FILE } from "../../runs/folder.ts";
import { checkFile } from "../../runs/identity.ts";
import { defineSettings, type SettingsSchema, type Values } from "../../runs/settings.ts";
import { parseYaml } from "../../runs/settings-file.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { TrainState } from "../../train/events.ts";
import { firstProgress } from "../../train/loop.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import type { Weights } from "../../train/stages.ts";
import { depthField } from "../depth-words.ts";
import { activationNames } from "../fields.ts";
import { histogramsEvery } from "../histograms.ts";
import type { Job } from "../job.ts";
import { type OpenOptions, readStored, type StoredRun } from "../open-run.ts";

/** What config.yaml calls the task of pre-training. */
export const ALBERT_TASK = "albert";

/** Weights that rest below a run's adapters. */
const BASE_FILE = "base.safetensors";

/** Settings of a run that holds an ALBERT. */
export interface AlbertRunConfig extends AlbertDescription {
  readonly task: typeof ALBERT_TASK;
  /** Settings of the command that trained; nobody else reads them. */
  readonly training?: Readonly<Record<string, unknown>> | undefined;
}

/** The keys of `model`; vocabulary, width, heads and depth have to be there. */
export const modelSchema = defineSettings(
  "model",
  {
    vocabulary: whole(30000, "number of pieces", 1, LARGEST.pieces),
    width: whole(768, "width of the hidden state", 1, LARGEST.width),
    heads: whole(12, "attention heads; they divide the width", 1, LARGEST.heads),
    depth: depthField("depths of fixed models, the most depths of halting ones; or all of it in words", 12),
    embedding: whole(128, "width of the embedding tables", 1, LARGEST.width),
    hidden: whole(3072, "width of the feed-forward layer", 1, LARGEST.hidden),
    groups: whole(1, "groups of layers that share no weights"),
    inner: whole(1, "layers per group"),
    activation: one(activationNames, "gelu_new", "activation of the feed-forward layer"),
    length: whole(512, "longest text", 1, LARGEST.length),
    pairs: whole(0, "rows of a table of pairs of neighbouring pieces; 0: none", 0, LARGEST.pieces),
    types: whole(2, "kinds of segments"),
    epsilon: real(1e-12, "epsilon of the layer norms"),
    dropout: real(0, "fraction of activations that is dropped in training", { from: 0, below: 1 }),
    attentionDropout: real(0, "fraction of attention that is dropped in training", { from: 0, below: 1 }),
    pooler: flag("whether there is a pooler", true),
    halting: optional(options("options of halting; none: fixed depth")),
    blocks: optional(
      either(
        whole(8, "", 1, LARGEST.depth),
        text("sf", ""),
        "blocks with weights of their own, by a pattern, or how many are searched; none: layers that are shared",
        "a whole number from 1, or a pattern such as (sff)x2",
      ),
    ),
    searched: optional(options("how blocks are searched")),
    norm: one(["layer", "rms"], "layer", "norms of newer blocks"),
    keyHeads: whole(2, "heads of keys and values of newer blocks", 1, LARGEST.heads),
    queryKeyNorm: flag("whether newer blocks bring queries and keys to one size"),
    gated: flag("whether newer blocks have a gate in the feed-forward layer"),
    bias: flag("whether products of newer blocks add a bias", true),
    rotary: flag("whether newer blocks have rotary positions"),
    lora: optional(options("low-rank adapters: rank and alpha; none: no adapters")),
  },
  { command: "import" },
);

/** The keys of `model: halting`. */
export const haltingSchema = defineSettings(
  "halting",
  {
    epsilon: real(0.01, "a token halts when its probabilities exceed 1 − epsilon", { from: 0, below: 1 }),
    accumulate: one(["blend", "weightedSum"], "blend", "how block outputs become the state"),
    halted: one(["frozen", "running"], "frozen", "what becomes of halted tokens with weightedSum"),
    haltAtCap: flag("halt at the last depth with what is left", true),
    biasInitial: real(0, "first bias of the halting unit", {}),
    stepEmbedding: flag("a learned vector before each depth"),
    ponder: real(0, "factor of the penalty on depth"),
    ponderFrom: real(0, "updates before that factor counts, or below 1 a fraction of them"),
    ponderWarmup: real(0, "updates until that factor is whole, or below 1 a fraction of them"),
    ponderReduce: one(["mean", "sum"], "mean", "penalty per token or per text"),
    capFrom: whole(0, "deepest depth at the first update, from where it grows; 0: that of the model", 0, LARGEST.depth),
    capOver: real(0.5, "updates over which it grows, or below 1 a fraction of them", { above: 0 }),
    keys: one(["own", "first", "last", "running"], "own", "what halted tokens show to those that still run"),
    pads: one(["skip", "run"], "skip", "whether padding runs"),
    name: text("encoder.halting", "prefix of the unit's names"),
  },
  { command: "import" },
);

/** The keys of `model: lora`. */
const loraSchema = defineSettings(
  "lora",
  { rank: whole(8, "rank of the adapters", 1, LARGEST.width), alpha: real(16, "their factor times the rank") },
  { command: "finetune" },
);

const dropout = real(0.1, "fraction of what is classified that is dropped in training", { from: 0, below: 1 });
const labels = whole(2, "number of classes");
const headSchemas: Readonly<Record<HeadName, SettingsSchema>> = {
  maskedLanguage: defineSettings(
    "maskedLanguage",
    { predictions: optional(whole(20, "masked places per text", 1, LARGEST.length)) },
    { command: "pretrain" },
  ),
  sentenceOrder: defineSettings(
    "sentenceOrder",
    { epsilon: real(0, "added to the count of texts") },
    { command: "pretrain" },
  ),
  classification: defineSettings(
    "classification",
    {
      labels,
      kind: one(["single", "multiple", "regression"], "single", "one class per text, any number, or numbers"),
      dropout,
      pooling: one(["first", "mean", "distinct", "pairs"], "first", "what of a text is classified"),
    },
    { command: "glue" },
  ),
  tokenClassification: defineSettings("tokenClassification", { labels, dropout }, { command: "glue" }),
  questionAnswering: defineSettings("questionAnswering", {}, { command: "glue" }),
  multipleChoice: defineSettings(
    "multipleChoice",
    { choices: whole(2, "texts to choose from"), dropout },
    { command: "glue" },
  ),
};
const heads = Object.fromEntries(Object.keys(headSchemas).map((name) => [name, options("options of a head")]));
const runSchema = defineSettings(
  ALBERT_TASK,
  {
    model: options("options of the model"),
    heads: options("heads by name"),
    training: optional(options("settings of the command that trained")),
  },
  { command: "import" },
);
const headsSchema = defineSettings("heads", heads, { command: "import" });

export const albertRunYaml = (config: AlbertRunConfig): string => stringify(config);

/** The config in a YAML text, every key and value checked; `source` names the file. */
export function parseAlbertRun(yaml: string, source: string): AlbertRunConfig {
  const { model, heads = {}, training } = runSchema.check(keysOf(yaml, source), source);
  const given = modelSchema.check({ ...model }, `${source} / model`);
  for (const key of ["vocabulary", "width", "heads", "depth"] as const) {
    if (given[key] === undefined) reject({ who: `${source} / model`, needed: `a value of ${key}`, got: "none" }, 2);
  }
  if (given.halting) haltingSchema.check({ ...given.halting }, `${source} / model / halting`);
  const { lora, blocks, searched, ...sizes } = given;
  const wanted = headsSchema.check({ ...heads }, `${source} / heads`) as HeadOptions;
  for (const [name, each] of Object.entries(wanted)) {
    headSchemas[name as HeadName].check({ ...each }, `${source} / heads / ${name}`);
  }
  return {
    task: ALBERT_TASK,
    model: {
      ...sizes,
      halting: given.halting ?? undefined,
      ...((blocks ?? null) === null ? {} : { blocks }),
      ...(searched ? { searched } : {}),
      ...(lora ? { lora: loraSchema.check({ ...lora }, `${source} / model / lora`) } : {}),
    } as AlbertDescription["model"],
    heads: wanted,
    training: (training ?? undefined) as Readonly<Record<string, unknown>> | undefined,
  };
}

function keysOf(yaml: string, source: string): Values {
  const values = parseYaml(yaml, source);
  const task = values.task ?? "language";
  if (task !== ALBERT_TASK) {
    const remedy = "make one with `layerwise import` or `layerwise pretrain`";
    reject({ who: source, needed: `an ALBERT's run (task ${ALBERT_TASK})`, got: `task ${task}`, remedy }, 2);
  }
  return values;
}

/** What a run folder of an ALBERT begins with. */
export function albertContent({
  description: { model, heads },
  training,
  tokenizer,
  base,
}: {
  readonly description: AlbertDescription;
  readonly training?: Readonly<Record<string, unknown>> | undefined;
  readonly tokenizer?: Pick<OpenTokenizer, "bytes"> | undefined;
  /** What rests below adapters: checkpoints do not keep it. */
  readonly base?: Uint8Array | undefined;
}): { config: string; files: Readonly<Record<string, Uint8Array>> } & Pick<Job, "attach"> {
  return {
    ...histogramsEvery(training?.histogramEvery as number | null | undefined),
    config: albertRunYaml({ task: ALBERT_TASK, model, heads, training }),
    files: { ...(tokenizer ? { [TOKENIZER_FILE]: tokenizer.bytes } : {}), ...(base ? { [BASE_FILE]: base } : {}) },
  };
}

/** An ALBERT with weights: what pre-training, fine-tuning and imports give, and what a run holds. */
export interface TrainedAlbert extends DescribedAlbert {
  readonly description: AlbertDescription;
  readonly weights: Weights;
  /** An imported one may lack it. */
  readonly tokenizer: OpenTokenizer | undefined;
  /** The run folder and checkpoint it was opened from, if it was. */
  readonly path?: string | undefined;
  readonly step?: number | undefined;
}

/** One that was opened from a run folder. */
export interface AlbertRun extends TrainedAlbert {
  readonly config: AlbertRunConfig;
  readonly path: string;
  readonly step: number;
}

/** Opens a run to use it: by default at its best checkpoint, or the last where none is best. */
export async function openAlbertRun(path: string, options: OpenOptions = {}): Promise<AlbertRun> {
  return albertIn(await readStored(path, options));
}

/** The model of a run that was read. */
export async function albertIn({ path, config: yaml, state, step, tokenizer }: StoredRun): Promise<AlbertRun> {
  const config = parseAlbertRun(yaml, join(path, "config.yaml"));
  const { model, heads } = config;
  if (typeof model.blocks === "number") {
    const { foundIn } = await import("./found.ts");
    const { described, description, weights } = await foundIn({ path, state, step }, { model, heads });
    return { ...described, description, config: { ...config, ...description }, weights, tokenizer, path, step };
  }
  const described = describedAlbert(config);
  const tensors = model.lora ? new Map([...(await readBase(path)), ...state.weights]) : state.weights;
  const { weights } = loadAlbert(described.parameters, tensors, `${path}, step ${step}`);
  return { ...described, description: { model, heads }, config, weights, tokenizer, path, step };
}

/** The weights that rest below a run's adapters. */
export async function readBase(path: string): Promise<NamedTensors> {
  await checkFile(path, BASE_FILE);
  const file = join(path, BASE_FILE);
  if (existsSync(file)) return readSafetensors(await readFile(file), file).tensors;
  return rejectFile({ who: file, needed: "the weights below the run's adapters", got: "no such file" });
}

/** The tokenizer of a model, which an imported one may lack. */
export function needTokenizer({ tokenizer, path = "ALBERT" }: Pick<TrainedAlbert, "tokenizer" | "path">) {
  if (tokenizer) return tokenizer;
  const remedy = "import again with --tokenizer FILE (spiece.model)";
  return reject({ who: path, needed: "a SentencePiece model beside the weights", got: "none", remedy }, 2);
}

/** The same model but for its table of pairs, which nothing below it reads. */
export function withoutPairs<T extends Pick<TrainedAlbert, "description">>(albert: T): T {
  const { description } = albert;
  const { pairs = 0, ...model } = description.model;
  return pairs > 0 ? { ...albert, description: { ...description, model } } : albert;
}

/** Weights for other heads on the same encoder: what is lacking (`fresh`), which may be a table of pairs, is drawn from the seed, what is beyond them is left. */
export function transferred(
  { parameters, weights: known, path = "ALBERT" }: Pick<TrainedAlbert, "parameters" | "weights" | "path">,
  to: DescribedAlbert,
  seed: number,
): { weights: Map<ParameterTensor, Float32Array>; fresh: readonly Parameter[] } {
  const encoder = new Set(to.model.parameters.filter((each) => !isAdapter(each)).map(({ name }) => name));
  const { weights, missing } = loadAlbert(to.parameters, stateDict(parameters, known), path, {
    optional: (name) => !encoder.has(name) || name === PAIR_WEIGHT,
    ignored: (name) => !encoder.has(name),
  });
  for (const [tensor, values] of initialise(missing, seed)) weights.set(tensor, values);
  return { weights, fresh: missing };
}

/** The state of a run before its first update. */
export function firstState(parameters: readonly Parameter[], weights: Weights): TrainState {
  return {
    weights: stateDict(parameters, weights),
    moments: new Map(),
    progress: { ...firstProgress, totalSteps: 0, finished: true },
  };
}
