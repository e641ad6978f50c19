/** ALBERT's weights under the names others give them: Hugging Face's ALBERT, ALBERT-ACT, and TensorFlow's variables as .npy files. */
import { LayerwiseError, reject, rejectFile } from "../../base/errors.ts";
import { nearest } from "../../base/nearest.ts";
import { checkOptions } from "../../base/options.ts";
import { compat, type HaltingOptions } from "../../depth/halting.ts";
import type { Tensor, Weights } from "../../graph/index.ts";
import { activations, type Parameter } from "../../nn/index.ts";
import { type FloatRecord, floatsOf, type NamedTensor, type NamedTensors, stateDict } from "../state-dict.ts";
import type { Albert, AlbertOptions, CompleteAlbertOptions } from "./albert.ts";

export type { NamedTensor } from "../state-dict.ts";

const LAYER = "encoder.albert_layer_groups.0.albert_layers.0";
const HALTING = "encoder.halting.unit";

/** Copies of others, and buffers: a model is whole without them. */
const redundant = /^(embeddings\.(position_ids|token_type_ids)|predictions\.decoder\.(weight|bias))$/;

/** Our name of a tensor in a Hugging Face state dict, of stock ALBERT or of ALBERT-ACT; undefined for what is not needed. */
export function ownName(foreign: string): string | undefined {
  const name = foreign.replace(/^(module\.)?(albert\.)?/, "");
  if (redundant.test(name)) return undefined;
  return name
    .replace(/^encoder\.albert_layer\.act\.dense\./, `${HALTING}.`)
    .replace(/^encoder\.albert_layer\.LayerNorm\./, `${LAYER}.attention.LayerNorm.`)
    .replace(/^encoder\.albert_layer\./, `${LAYER}.`);
}

/** Names of heads, which stand beside the encoder and so get no prefix. */
const outside = /^(predictions|sop_classifier|classifier|qa_outputs)\./;

/** The name Hugging Face has for a parameter of ours; `prefix` is `albert.` in models with heads. */
export function foreignName(own: string, { adaptive, prefix }: { adaptive: boolean; prefix: string }): string {
  if (outside.test(own)) return own;
  const name = adaptive
    ? own
        .replace(`${HALTING}.`, "encoder.albert_layer.act.dense.")
        .replace(`${LAYER}.attention.LayerNorm.`, "encoder.albert_layer.LayerNorm.")
        .replace(`${LAYER}.`, "encoder.albert_layer.")
    : own;
  return prefix + name;
}

const tensorflowNames: Readonly<Record<string, string>> = {
  "bert/embeddings/word_embeddings": "embeddings.word_embeddings.weight",
  "bert/embeddings/position_embeddings": "embeddings.position_embeddings.weight",
  "bert/embeddings/token_type_embeddings": "embeddings.token_type_embeddings.weight",
  "cls/predictions/output_bias": "predictions.bias",
  "cls/seq_relationship/output_weights": "sop_classifier.classifier.weight",
  "cls/seq_relationship/output_bias": "sop_classifier.classifier.bias",
  output_weights: "classifier.weight",
  output_bias: "classifier.bias",
};

/** Scopes of the layers: kernels below them are [in, out]. */
const tensorflowScopes: Readonly<Record<string, string>> = {
  "bert/embeddings/LayerNorm": "embeddings.LayerNorm",
  "bert/encoder/embedding_hidden_mapping_in": "encoder.embedding_hidden_mapping_in",
  "bert/encoder/transformer/attention_1/self/query": `${LAYER}.attention.query`,
  "bert/encoder/transformer/attention_1/self/key": `${LAYER}.attention.key`,
  "bert/encoder/transformer/attention_1/self/value": `${LAYER}.attention.value`,
  "bert/encoder/transformer/attention_1/output/dense": `${LAYER}.attention.dense`,
  "bert/encoder/transformer/LayerNorm": `${LAYER}.attention.LayerNorm`,
  "bert/encoder/transformer/ffn_1/intermediate/dense": `${LAYER}.ffn`,
  "bert/encoder/transformer/ffn_1/intermediate/output/dense": `${LAYER}.ffn_output`,
  "bert/encoder/transformer/LayerNorm_1": `${LAYER}.full_layer_layer_norm`,
  "bert/encoder/transformer/halting/dense": HALTING,
  "bert/encoder/transformer/sigmoid_activation_for_pondering/dense": HALTING,
  "bert/pooler/dense": "pooler",
  "cls/predictions/transform/dense": "predictions.dense",
  "cls/predictions/transform/LayerNorm": "predictions.LayerNorm",
};

const leaves: Readonly<Record<string, string>> = { kernel: "weight", bias: "bias", gamma: "weight", beta: "bias" };

/** What optimisers leave in a checkpoint. */
const slots = /(^|\/)(adam_[mv]|accum|local_step|batch_finite|global_step)$/;

