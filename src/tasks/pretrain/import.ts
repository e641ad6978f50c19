/** ALBERTs of others: weights of Hugging Face's ALBERT, ALBERT-ACT or TensorFlow's .npy files, checked and made a run. */
import { existsSync, statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, extname, join, relative } from "node:path";
import { reject, rejectData } from "../../base/errors.ts";
import { readJsonObject } from "../../files/json.ts";
import type { TensorData } from "../../format/safetensors.ts";
import type { HeadOptions } from "../../model/albert/description.ts";
import { type ImportedAlbert, type ImportOptions, importAlbert } from "../../model/albert/import.ts";
import type { NamedTensor } from "../../model/albert/weights.ts";
import type { RunContent } from "../../runs/folder.ts";
import { openTokenizer, type TokenizerFile } from "../../text/files/tokenizer.ts";
import { packageVersion } from "../environment.ts";
import type { NewRun } from "../new-run.ts";
import { albertContent, firstState } from "./albert-run.ts";

/** Where the parts of a model to import lie, and what is changed in it. */
export interface ImportRunOptions extends Omit<ImportOptions, "configSource" | "heads"> {
  /** The model's config.json. Default: beside the weights. */
  readonly config?: string | undefined;
  /** Its SentencePiece model. Default: spiece.model beside the weights, if there is one. */
  readonly tokenizer?: string | undefined;
  /** The run folder to make. Default: nothing is written. */
  readonly into?: NewRun | undefined;
}

/** An imported ALBERT with its tokenizer, if it has one, and what to know before its numbers are trusted. */
export interface ImportedAlbertRun extends ImportedAlbert {
  readonly tokenizer: TokenizerFile | undefined;
}

/** Reads a weight file, a folder that holds one, or a folder of .npy files, and makes it a run. No code in a .bin file is ever run. */
export async function importAlbertRun(
  path: string,
  { config: given, tokenizer: named, into, ...options }: ImportRunOptions = {},
): Promise<ImportedAlbertRun> {
  const { tensors, source } = await readTensors(path);
  const configSource = configBeside(source, given);
  const config = await readJsonObject(configSource, 2);
  const { heads } = (config.layerwise ?? {}) as { heads?: HeadOptions };
  const imported = importAlbert(tensors, config, source, { ...options, heads, configSource });
  const tokenizer = await readTokenizer(source, named, imported.model.options.vocabulary);
  if (into) await writeRun(into, source, imported, tokenizer);
  return { ...imported, tokenizer };
}

function writeRun(
  into: NewRun,
  source: string,
  { description, ...imported }: ImportedAlbert,
  tokenizer: TokenizerFile | undefined,
): Promise<void> {
  return writeImported(into, source, albertContent({ description, tokenizer }), imported);
}

/** A run folder that holds imported weights, and nothing of how they were trained. */
export async function writeImported(
  into: NewRun,
  source: string,
  content: Pick<RunContent, "config" | "files">,
  { parameters, weights, warnings }: Pick<ImportedAlbert, "parameters" | "weights" | "warnings">,
): Promise<void> {
  const environment = { layerwise: packageVersion(), node: process.version, imported: basename(source) };
  const run = await into.begin({ ...content, environment });
  try {
    run.log([`imported from ${source}`, ...warnings.map((text) => `warning: ${text}`)].join("\n"));
    await run.writeCheckpoint(firstState(parameters, weights));
  } finally {
    run.close();
  }
}

const TOKENIZERS = ["spiece.model", "tokenizer.model", "30k-clean.model"];

/** The SentencePiece model that was named, or one beside the weights; it may be absent, but not of another size. */
export async function readTokenizer(
  source: string,
  given: string | undefined,
  vocabulary: number,
): Promise<TokenizerFile | undefined> {
  const beside = TOKENIZERS.map((name) => join(folderOf(source), name)).find((each) => existsSync(each));
  const file = given ?? beside;
  if (file === undefined) return undefined;
  const opened = await openTokenizer(file);
  const { size } = opened.tokenizer;
  if (size <= vocabulary) return opened;
  return rejectData({ who: file, needed: `at most the model's ${vocabulary} pieces`, got: `${size}` });
}

/** The folder of a weight file, or of .npy files. */
export const folderOf = (source: string) => (statSync(source).isDirectory() ? source : dirname(source));

/** Tensors that were read, and where. */
export interface Read {
  readonly tensors: Map<string, NamedTensor>;
  /** The file, or the folder of .npy files. */
  readonly source: string;
}

const known = ["model.safetensors", "pytorch_model.bin"];

/** The tensors of a weight file, of a folder that holds one, or of a folder of .npy files. */
export async function readTensors(path: string): Promise<Read> {
  if (!existsSync(path))
    reject({ who: "import", needed: "a file or folder of weights", got: `${path}, which is not there` }, 2);
  if (!statSync(path).isDirectory()) return { tensors: await readFileTensors(path), source: path };
  const inside = known.map((name) => join(path, name)).find((each) => existsSync(each));
  if (inside) return { tensors: await readFileTensors(inside), source: inside };
  return { tensors: await readNpyFolder(path), source: path };
}

async function readFileTensors(file: string): Promise<Map<string, NamedTensor>> {
  const bytes = await readFile(file);
  if (extname(file) === ".safetensors") {
    const { readSafetensors } = await import("../../format/safetensors.ts");
    return floatTensors(readSafetensors(bytes, file).tensors);
  }
  const { readTorch } = await import("../../format/torch.ts");
  return floatTensors(readTorch(bytes, file));
}

/** Integers are no weights: a state dict's buffers of positions. */
function floatTensors(
  tensors: ReadonlyMap<string, { shape: readonly number[]; data: TensorData }>,
): Map<string, NamedTensor> {
  const found = new Map<string, NamedTensor>();
  for (const [name, { shape, data }] of tensors) {
    if (data instanceof Float32Array) found.set(name, { shape, data });
    else if (data instanceof Float64Array) found.set(name, { shape, data: Float32Array.from(data) });
  }
  return found;
}

/** The file's path below the folder is the variable's name; `__`, `%2F` and, in TensorFlow's names, dots and hyphens stand for slashes. */
async function readNpyFolder(folder: string): Promise<Map<string, NamedTensor>> {
  const { readNpy } = await import("../../format/npy.ts");
  const entries = await readdir(folder, { recursive: true });
  const files = entries.filter((name) => name.endsWith(".npy")).sort();
  if (files.length === 0) {
    reject(
      { who: folder, needed: `.npy files, ${known.join(" or ")}`, got: entries.slice(0, 5).join(", ") || "nothing" },
      2,
    );
  }
  const arrays = await Promise.all(
    files.map(async (name) => {
      const file = join(folder, name);
      return [variableName(relative(folder, file)), readNpy(await readFile(file), file)] as const;
    }),
  );
  return floatTensors(new Map(arrays));
}

function variableName(path: string): string {
  const name = path
    .replaceAll("\\", "/")
    .replace(/\.npy$/, "")
    .replaceAll("__", "/")
    .replaceAll("%2F", "/");
  return /^(bert|cls|transformer)[.-]/.test(name) ? name.replaceAll(/[.-]/g, "/") : name;
}

/** The config that was named, or that lies beside the weights. */
export function configBeside(source: string, given: string | undefined): string {
  const beside = ["config.json", "albert_config.json"].map((name) => join(folderOf(source), name));
  const file = given ?? beside.find((each) => existsSync(each));
  if (file !== undefined) return file;
  const needed = "a config.json beside it";
  return reject({ who: basename(source), needed, got: "none", remedy: "name it as `config`" }, 2);
}
