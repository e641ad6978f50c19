/** Language models of Llama's shape (Llama, SmolLM, Qwen 3): a config and tensors under Hugging Face's names in, our model out. */
import { rejectData, rejectOption } from "../../base/errors.ts";
import { check, whole } from "../../base/options.ts";
import { sequence } from "../../depth/plan.ts";
import { type Activation, activations } from "../../nn/index.ts";
import { type FloatRecord, floatsOf, loadStateDict, type NamedTensor, type NamedTensors } from "../state-dict.ts";
import type { Weights } from "../weights.ts";
import {
  type LanguageModel,
  type LanguageModelOptions,
  languageModel,
  type PlannedBlocks,
  type TextSizes,
} from "./language.ts";

/** The deepest published one has 126; a damaged config must not ask for a graph of millions. */
const MOST_LAYERS = 1000;

/** A model that was read, and its weights. */
export interface ImportedLanguageModel {
  readonly model: LanguageModel;
  readonly weights: Weights;
}

/** A config.json as Hugging Face writes it. */
export type LlamaConfig = Readonly<Record<string, unknown>>;

/** Options of the model that a Llama-shaped config.json describes, one block a layer; `source` names the file in errors. */
export function llamaOptions(config: LlamaConfig, source = "config"): TextSizes & PlannedBlocks {
  const number = (key: string, fallback?: number) => numberIn(config, key, source, fallback);
  const [width, heads, layers] = [number("hidden_size"), number("num_attention_heads"), number("num_hidden_layers")];
  check(`${source} / num_hidden_layers`, layers, whole(1, MOST_LAYERS));
  refuseUnknown(config, source, width / heads);
  return {
    vocabulary: number("vocab_size"),
    width,
    length: number("max_position_embeddings", 2048),
    heads,
    hidden: number("intermediate_size"),
    plan: sequence({ unique: layers, depth: layers }),
    activation: activationIn(config, source),
    positions: "rotary",
    rotaryBase: numberIn(ropeOf(config), "rope_theta", source, 10_000),
    tied: config.tie_word_embeddings === true,
    norm: "rms",
    normEpsilon: number("rms_norm_eps", 1e-6),
    keyHeads: number("num_key_value_heads", heads),
    queryKeyNorm: config.model_type === "qwen3",
    gated: true,
    bias: false,
  };
}

/** Builds the model that config and tensors describe, and checks every name and shape. `length` may be shorter than the config's. */
export function importLlama(
  tensors: NamedTensors,
  config: LlamaConfig,
  { source = "tensors", length }: { readonly source?: string; readonly length?: number } = {},
): ImportedLanguageModel {
  const options = llamaOptions(config, `${source} / config`);
  checkSizes(tensors, { ...options, length: length ?? options.length }, source);
  const model = languageModel({ ...options, ...(length === undefined ? {} : { length }) } as LanguageModelOptions);
  const named = new Map(
    model.parameters.map(({ name, tensor }) => [name, read(tensors, name, tensor.attributes.shape, source)]),
  );
  refuseExtra(tensors, model, source);
  return { model, weights: loadStateDict(model.parameters, named, source) };
}

/** Tables of rotary positions, in numbers over all layers. */
const MOST_POSITIONS = 2 ** 30;

/** Before anything is built in the sizes that a config gives: the embedding has them, and the tables of positions fit. */
function checkSizes(tensors: NamedTensors, options: TextSizes & PlannedBlocks, source: string): void {
  const { vocabulary, width, heads = 1, length = 0, plan } = options;
  const name = "model.embed_tokens.weight";
  rowsOf(name, tensors.get(name), source);
  floatsOf(`${source} / ${name}`, [vocabulary, width], tensors.get(name));
  const numbers = (length * width * plan.length) / heads;
  if (numbers <= MOST_POSITIONS) return;
  const needed = `tables of at most ${MOST_POSITIONS} numbers`;
  rejectData({
    who: `${source} / config / max_position_embeddings`,
    needed,
    got: `${numbers}`,
    remedy: "give a shorter length",
  });
}