/** Stock ALBERT keeps its one layer below two more scopes; Keras's layer norms, as the original's notebooks save them, go by other names, those of the layer without its outer scopes. */
const usualScope = (scope: string) =>
  scope
    .replace("/group_0/inner_group_0/", "/")
    .replace(/^transformer\//, "bert/encoder/transformer/")
    .replace(/(?<=\/)layer_normalization(?=_\d+$|$)/, "LayerNorm");

/** Our name of a TensorFlow variable, and whether its values must be transposed; undefined for what is not needed. */
export function ownVariable(variable: string): { name: string; transpose: boolean } | undefined {
  const path = variable.replace(/:0$/, "");
  if (slots.test(path)) return undefined;
  const whole = tensorflowNames[path];
  if (whole) return { name: whole, transpose: false };
  const scope = usualScope(path.slice(0, path.lastIndexOf("/")));
  const leaf = path.slice(path.lastIndexOf("/") + 1);
  const known = tensorflowScopes[scope];
  if (!known || !leaves[leaf]) return { name: path, transpose: false };
  return { name: `${known}.${leaves[leaf]}`, transpose: leaf === "kernel" };
}

/** [in, out] → [out, in] */
export function transposed({ shape, data }: NamedTensor): NamedTensor & { readonly data: Float32Array } {
  const [rows = 1, columns = 1] = shape;
  const turned = new Float32Array(data.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) turned[j * rows + i] = Number(data[i * columns + j]);
  }
  return { shape: [columns, rows], data: turned };
}

/** Layers that own their weights, numbered: BERT's and its kin's, in PyTorch and in TensorFlow. */
const bertLayer = /(^|[./])layer[._]\d+[./](attention|intermediate|output)[./]/;

function refuseBert(names: Iterable<string>, source: string): void {
  for (const name of names) {
    if (!bertLayer.test(name)) continue;
    rejectFile({
      who: source,
      needed: "an ALBERT, whose one layer runs at every depth",
      got: `a BERT, with layers of its own at every depth (${name})`,
      remedy: "use ALBERT weights such as those of albert-base-v2, or pre-train an ALBERT on the same text",
    });
  }
}

/** Tensors under our names; two files' names for one tensor are an error. */
export function renamed(tensors: NamedTensors, source: string): Map<string, NamedTensor> {
  refuseBert(tensors.keys(), source);
  const found = new Map<string, NamedTensor>();
  for (const [foreign, tensor] of tensors) {
    const variable = foreign.includes("/") || foreign.startsWith("output_") ? ownVariable(foreign) : undefined;
    const name = variable ? variable.name : foreign.includes("/") ? undefined : ownName(foreign);
    if (name === undefined) continue;
    if (found.has(name))
      rejectFile({ who: source, needed: "one tensor per name", got: `two for ${name}, one as ${foreign}` });
    found.set(name, variable?.transpose ? transposed(tensor) : tensor);
  }
  return found;
}

/** What a file of weights may lack or have too much. */
export interface LoadOptions {
  /** Parameters that a file may lack: they get their first values (a head, a halting unit that is still to be trained). */
  optional?: (name: string) => boolean;
  /** Tensors of the file that the model may do without. Default: none. */
  ignored?: (name: string) => boolean;
}

/** A copy of the weights of a model out of a file's tensors, which go by any of the known names; `source` names the file in errors. */
export function loadAlbert(
  parameters: readonly Parameter[],
  tensors: NamedTensors,
  source = "tensors",
  options: LoadOptions = {},
): { weights: Map<Tensor<"parameter">, Float32Array>; missing: Parameter[] } {
  checkOptions("loadAlbert", options, ["optional", "ignored"]);
  const { optional = () => false, ignored = () => false } = options;
  const found = renamed(tensors, source);
  const known = new Set(parameters.map(({ name }) => name));
  const extra = [...found.keys()].find((name) => !known.has(name) && !ignored(name));
  if (extra !== undefined) {
    const guess = nearest(extra, [...known]);
    const needed = guess ? `tensors of the model (such as ${guess})` : "tensors of the model only";
    rejectFile({ who: source, needed, got: extra, remedy: "import with the head and the depth the file was made for" });
  }
  const weights = new Map<Tensor<"parameter">, Float32Array>();
  const missing: Parameter[] = [];
  for (const parameter of parameters) {
    const { name, tensor } = parameter;
    const { shape } = tensor.attributes;
    const stored = found.get(name);
    if (stored) weights.set(tensor, floatsOf(`${source}: ${name}`, shape, stored));
    else if (optional(name)) missing.push(parameter);
    else rejectFile({ who: source, needed: `a tensor ${name} [${shape}]`, got: "none of that name" });
  }
  return { weights, missing };
}

