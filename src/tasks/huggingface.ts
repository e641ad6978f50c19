/** Trained models as folders that Hugging Face's transformers load: config.json, safetensors, tokenizer and modeling_layerwise.py. */
import { reject } from "../base/errors.ts";
import { type TensorRecord, writeSafetensors } from "../format/safetensors.ts";
import type { DescribedAlbert, HeadOptions } from "../model/albert/description.ts";
import { huggingFaceConfig } from "../model/albert/weights.ts";
import { MODELING } from "../model/huggingface/modeling.ts";
import { LAYOUT, torchName } from "../model/huggingface/names.ts";
import { languageSpec } from "../model/language/huggingface.ts";
import type { LanguageModel } from "../model/language/language.ts";
import { parSpec } from "../model/par/huggingface.ts";
import type { ParModel } from "../model/par/par.ts";
import { stateDict } from "../model/state-dict.ts";
import type { Weights } from "../model/weights.ts";
import type { Parameter } from "../nn/index.ts";
import { tokenizerFileName } from "../text/tokenizer.ts";
import type { ExportedFiles, ExportNotes } from "./exports.ts";

/** What config.json holds under `layerwise`, besides what the Python file is told. */
export interface HuggingFaceNotes {
  readonly layout: number;
  readonly kind: "language" | "retrain" | "albert";
  /** config.yaml of the run that an import makes; an ALBERT's is made from config.json itself. */
  readonly run?: string | undefined;
  /** The step of the weights. */
  readonly step: number;
}

/** What a run brings besides model and weights. */
export interface HuggingFaceSource extends ExportNotes {
  /** The config.yaml that an import is to write. */
  readonly run: string;
}

const FILE = "modeling_layerwise";
const json = (value: unknown) => new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`);

/** Classes of transformers' Auto… that find the model's own. */
const autoMap = (model: string, names: readonly string[]) => ({
  AutoConfig: `${FILE}.LayerwiseConfig`,
  ...Object.fromEntries(["AutoModel", ...names].map((name) => [name, `${FILE}.${model}`])),
});

interface Described {
  readonly model: string;
  readonly auto: readonly string[];
  readonly sizes: Readonly<Record<string, unknown>>;
  readonly layerwise: HuggingFaceNotes & Readonly<Record<string, unknown>>;
}

const configOf = ({ model, auto, sizes, layerwise }: Described) =>
  json({
    ...sizes,
    model_type: "layerwise",
    architectures: [model],
    auto_map: autoMap(model, auto),
    dtype: "float32",
    tie_word_embeddings: false,
    use_cache: false,
    layerwise,
  });

function tensorsOf(parameters: readonly Parameter[], weights: Weights): Map<string, TensorRecord> {
  return new Map([...stateDict(parameters, weights)].map(([name, record]) => [torchName(name), record]));
}

const filesOf = (config: Uint8Array, tensors: ReadonlyMap<string, TensorRecord>): ExportedFiles => ({
  "config.json": config,
  "model.safetensors": writeSafetensors(tensors, { format: "pt" }),
  [`${FILE}.py`]: new TextEncoder().encode(MODELING),
});

/** What transformers read of a model that continues text. */
const causalSizes = (model: LanguageModel | ParModel) => ({
  vocab_size: model.options.vocabulary,
  hidden_size: model.options.width,
  num_attention_heads: model.options.heads,
  num_hidden_layers: model.policy.depth,
});

/** The folder of a language model, for AutoModelForCausalLM. */
export function huggingFaceLanguage(model: LanguageModel, weights: Weights, source: HuggingFaceSource): ExportedFiles {
  const config = configOf({
    model: "LayerwiseForCausalLM",
    auto: ["AutoModelForCausalLM"],
    sizes: { ...causalSizes(model), max_position_embeddings: model.options.length },
    layerwise: { layout: LAYOUT, kind: "language", step: source.step, model: languageSpec(model), run: source.run },
  });
  return {
    ...filesOf(config, tensorsOf(model.parameters, weights)),
    [tokenizerFileName(source.tokenizer)]: source.tokenizer,
  };
}

/** The folder of a found network with memory, for AutoModelForCausalLM; it takes and gives the tokenizer's ids. */
export function huggingFacePar(
  model: ParModel,
  weights: Weights,
  { ranks, length, ...source }: HuggingFaceSource & { readonly ranks: Int32Array; readonly length: number },
): ExportedFiles {
  const config = configOf({
    model: "LayerwiseParForCausalLM",
    auto: ["AutoModelForCausalLM"],
    sizes: causalSizes(model),
    layerwise: { layout: LAYOUT, kind: "retrain", step: source.step, model: parSpec(model, length), run: source.run },
  });
  const tensors = tensorsOf(model.parameters, weights);
  tensors.set("ranks", { dtype: "I32", shape: [ranks.length], data: ranks });
  return { ...filesOf(config, tensors), [tokenizerFileName(source.tokenizer)]: source.tokenizer };
}

/** Where transformers look for a head. */
const heads = {
  maskedLanguage: "AutoModelForMaskedLM",
  sentenceOrder: "AutoModelForPreTraining",
  classification: "AutoModelForSequenceClassification",
  tokenClassification: "AutoModelForTokenClassification",
  questionAnswering: "AutoModelForQuestionAnswering",
  multipleChoice: undefined,
} as const satisfies Record<keyof HeadOptions, string | undefined>;

/** The folder of an ALBERT with its heads, of fixed depth or halting. */
export function huggingFaceAlbert(
  { model, parameters }: DescribedAlbert,
  options: HeadOptions,
  weights: Weights,
  { step, tokenizer }: { readonly step: number; readonly tokenizer: Uint8Array | undefined },
): ExportedFiles {
  const names = Object.keys(options) as (keyof HeadOptions)[];
  const stranger = names.find((name) => heads[name] === undefined);
  if (stranger) {
    const needed = `heads of ${Object.keys(heads).slice(0, -1).join(", ")}`;
    reject({ who: "export --format huggingface", needed, got: stranger, remedy: "export it as ONNX" }, 2);
  }
  const keys = model.options.halting?.keys ?? "own";
  if (keys !== "own") {
    const needed = "tokens that show keys and values of their own";
    reject({ who: "export --format huggingface", needed, got: `keys ${keys}`, remedy: "export it as ONNX" }, 2);
  }
  const config = configOf({
    model: "LayerwiseAlbert",
    auto: names.flatMap((name) => heads[name] ?? []),
    sizes: huggingFaceConfig(model.options),
    layerwise: { layout: LAYOUT, kind: "albert", step, model: model.options, plan: model.plan, heads: options },
  });
  return { ...filesOf(config, tensorsOf(parameters, weights)), ...(tokenizer ? { "spiece.model": tokenizer } : {}) };
}
