/**
 * The run folder of an ALBERT: what imports, pre-training and fine-tuning write, and how all others open it.
 *
 * config.yaml: `task: albert`, `model` (AlbertOptions, among them `halting`: absent for fixed depth), `heads` (HeadOptions: name →
 * options) and `training` (whatever the command that trains wants to find again; nobody else reads it). Beside it tokenizer.model,
 * where there is one, and checkpoints whose weights have our parameter names.
 */
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { messageOf, reject, UserError } from "../../base/errors.ts";
import {
  type AlbertDescription,
  type DescribedAlbert,
  describedAlbert,
  type HeadName,
  type HeadOptions,
} from "../../model/albert/description.ts";
import { loadAlbert } from "../../model/albert/weights.ts";
import { stateDict } from "../../model/state-dict.ts";
import { initialise, type Parameter } from "../../nn/index.ts";
import { TOKENIZER_FILE } from "../../runs/folder.ts";
import {
  type Field,
  flag,
  choice as one,
  open,
  real,
  Schema,
  type SettingsOf,
  text,
  whole,
} from "../../runs/settings.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { TrainState } from "../../train/events.ts";
import { firstProgress } from "../../train/loop.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import type { Weights } from "../../train/stages.ts";
import { keptTokenizer, type OpenOptions, readStored, type StoredRun } from "../open-run.ts";

export const ALBERT_TASK = "albert";

export interface AlbertRunConfig extends AlbertDescription {
  readonly task: typeof ALBERT_TASK;
  /** Settings of the command that trained; nobody else reads them. */
  readonly training?: Readonly<Record<string, unknown>> | undefined;
}

