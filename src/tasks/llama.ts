/** Folders of models of Llama's shape (Llama, SmolLM, Mistral, Qwen 3) as runs of language models: config.json, weights and tokenizer in, a run out. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { reject, rejectData } from "../base/errors.ts";
import { readJsonObject } from "../files/json.ts";
import { importLlama, type LlamaConfig, llamaOptions } from "../model/language/llama.ts";
import { loadStateDict, type NamedTensors, stateDict } from "../model/state-dict.ts";
import { TOKENIZER_FILE } from "../runs/folder.ts";
import type { TokenizerFile } from "../text/files/tokenizer.ts";
import type { ImportedModel, ImportModelOptions } from "./imported-model.ts";
import { modelOf } from "./language/job.ts";
import { languageSettings } from "./language/settings.ts";

/** Reads weights, loaded when there are some to read. */
const reading = () => import("./pretrain/import.ts");

const families = ["llama", "mistral", "qwen3"];

/** Whether a config.json is of a model of Llama's shape. */
export const isLlama = (config: LlamaConfig): boolean => families.includes(`${config.model_type}`);

/** Reads a folder of such a model, checks every name and shape, and makes it a run of a language model. */
export async function importLlamaModel(
  path: string,
  { config: given, tokenizer: named, into }: ImportModelOptions = {},
): Promise<ImportedModel> {
  const { configBeside, readTensors, writeImported } = await reading();
  const { tensors, source } = await readTensors(path);
  const configSource = configBeside(source, given);
  const config = await readJsonObject(configSource, 2);
  const tokenizer = await tokenizerOf(source, named, llamaOptions(config, configSource).vocabulary);
  const { size } = tokenizer.tokenizer;
  const settings = settingsOf(config, configSource, tokenizer.path);
  const { length } = settings;
  const cut = withPieces(tensors, config, size);
  const read = importLlama(cut.tensors, cut.config, { source, length });
  const model = modelOf(settings, size);
  const weights = loadStateDict(model.parameters, stateDict(read.model.parameters, read.weights), source);
  const warnings = [...lengthWarning(config, configSource, length), ...cut.warnings];
  const content = { config: languageSettings.yaml(settings), files: { [TOKENIZER_FILE]: tokenizer.bytes } };
  const { parameters, policy, options } = model;
  if (into) await writeImported(into, source, content, { parameters, weights, warnings });
  return { kind: "language", parameters, weights, width: options.width, depth: policy.depth, tokenizer, warnings };
}

/** A tokenizer.json beside the weights is the model's own; SentencePiece models beside it are often a copy in another order. */
async function tokenizerOf(source: string, named: string | undefined, vocabulary: number): Promise<TokenizerFile> {
  const { folderOf, readTokenizer } = await reading();
  const beside = join(folderOf(source), "tokenizer.json");
  const found = await readTokenizer(source, named ?? (existsSync(beside) ? beside : undefined), vocabulary);
  if (found) return found;
  const remedy = "put it there, or name it as `tokenizer`";
  return reject({ who: folderOf(source), needed: `tokenizer.json or ${TOKENIZER_FILE}`, got: "none", remedy }, 2);
}

/** Rows of a batch are as long as the model may see: published models see more than is worth keeping in memory by default. */
const LONGEST = 1024;

/** The settings that make the model again. */
function settingsOf(config: LlamaConfig, source: string, tokenizer: string) {
  const options = llamaOptions(config, source);
  const values = {
    tokenizer: resolve(tokenizer),
    width: options.width,
    heads: options.heads,
    feedForward: options.hidden!,
    activation: options.activation!,
    length: Math.min(options.length, LONGEST),
    dropout: 0,
    positions: "rotary" as const,
    rotaryBase: options.rotaryBase!,
    norm: "rms" as const,
    normEpsilon: options.normEpsilon!,
    keyHeads: options.keyHeads === options.heads ? null : options.keyHeads!,
    queryKeyNorm: options.queryKeyNorm === true,
    gated: true,
    withoutBias: true,
    untied: options.tied === false,
    depth: options.plan.length,
    batch: 1,
  };
  return languageSettings.resolve([{ source, values }]);
}

function lengthWarning(config: LlamaConfig, source: string, length: number): string[] {
  const whole = llamaOptions(config, source).length;
  if (whole <= length) return [];
  return [`the model sees ${whole} tokens; this run ${length}, for less memory: train with --length for more`];
}

const tables = ["model.embed_tokens.weight", "lm_head.weight"];

/** Tables with as many rows as the tokenizer has pieces: others were added to make the number round, and stand for nothing. */
function withPieces(tensors: NamedTensors, config: LlamaConfig, size: number) {
  const rows = Number(config.vocab_size);
  if (rows === size) return { tensors, config, warnings: [] };
  const shorter = new Map(tensors);
  for (const name of tables) {
    const stored = tensors.get(name);
    if (stored) shorter.set(name, firstRows(stored, size, name));
  }
  const warnings = [`${rows - size} of ${rows} rows of the embedding belong to no piece of the tokenizer: left out`];
  return { tensors: shorter, config: { ...config, vocab_size: size }, warnings };
}

function firstRows(
  { shape: [rows, width], data }: { shape: readonly number[]; data: unknown },
  size: number,
  name: string,
) {
  if (data instanceof Float32Array && rows! >= size)
    return { shape: [size, width!], data: data.slice(0, size * width!) };
  return rejectData({ who: name, needed: `at least ${size} rows of numbers`, got: `${rows}` });
}