/** Our layers under Hugging Face's names; several are put one after the other. */
const layerNames: Readonly<Record<string, readonly string[]>> = {
  norm1: ["input_layernorm"],
  qkv: ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
  out: ["self_attn.o_proj"],
  query_norm: ["self_attn.q_norm"],
  key_norm: ["self_attn.k_norm"],
  norm2: ["post_attention_layernorm"],
  gate: ["mlp.gate_proj"],
  up: ["mlp.up_proj"],
  down: ["mlp.down_proj"],
};
const otherNames: Readonly<Record<string, string>> = {
  "embedding.weight": "model.embed_tokens.weight",
  "norm.weight": "model.norm.weight",
  "head.weight": "lm_head.weight",
};

/** Names under which one of our parameters is stored. */
function storedNames(name: string): string[] {
  const [, block, layer] = /^blocks\.(\d+)\.(\w+)\.weight$/.exec(name) ?? [];
  if (block === undefined) return [otherNames[name]!];
  return layerNames[layer!]!.map((each) => `model.layers.${block}.${each}.weight`);
}

function read(tensors: NamedTensors, name: string, shape: readonly number[], source: string): FloatRecord {
  const stored = storedNames(name).map((each) => [each, tensors.get(each)] as const);
  const rows = stored.reduce((total, [each, tensor]) => total + rowsOf(each, tensor, source), 0);
  const parts = stored.map(([each, tensor]) => {
    const own = stored.length === 1 ? shape : [rowsOf(each, tensor, source), ...shape.slice(1)];
    return floatsOf(`${source} / ${each}`, own, tensor);
  });
  if (rows !== shape[0]) {
    rejectData({ who: `${source} / ${stored.map(([each]) => each)}`, needed: `${shape[0]} rows`, got: `${rows}` });
  }
  const data = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    data.set(part, at);
    at += part.length;
  }
  return { dtype: "F32", shape, data };
}

const rowsOf = (name: string, tensor: NamedTensor | undefined, source: string): number =>
  tensor?.shape[0] ?? rejectData({ who: `${source} / ${name}`, needed: "a tensor", got: "nothing" });

/** Tied heads and tables of rotary positions are stored by some and follow from the rest. */
const redundant = /rotary_emb\.inv_freq$|^lm_head\.weight$/;

function refuseExtra(tensors: NamedTensors, { parameters }: LanguageModel, source: string): void {
  const known = new Set(parameters.flatMap(({ name }) => storedNames(name)));
  const extra = [...tensors.keys()].find((name) => !known.has(name) && !redundant.test(name));
  if (extra === undefined) return;
  rejectData({
    who: source,
    needed: "only weights that the config speaks of",
    got: extra,
    remedy: "check num_hidden_layers",
  });
}

function numberIn(config: LlamaConfig, key: string, source: string, fallback?: number): number {
  const value = config[key] ?? fallback;
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
  return rejectData({ who: `${source} / ${key}`, needed: "a number above 0", got: JSON.stringify(value) ?? "nothing" });
}

/** Newer configs keep what is about rotary positions in an object of its own. */
const ropeOf = (config: LlamaConfig): LlamaConfig => ({
  ...config,
  ...(config.rope_parameters as LlamaConfig | undefined),
});

function activationIn({ hidden_act: name = "silu" }: LlamaConfig, source: string): Activation {
  if (typeof name === "string" && Object.hasOwn(activations, name)) return name as Activation;
  const needed = `one of ${Object.keys(activations).join(", ")}`;
  return rejectData({ who: `${source} / hidden_act`, needed, got: JSON.stringify(name) });
}

/** What these models may have and ours has not. */
function refuseUnknown(config: LlamaConfig, source: string, headWidth: number): void {
  const scaling = (config.rope_scaling ?? null) as LlamaConfig | null;
  const { rope_type: type = scaling?.rope_type ?? scaling?.type ?? "default" } = ropeOf(config);
  const faults = {
    model_type: ["llama", "qwen3", "mistral", undefined].includes(config.model_type as string)
      ? null
      : config.model_type,
    rope_scaling: type === "default" ? null : type,
    attention_bias: config.attention_bias === true ? true : null,
    mlp_bias: config.mlp_bias === true ? true : null,
    head_dim: (config.head_dim ?? headWidth) === headWidth ? null : config.head_dim,
  };
  for (const [key, got] of Object.entries(faults)) {
    if (got === null) continue;
    rejectOption(
      { who: `${source} / ${key}`, needed: "a model that has none, or the usual one", got: JSON.stringify(got) },
      1,
    );
  }
}