const options: Field<object> = {
  value: {},
  help: "options",
  check: (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : "keys with values",
};

const activations = ["gelu", "gelu_new", "relu", "silu", "tanh"] as const;

/** The keys of `model`; the first five have to be there. */
export const modelSchema = new Schema(
  {
    vocabulary: whole(30000, "number of pieces"),
    width: whole(768, "width of the hidden state"),
    heads: whole(12, "attention heads; they divide the width"),
    depth: whole(12, "depths of fixed models; the most depths of halting ones"),
    embedding: whole(128, "width of the embedding tables"),
    hidden: whole(3072, "width of the feed-forward layer"),
    groups: whole(1, "groups of layers that share no weights"),
    inner: whole(1, "layers of a group"),
    activation: one(activations, "gelu_new", "activation of the feed-forward layer"),
    length: whole(512, "longest text"),
    types: whole(2, "kinds of segments"),
    epsilon: real(1e-12, "epsilon of the layer norms"),
    dropout: real(0, "part of activations that is dropped in training", 0, 1),
    attentionDropout: real(0, "part of attention that is dropped in training", 0, 1),
    pooler: flag("whether there is a pooler", true),
    halting: open(options),
  },
  "import",
);

/** The keys of `model: halting`. */
export const haltingSchema = new Schema(
  {
    epsilon: real(0.01, "a token halts when its probabilities exceed 1 − epsilon", 0, 1),
    accumulate: one(["blend", "weightedSum"], "blend", "how block outputs become the state"),
    halted: one(["frozen", "running"], "frozen", "what becomes of halted tokens with weightedSum"),
    haltAtCap: flag("halt at the last depth with what is left", true),
    biasInitial: real(0, "first bias of the halting unit", -Infinity),
    stepEmbedding: flag("a learned vector before each depth"),
    ponder: real(0, "factor of the penalty on depth"),
    ponderFrom: real(0, "updates before that factor counts, or below 1 a part of them"),
    ponderWarmup: real(0, "updates until that factor is whole, or below 1 a part of them"),
    ponderReduce: one(["mean", "sum"], "mean", "penalty by token or by text"),
    pads: one(["skip", "run"], "skip", "whether padding runs"),
    name: text("encoder.halting", "prefix of the unit's names"),
  },
  "import",
);

const dropout = real(0.1, "part of what is classified that is dropped in training", 0, 1);
const labels = whole(2, "number of classes");
const headSchemas: Readonly<Record<HeadName, Schema<Readonly<Record<string, Field<unknown>>>>>> = {
  maskedLanguage: new Schema({ predictions: open(whole(20, "masked places a text")) }, "pretrain"),
  sentenceOrder: new Schema({ epsilon: real(0, "added to the count of texts") }, "pretrain"),
  classification: new Schema(
    {
      labels,
      kind: one(["single", "multiple", "regression"], "single", "one class a text, any number, or numbers"),
      dropout,
      pooling: one(["first", "mean"], "first", "what of a text is classified"),
    },
    "glue",
  ),
  tokenClassification: new Schema({ labels, dropout }, "glue"),
  questionAnswering: new Schema({}, "glue"),
  multipleChoice: new Schema({ choices: whole(2, "texts to choose from"), dropout }, "glue"),
};
const heads = Object.fromEntries(Object.keys(headSchemas).map((name) => [name, options])) as Record<
  HeadName,
  Field<object>
>;
const runSchema = new Schema(
  {
    task: one([ALBERT_TASK], ALBERT_TASK, "the kind of run"),
    model: options,
    heads: options,
    training: open(options),
  },
  "import",
);
const headsSchema = new Schema(heads, "import");

export const albertRunYaml = (config: AlbertRunConfig): string => stringify(config);

/** The config in a YAML text, every key and value checked; `source` names the file. */
export function parseAlbertRun(yaml: string, source: string): AlbertRunConfig {
  const { model, heads = {}, training } = runSchema.checked(keysOf(yaml, source), source);
  const given = modelSchema.checked({ ...model }, `${source} / model`) as Partial<
    SettingsOf<typeof modelSchema.fields>
  >;
  for (const key of ["vocabulary", "width", "heads", "depth"] as const) {
    if (given[key] === undefined) reject({ who: `${source} / model`, needed: `a value of ${key}`, got: "none" }, 2);
  }
  if (given.halting) haltingSchema.checked({ ...given.halting }, `${source} / model / halting`);
  const wanted = headsSchema.checked({ ...heads }, `${source} / heads`) as HeadOptions;
  for (const [name, each] of Object.entries(wanted)) {
    headSchemas[name as HeadName].checked({ ...each }, `${source} / heads / ${name}`);
  }
  return {
    task: ALBERT_TASK,
    model: { ...given, halting: given.halting ?? undefined } as AlbertDescription["model"],
    heads: wanted,
    training: (training ?? undefined) as Readonly<Record<string, unknown>> | undefined,
  };
}

function keysOf(yaml: string, source: string): Record<string, unknown> {
  let values: unknown;
  try {
    values = parse(yaml);
  } catch (error) {
    throw new UserError(`${source}: not YAML: ${messageOf(error)}`, 2);
  }
  const task = (values as { task?: unknown } | null)?.task ?? "language";
  if (task !== ALBERT_TASK) {
    const remedy = "make one with `layerwise import` or `layerwise pretrain`";
    reject({ who: source, needed: `an ALBERT's run (task ${ALBERT_TASK})`, got: `task ${task}`, remedy }, 2);
  }
  return values as Record<string, unknown>;
}

/** What a run folder of an ALBERT begins with. */
export function albertContent({
  description: { model, heads },
  training,
  tokenizer,
}: {
  readonly description: AlbertDescription;
  readonly training?: Readonly<Record<string, unknown>> | undefined;
  readonly tokenizer?: Pick<OpenTokenizer, "bytes"> | undefined;
}): { config: string; files: Readonly<Record<string, Uint8Array>> } {
  return {
    config: albertRunYaml({ task: ALBERT_TASK, model, heads, training }),
    files: tokenizer ? { [TOKENIZER_FILE]: tokenizer.bytes } : {},
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
export async function albertIn({ path, config: yaml, state, step }: StoredRun): Promise<AlbertRun> {
  const config = parseAlbertRun(yaml, join(path, "config.yaml"));
  const { model, heads } = config;
  const described = describedAlbert(config);
  const { weights } = loadAlbert(described.parameters, state.weights, `${path}, step ${step}`);
  const tokenizer = await keptTokenizer(path);
  return { ...described, description: { model, heads }, config, weights, tokenizer, path, step };
}

/** The tokenizer of a model, which an imported one may lack. */
export function needTokenizer({ tokenizer, path = "ALBERT" }: Pick<TrainedAlbert, "tokenizer" | "path">) {
  if (tokenizer) return tokenizer;
  const remedy = "import again with --tokenizer FILE (spiece.model)";
  return reject({ who: path, needed: "a SentencePiece model beside the weights", got: "none", remedy }, 2);
}

/** Weights for other heads on the same encoder: what is lacking (`fresh`) is drawn from the seed, what is beyond them is left. */
export function transferred(
  { parameters, weights: known, path = "ALBERT" }: Pick<TrainedAlbert, "parameters" | "weights" | "path">,
  to: DescribedAlbert,
  seed: number,
): { weights: Map<ParameterTensor, Float32Array>; fresh: readonly Parameter[] } {
  const encoder = new Set(to.model.parameters.map(({ name }) => name));
  const { weights, missing } = loadAlbert(to.parameters, stateDict(parameters, known), path, {
    optional: (name) => !encoder.has(name),
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