/** A copy of all weights under Hugging Face's names, so that they load there: ALBERT-ACT's for halting models, else stock ALBERT's. */
export function saveAlbert(
  model: Albert,
  parameters: readonly Parameter[],
  weights: Weights,
): Map<string, FloatRecord> {
  const adaptive = model.options.halting !== undefined;
  const prefix = parameters.some(({ name }) => outside.test(name)) ? "albert." : "";
  const own = [...stateDict(parameters, weights)];
  return new Map(own.map(([name, record]) => [foreignName(name, { adaptive, prefix }), record]));
}

function numberIn(config: Readonly<Record<string, unknown>>, source: string, key: string, fallback?: number): number {
  const value = config[key] ?? fallback;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  return rejectFile({ who: `${source} / ${key}`, needed: "a number", got: JSON.stringify(value) ?? "nothing" });
}

/** The model a Hugging Face `config.json` describes, ALBERT or ALBERT-ACT; what is not built here is an error that names `source`. */
export function albertOptionsFrom(
  config: Readonly<Record<string, unknown>>,
  source = "config",
): AlbertOptions & { depth: number } {
  const position = config.position_embedding_type ?? "absolute";
  if (position !== "absolute") {
    rejectFile({ who: `${source} / position_embedding_type`, needed: '"absolute"', got: JSON.stringify(position) });
  }
  const activation = config.hidden_act ?? "gelu_new";
  if (typeof activation !== "string" || !Object.hasOwn(activations, activation)) {
    const needed = `one of ${Object.keys(activations).join(", ")}`;
    rejectFile({ who: `${source} / hidden_act`, needed, got: JSON.stringify(activation) });
  }
  const number = (key: string, fallback?: number) => numberIn(config, source, key, fallback);
  return {
    vocabulary: number("vocab_size"),
    embedding: number("embedding_size", 128),
    width: number("hidden_size"),
    heads: number("num_attention_heads"),
    hidden: number("intermediate_size"),
    depth: number("num_hidden_layers"),
    groups: number("num_hidden_groups", 1),
    inner: number("inner_group_num", 1),
    activation: activation as keyof typeof activations,
    length: number("max_position_embeddings", 512),
    types: number("type_vocab_size", 2),
    epsilon: number("layer_norm_eps", 1e-12),
    dropout: number("hidden_dropout_prob", 0),
    attentionDropout: number("attention_probs_dropout_prob", 0),
    ...(config.act_epsilon === undefined ? {} : { halting: haltingFrom(config, number("act_epsilon")) }),
    ...(config[OWN_PAIRS] === undefined ? {} : { pairs: number(OWN_PAIRS) }),
  };
}

/** Keys of what ALBERT's and ALBERT-ACT's own configs have no words for; others pass them over. */
const [OWN_HALTING, OWN_PAIRS] = ["layerwise_halting", "layerwise_pairs"];

/** As the published adaptive models were trained, unless the file was saved here and says otherwise. */
function haltingFrom(config: Readonly<Record<string, unknown>>, epsilon: number): Omit<HaltingOptions, "width"> {
  const own = (config[OWN_HALTING] ?? compat) as Omit<HaltingOptions, "width">;
  return { ...own, epsilon };
}

/** The `config.json` that Hugging Face needs beside saved weights. */
export function huggingFaceConfig(options: CompleteAlbertOptions): Record<string, unknown> {
  const own = typeof options.depth === "string" ? `depth ${JSON.stringify(options.depth)}` : undefined;
  const got = options.blocks === undefined ? own : `blocks ${options.blocks}`;
  if (got !== undefined) {
    const needed = "a layer that runs again and again, as Hugging Face's ALBERT has it";
    reject({ who: "export", needed, got, remedy: "export it as ONNX" }, 2);
  }
  if (options.halting && (options.groups > 1 || options.inner > 1)) {
    throw new LayerwiseError(
      "ALBERT-ACT has one layer: a halting model of several groups or inner layers cannot be saved for it",
    );
  }
  return {
    model_type: options.halting ? "albert_act" : "albert",
    vocab_size: options.vocabulary,
    embedding_size: options.embedding,
    hidden_size: options.width,
    num_attention_heads: options.heads,
    intermediate_size: options.hidden,
    num_hidden_layers: options.depth,
    num_hidden_groups: options.groups,
    inner_group_num: options.inner,
    hidden_act: options.activation,
    max_position_embeddings: options.length,
    type_vocab_size: options.types,
    layer_norm_eps: options.epsilon,
    hidden_dropout_prob: options.dropout,
    attention_probs_dropout_prob: options.attentionDropout,
    position_embedding_type: "absolute",
    pad_token_id: 0,
    bos_token_id: 2,
    eos_token_id: 3,
    ...(options.halting ? { act_epsilon: options.halting.epsilon, [OWN_HALTING]: options.halting } : {}),
    ...(options.pairs > 0 ? { [OWN_PAIRS]: options.pairs } : {}),
  };
}
