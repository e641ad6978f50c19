/** Folders that `export --format huggingface` wrote, and that were trained elsewhere since, as runs: the way back from PyTorch. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject, rejectFile } from "../base/errors.ts";
import { readJsonObject } from "../files/json.ts";
import { LAYOUT, nameFromTorch } from "../model/huggingface/names.ts";
import { countParameters } from "../model/report.ts";
import { loadStateDict } from "../model/state-dict.ts";
import type { Parameter } from "../nn/index.ts";
import { TOKENIZER_FILE } from "../runs/folder.ts";
import { storedSettings } from "../runs/settings-file.ts";
import type { HuggingFaceNotes } from "./huggingface.ts";
import type { ImportedModel, ImportModelOptions } from "./imported-model.ts";
import type { ImportRunOptions } from "./pretrain/import.ts";

export type { ImportedModel, ImportModelOptions } from "./imported-model.ts";

/** Reads weights, loaded when there are some to read. */
const reading = () => import("./pretrain/import.ts");

/** What config.json says of a model that layerwise exported: undefined where another program wrote it. */
export async function huggingFaceNotes(path: string, config?: string): Promise<HuggingFaceNotes | undefined> {
  return (await configOf(path, config))?.layerwise as HuggingFaceNotes | undefined;
}

/** The config.json that was named or lies beside the weights, where there is one. */
async function configOf(path: string, config: string | undefined) {
  if (!existsSync(path)) return undefined;
  const beside = config ?? `${(await reading()).folderOf(path)}/config.json`;
  return existsSync(beside) ? readJsonObject(beside, 2) : undefined;
}

/** Reads a folder of a language model or a found network, checks every name and shape, and makes it a run. */
export async function importModel(
  path: string,
  { config: given, tokenizer: named, into }: ImportModelOptions = {},
): Promise<ImportedModel> {
  const { configBeside, folderOf, readTensors, readTokenizer, writeImported } = await reading();
  const { tensors, source } = await readTensors(path);
  const configSource = configBeside(source, given);
  const { layerwise = {} } = await readJsonObject(configSource, 2);
  const { layout, kind, run: yaml } = layerwise as Partial<HuggingFaceNotes>;
  if (layout !== LAYOUT || (kind !== "language" && kind !== "retrain") || typeof yaml !== "string") {
    const needed = "layerwise: a language model or a found network, as `export --format huggingface` writes it";
    rejectFile({ who: configSource, needed, got: `layout ${layout}, kind ${kind}` });
  }
  const beside = join(folderOf(source), "tokenizer.json");
  const file = named ?? (existsSync(beside) ? beside : undefined);
  const tokenizer = await readTokenizer(source, file, Number.POSITIVE_INFINITY);
  if (!tokenizer) {
    const remedy = "put it there, or name it as `tokenizer`";
    return reject({ who: folderOf(source), needed: TOKENIZER_FILE, got: "none", remedy }, 2);
  }
  const model = await builders[kind](yaml, configSource, tokenizer.tokenizer.size);
  const own = new Map([...tensors].map(([name, tensor]) => [nameFromTorch(name), tensor]));
  const weights = loadStateDict(model.parameters, own, source);
  const { parameters } = model;
  const warnings: string[] = [];
  const content = { config: yaml, files: { [TOKENIZER_FILE]: tokenizer.bytes } };
  if (into) await writeImported(into, source, content, { parameters, weights, warnings });
  const { depth } = model.policy;
  return { kind, parameters, weights, width: model.options.width, depth, tokenizer, warnings };
}

/** The models of stored settings; their text stays closed. */
const builders = {
  language: async (yaml: string, source: string, vocabulary: number) => {
    const { modelOf } = await import("./language/job.ts");
    const { languageSettings } = await import("./language/settings.ts");
    return modelOf(storedSettings(languageSettings, yaml, source), vocabulary);
  },
  retrain: async (yaml: string, source: string, vocabulary: number) => {
    const { storedSettings: settingsOf } = await import("./search/stored.ts");
    const { modelOf } = await import("./search/parts.ts");
    return modelOf(settingsOf(yaml, source).settings, vocabulary, null);
  },
};

/** What an import came to, in figures. */
export type ImportReport = {
  readonly tensors: number;
  readonly parameters: number;
  readonly width: number;
  readonly depth: number;
  /** Path of the tokenizer, or `none`. */
  readonly tokenizer: string;
  readonly warnings: readonly string[];
} & ({ readonly kind: ImportedModel["kind"] } | { readonly adaptive: boolean; readonly heads: readonly string[] });

/** Imports whatever lies there: an ALBERT, a model of Llama's shape, or a language model or found network that was exported for transformers. */
export async function importRun(path: string, options: ImportRunOptions = {}): Promise<ImportReport> {
  const config = await configOf(path, options.config);
  const notes = config?.layerwise as HuggingFaceNotes | undefined;
  if (notes && notes.kind !== "albert") return modelReport(path, options, importModel);
  const { importLlamaModel, isLlama } = await import("./llama.ts");
  return config && isLlama(config) ? modelReport(path, options, importLlamaModel) : albertReport(path, options);
}

const counted = (parameters: readonly Parameter[]) => ({
  tensors: parameters.length,
  parameters: countParameters(parameters),
});

async function modelReport(
  path: string,
  { config, tokenizer: named, into, ...others }: ImportRunOptions,
  read: typeof importModel,
) {
  const stranger = Object.entries(others).find(([, value]) => value !== undefined)?.[0];
  if (stranger) reject({ who: `\`${stranger}\``, needed: "an ALBERT", got: path, remedy: "leave it out" }, 2);
  const { kind, parameters, width, depth, tokenizer, warnings } = await read(path, {
    config,
    tokenizer: named,
    into,
  });
  return { kind, ...counted(parameters), width, depth, tokenizer: tokenizer.path, warnings };
}

async function albertReport(path: string, options: ImportRunOptions): Promise<ImportReport> {
  const { importAlbertRun } = await reading();
  const { model, parameters, heads, tokenizer, warnings } = await importAlbertRun(path, options);
  const { width, depth, halting } = model.options;
  return {
    ...counted(parameters),
    width,
    depth: Number(depth),
    adaptive: halting !== undefined,
    heads: Object.keys(heads),
    tokenizer: tokenizer?.path ?? "none",
    warnings,
  };
}
