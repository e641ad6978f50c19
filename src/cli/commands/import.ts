/** `layerwise import`: weights of Hugging Face's ALBERT, ALBERT-ACT or TensorFlow's .npy files, checked and made a run. */
import { existsSync, statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, extname, join, relative } from "node:path";
import type { Command } from "commander";
import { messageOf, reject } from "../../base/errors.ts";
import { table } from "../../base/table.ts";
import type { TensorData } from "../../format/safetensors.ts";
import type { ImportedAlbert } from "../../model/albert/import.ts";
import type { NamedTensor } from "../../model/albert/weights.ts";
import type { OpenTokenizer } from "../../text/files/tokenizer.ts";

const HELP = `
Examples:
  layerwise import pytorch_model.bin --out runs/albert           config.json and spiece.model are looked for beside the file
  layerwise import model.safetensors --config config.json --out runs/albert
  layerwise import weights-npy --config albert_config.json --out runs/albert
  layerwise import albert-base-v2 --halt --out runs/adaptive     a stock ALBERT with a halting unit to be trained

Writes a run folder: eval, depth, glue and export take it. No code in a .bin file is ever run.`;

interface Flags {
  out: string;
  config?: string;
  tokenizer?: string;
  halt?: boolean;
  transposePooler?: boolean;
  activation?: string;
  force?: boolean;
  json?: boolean;
}

export function addImport(program: Command): void {
  program
    .command("import")
    .argument("<file>", "a weight file, a folder that holds one, or a folder of .npy files")
    .requiredOption("--out <run>", "run folder to write")
    .option("--config <file>", "the model's config.json (default: beside the weights)")
    .option("--tokenizer <file>", "its SentencePiece model (default: spiece.model beside the weights, if there)")
    .option("--halt", "add a halting unit to a stock ALBERT")
    .option("--transpose-pooler", "turn the pooler's weight, as the published ALBERT-ACT PyTorch files need")
    .option("--activation <name>", "instead of the config's hidden_act")
    .option("--force", "replace the folder if it exists")
    .option("--json", "print only JSON")
    .addHelpText("after", HELP)
    .action(run);
}

async function run(file: string, flags: Flags): Promise<void> {
  const { importAlbert } = await import("../../model/albert/import.ts");
  const { countParameters } = await import("../../model/report.ts");
  const { tensors, source } = await readTensors(file);
  const configSource = configBeside(source, flags.config);
  const config = await readConfig(configSource);
  const imported = importAlbert(tensors, config, source, { ...flags, configSource });
  const tokenizer = await readTokenizer(source, flags.tokenizer, imported.model.options.vocabulary);
  await writeRun(source, flags, imported, tokenizer);
  const { model, parameters, heads, warnings } = imported;
  for (const warning of warnings) process.stderr.write(`layerwise: warning: ${warning}\n`);
  const { width, depth, halting } = model.options;
  const names = Object.keys(heads);
  const report = {
    out: flags.out,
    tensors: parameters.length,
    parameters: countParameters(parameters),
    width,
    depth,
    adaptive: halting !== undefined,
    heads: names.join(", ") || "none",
    tokenizer: tokenizer?.path ?? "none",
  };
  process.stdout.write(`${flags.json ? JSON.stringify({ ...report, heads: names, warnings }) : table([report])}\n`);
}

async function writeRun(
  source: string,
  { out, force = false }: Flags,
  { description, parameters, weights, warnings }: ImportedAlbert,
  tokenizer: OpenTokenizer | undefined,
): Promise<void> {
  const { createAlbertRun, firstState } = await import("../../tasks/pretrain/albert-run.ts");
  const { writeFolderAtomically } = await import("../../files/atomic.ts");
  const { packageVersion } = await import("../../tasks/environment.ts");
  const environment = { layerwise: packageVersion(), node: process.version, imported: basename(source) };
  const fill = async (folder: string) => {
    const created = await createAlbertRun(folder, { description, tokenizer, environment });
    try {
      created.log([`imported from ${source}`, ...warnings.map((text) => `warning: ${text}`)].join("\n"));
      await created.writeCheckpoint(firstState(parameters, weights));
    } finally {
      created.close();
    }
  };
  await writeFolderAtomically(out, fill, { force });
}

const TOKENIZERS = ["spiece.model", "tokenizer.model", "30k-clean.model"];

/** The SentencePiece model that was named, or one beside the weights; it may be absent, but not of another size. */
async function readTokenizer(
  source: string,
  given: string | undefined,
  vocabulary: number,
): Promise<OpenTokenizer | undefined> {
  const beside = TOKENIZERS.map((name) => join(folderOf(source), name)).find((each) => existsSync(each));
  const file = given ?? beside;
  if (file === undefined) return undefined;
  const { openTokenizer } = await import("../../text/files/tokenizer.ts");
  const opened = await openTokenizer(file);
  const { size } = opened.tokenizer;
  if (size <= vocabulary) return opened;
  return reject({ who: file, needed: `at most the model's ${vocabulary} pieces`, got: `${size}` });
}

const folderOf = (source: string) => (statSync(source).isDirectory() ? source : dirname(source));

interface Read {
  readonly tensors: Map<string, NamedTensor>;
  /** The file, or the folder of .npy files. */
  readonly source: string;
}

const known = ["model.safetensors", "pytorch_model.bin"];

async function readTensors(path: string): Promise<Read> {
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

/** The file's path below the folder is the variable's name; `__`, `%2F` and, in TensorFlow's names, dots stand for slashes. */
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
  return /^(bert|cls)\./.test(name) ? name.replaceAll(".", "/") : name;
}

function configBeside(source: string, given: string | undefined): string {
  const beside = ["config.json", "albert_config.json"].map((name) => join(folderOf(source), name));
  const file = given ?? beside.find((each) => existsSync(each));
  if (file !== undefined) return file;
  const needed = "a config.json beside it";
  return reject({ who: basename(source), needed, got: "none", remedy: "name one with --config" }, 2);
}

async function readConfig(file: string): Promise<Record<string, unknown>> {
  try {
    const config: unknown = JSON.parse(await readFile(file, "utf8"));
    if (typeof config === "object" && config !== null) return config as Record<string, unknown>;
  } catch (error) {
    reject({ who: file, needed: "a JSON config", got: messageOf(error) }, 2);
  }
  return reject({ who: file, needed: "a JSON object", got: "something else" }, 2);
}
