/** Adapters as files: what LoRA learnt on top of a model that rests. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reject, rejectFile } from "../../base/errors.ts";
import { writeFolderAtomically } from "../../files/atomic.ts";
import { sha256 } from "../../files/checksum.ts";
import { readJsonObject } from "../../files/json.ts";
import { readSafetensors, writeSafetensors } from "../../format/safetensors.ts";
import type { DescribedAlbert, HeadOptions } from "../../model/albert/description.ts";
import { adapterParts } from "../../model/albert/lora.ts";
import { stateDict } from "../../model/state-dict.ts";
import type { TextTask } from "../../text/labelled/text-task.ts";
import type { Weights } from "../../train/stages.ts";
import type { ExportedFiles } from "../exports.ts";
import type { TrainedAlbert } from "../pretrain/albert-run.ts";
import type { HeadSpec } from "./head-spec.ts";

const [WEIGHTS, NOTES] = ["adapter.safetensors", "adapter.json"];
const LAYOUT = 1;

/** What adapter.json holds. */
export interface AdapterNotes {
  readonly layout: number;
  /** SHA-256 of the weights that the adapter was learnt on top of. */
  readonly base: string;
  readonly lora: { readonly rank: number; readonly alpha: number };
  readonly heads: HeadOptions;
  readonly task: TextTask;
  /** Of a head that tags, answers or chooses. */
  readonly head?: HeadSpec | undefined;
  /** Longest text in pieces. */
  readonly length: number;
}

/** An adapter, read. */
export interface Adapter extends AdapterNotes {
  readonly tensors: ReturnType<typeof readSafetensors>["tensors"];
  readonly path: string;
}

/** The weights that rest, as a file: its SHA-256 names them. */
export function baseBytes(described: DescribedAlbert, weights: Weights): Uint8Array {
  const { frozen } = adapterParts(described);
  return writeSafetensors(stateDict(frozen, only(frozen, weights)));
}

/** The weights of some parameters. */
export const only = (parameters: DescribedAlbert["parameters"], weights: Weights): Weights =>
  new Map(parameters.map(({ tensor }) => [tensor, weights.get(tensor)!]));

/** The files of a model's adapter. */
export function adapterFiles(
  { description, weights, ...described }: Omit<TrainedAlbert, "tokenizer">,
  of: Pick<AdapterNotes, "task" | "head" | "length">,
): ExportedFiles {
  const { lora } = description.model;
  if (!lora) {
    const remedy = "fine-tune with --lora RANK";
    return reject({ who: "adapter", needed: "a model with adapters", got: "all weights trained", remedy }, 2);
  }
  const { trained } = adapterParts(described);
  const { rank, alpha = 2 * rank } = lora;
  const base = sha256(baseBytes(described, weights));
  const notes: AdapterNotes = { layout: LAYOUT, base, lora: { rank, alpha }, heads: description.heads, ...of };
  return {
    [WEIGHTS]: writeSafetensors(stateDict(trained, only(trained, weights)), { base }),
    [NOTES]: new TextEncoder().encode(`${JSON.stringify(notes, null, 2)}\n`),
  };
}

/** Writes them into a folder, whole or not at all. */
export async function writeAdapter(path: string, files: ExportedFiles, { force = false } = {}): Promise<void> {
  const fill = async (folder: string) => {
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
  };
  await writeFolderAtomically(path, fill, { command: "export", force });
}

/** Reads an adapter's folder. */
export async function readAdapter(path: string): Promise<Adapter> {
  const [notes, weights] = [join(path, NOTES), join(path, WEIGHTS)];
  const missing = [notes, weights].find((file) => !existsSync(file));
  if (missing) {
    const remedy = "write one with layerwise export RUN --format adapter";
    rejectFile({ who: missing, needed: "a file of an adapter", got: "no such file", remedy });
  }
  const found = (await readJsonObject(notes)) as unknown as AdapterNotes;
  if (found.layout !== LAYOUT || typeof found.base !== "string" || !found.task || !(found.lora?.rank > 0)) {
    rejectFile({ who: notes, needed: `an adapter of layout ${LAYOUT}`, got: `layout ${found.layout}` });
  }
  return { ...found, path, tensors: readSafetensors(await readFile(weights), weights).tensors };
}
