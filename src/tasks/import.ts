/** Folders that `export --format huggingface` wrote, and that were trained elsewhere since, as runs: the way back from PyTorch. */
import { existsSync } from "node:fs";
import { reject, rejectFile } from "../base/errors.ts";
import { readJsonObject } from "../files/json.ts";
import { LAYOUT, nameFromTorch } from "../model/huggingface/names.ts";
import { countParameters } from "../model/report.ts";
import { loadStateDict } from "../model/state-dict.ts";
import type { Parameter } from "../nn/index.ts";
import { TOKENIZER_FILE } from "../runs/folder.ts";
import { storedSettings } from "../runs/settings-file.ts";
import type { TokenizerFile } from "../text/files/tokenizer.ts";
import type { Weights } from "../train/stages.ts";
import type { HuggingFaceNotes } from "./huggingface.ts";
import type { NewRun } from "./new-run.ts";
import type { ImportRunOptions } from "./pretrain/import.ts";

/** Reads weights, loaded when there are some to read. */
const reading = () => import("./pretrain/import.ts");

/** Where the parts of a model lie, and where its run goes. */
export interface ImportModelOptions {
  /** The model's config.json. Default: beside the weights. */
  readonly config?: string | undefined;
  /** Its SentencePiece model. Default: tokenizer.model beside the weights. */
  readonly tokenizer?: string | undefined;
  /** The run folder to make. Default: nothing is written. */
  readonly into?: NewRun | undefined;
}

/** A model that came back from elsewhere. */
export interface ImportedModel {
  readonly kind: "language" | "retrain";
  readonly parameters: readonly Parameter[];
  readonly weights: Weights;
  readonly width: number;
  readonly depth: number;
  readonly tokenizer: TokenizerFile;
  readonly warnings: readonly string[];
}

/** What config.json says of a model that layerwise exported: undefined where another program wrote it. */
export async function huggingFaceNotes(path: string, config?: string): Promise<HuggingFaceNotes | undefined> {
  if (!existsSync(path)) return undefined;
  const beside = config ?? `${(await reading()).folderOf(path)}/config.json`;
  if (!existsSync(beside)) return undefined;
  return (await readJsonObject(beside, 2)).layerwise as HuggingFaceNotes | undefined;
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
  const tokenizer = await readTokenizer(source, named, Number.POSITIVE_INFINITY);
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

/** Imports whatever lies there: an ALBERT, or a language model or found network that was exported for transformers. */
export async function importRun(path: string, options: ImportRunOptions = {}): Promise<ImportReport> {
  const notes = await huggingFaceNotes(path, options.config);
  return notes && notes.kind !== "albert" ? modelReport(path, options) : albertReport(path, options);
}

const counted = (parameters: readonly Parameter[]) => ({
  tensors: parameters.length,
  parameters: countParameters(parameters),
});

async function modelReport(path: string, { config, tokenizer: named, into, ...others }: ImportRunOptions) {
  const stranger = Object.entries(others).find(([, value]) => value !== undefined)?.[0];
  if (stranger) reject({ who: `\`${stranger}\``, needed: "an ALBERT", got: path, remedy: "leave it out" }, 2);
  const { kind, parameters, width, depth, tokenizer, warnings } = await importModel(path, {
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
    depth,
    adaptive: halting !== undefined,
    heads: Object.keys(heads),
    tokenizer: tokenizer?.path ?? "none",
    warnings,
  };
}
