/** Checkpoints: folders that appear whole, carry their own checksums, and are pruned to the last few and the best. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { LayerwiseError, messageOf, reject } from "../base/errors.ts";
import { writeAtomically } from "../files/atomic.ts";
import { sha256 } from "../files/checksum.ts";
import { readSafetensors, type TensorRecord, writeSafetensors } from "../format/safetensors.ts";
import type { Progress, StateTensor, TrainState } from "../train/events.ts";
import { decodeJson, encodeJson } from "./event-log.ts";

export const WEIGHTS_FILE = "weights.safetensors";
export const MOMENTS_FILE = "moments.safetensors";
const STATE_FILE = "state.json";
const BEST_FILE = "best.json";
const FORMAT = "layerwise checkpoint";
const VERSION = 1;
const NAME = /^step-(\d+)$/;
/** Unfinished and discarded folders; nobody reads them, and the next owner of the run removes them. */
const TEMPORARY = ".tmp-";

/** A stored checkpoint; `best` says that its weights had the lowest validation loss so far. */
export interface CheckpointPlace {
  readonly step: number;
  readonly path: string;
  readonly best: boolean;
}

/** A checkpoint that was read. */
export interface LoadedCheckpoint {
  readonly step: number;
  readonly state: TrainState;
  /** What the user should know: damaged checkpoints that were passed over. */
  readonly warnings: readonly string[];
}

/** `state.json`. */
interface StoredState {
  readonly format: typeof FORMAT;
  readonly version: number;
  readonly best: boolean;
  readonly progress: Progress;
  /** SHA-256 by file name. */
  readonly files: Readonly<Record<string, string>>;
}

/** What the checkpoint of a step is called. */
export function checkpointName(step: number): string {
  return `step-${String(step).padStart(8, "0")}`;
}

/**
 * Stores a state under `folder` so that a kill at any moment leaves a valid newest checkpoint: the files are written
 * and synced under a temporary name, renamed, and only then are older checkpoints removed.
 */
export async function writeCheckpoint(
  folder: string,
  state: TrainState,
  { best, keep }: { best: boolean; keep: number },
): Promise<string> {
  const files = encodeState(state, best); // before the first await: the tensors are views that training will overwrite
  const temporary = join(folder, `${TEMPORARY}${randomBytes(6).toString("hex")}`);
  const path = join(folder, checkpointName(state.progress.step));
  await mkdir(temporary);
  try {
    for (const [name, bytes] of files) await writeSynced(join(temporary, name), bytes);
    await syncFolder(temporary);
    await publish(temporary, path, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
  if (best) await noteBest(folder, state.progress.step);
  await prune(folder, keep);
  return path;
}

function encodeState({ progress, weights, moments }: TrainState, best: boolean): Map<string, Uint8Array | string> {
  const files = new Map<string, Uint8Array | string>([
    [WEIGHTS_FILE, writeSafetensors(records(weights))],
    [MOMENTS_FILE, writeSafetensors(records(moments))],
  ]);
  const hashes = Object.fromEntries([...files].map(([name, bytes]) => [name, sha256(bytes)]));
  const stored: StoredState = { format: FORMAT, version: VERSION, best, progress, files: hashes };
  return files.set(STATE_FILE, `${encodeJson(stored, 2)}\n`);
}

function records(tensors: ReadonlyMap<string, StateTensor>): Map<string, TensorRecord> {
  return new Map([...tensors].map(([name, { shape, data }]) => [name, { dtype: "F32", shape, data }]));
}

async function writeSynced(path: string, data: Uint8Array | string): Promise<void> {
  const file = await open(path, "wx");
  try {
    await file.writeFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes renames within a folder last through a power cut, where the system can. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Renames into place. A checkpoint of the same step is set aside under a name from which `recover` can bring it back. */
async function publish(temporary: string, path: string, folder: string): Promise<void> {
  const replaced = existsSync(path) ? `${path}.replaced` : undefined;
  if (replaced) {
    await rm(replaced, { recursive: true, force: true });
    await rename(path, replaced);
  }
  await rename(temporary, path);
  await syncFolder(folder);
  if (replaced) await discard(replaced, folder);
}

/** Removes a folder by renaming it first: a kill in between must not leave half a checkpoint under a good name. */
async function discard(path: string, folder: string): Promise<void> {
  const temporary = join(folder, `${TEMPORARY}${randomBytes(6).toString("hex")}`);
  await rename(path, temporary);
  await rm(temporary, { recursive: true, force: true });
}

async function prune(folder: string, keep: number): Promise<void> {
  const places = await listCheckpoints(folder);
  for (const { best, path } of places.slice(0, -keep)) if (!best) await discard(path, folder);
}

/** Checkpoints by rising step; `best` as best.json says. */
export async function listCheckpoints(folder: string): Promise<CheckpointPlace[]> {
  const bestStep = await readBest(folder);
  return (await namesIn(folder))
    .flatMap((name) => {
      const digits = NAME.exec(name)?.[1];
      return digits ? [{ step: Number(digits), path: join(folder, name), best: Number(digits) === bestStep }] : [];
    })
    .sort((a, b) => a.step - b.step);
}

async function namesIn(folder: string): Promise<string[]> {
  return existsSync(folder) ? readdir(folder) : [];
}

async function noteBest(folder: string, step: number): Promise<void> {
  await writeAtomically(join(folder, BEST_FILE), `${JSON.stringify({ step })}\n`);
}

async function readBest(folder: string): Promise<number | undefined> {
  try {
    const { step } = JSON.parse(await readFile(join(folder, BEST_FILE), "utf8"));
    return typeof step === "number" ? step : undefined;
  } catch {
    return undefined; // none yet, or damaged: `recover` finds it again
  }
}

/** Puts right what a killed process left: half-written and replaced folders, and a best.json that lags behind. */
export async function recover(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    const original = path.replace(/\.replaced$/, "");
    if (original !== path && !existsSync(original)) await rename(path, original);
    else if (original !== path || name.startsWith(".")) await rm(path, { recursive: true, force: true });
  }
  await repairBest(folder);
}

/** Each best checkpoint outdoes those before it, so the newest that was marked is the best. */
async function repairBest(folder: string): Promise<void> {
  const noted = await readBest(folder);
  const marked: number[] = [];
  for (const { step, path } of await listCheckpoints(folder)) {
    const state = await readState(path).catch(() => undefined);
    if (state ? state.best : step === noted) marked.push(step);
  }
  const found = marked.at(-1);
  if (found === undefined) await rm(join(folder, BEST_FILE), { force: true });
  else if (found !== noted) await noteBest(folder, found);
}

/** Removes checkpoints after `step`: training goes on from there and will write them anew. */
export async function removeAfter(folder: string, step: number): Promise<void> {
  for (const place of await listCheckpoints(folder)) if (place.step > step) await discard(place.path, folder);
  await repairBest(folder);
}

/** The progress a checkpoint holds, without its tensors. */
export async function readProgress(path: string): Promise<Progress> {
  return (await readState(path)).progress;
}

/** Reads a checkpoint folder and checks every byte against the recorded hashes. */
export async function readCheckpoint(path: string): Promise<TrainState> {
  const { progress, files } = await readState(path);
  const tensorsOf = async (name: string) => tensors(join(path, name), await readWhole(join(path, name)), files[name]);
  return { progress, weights: await tensorsOf(WEIGHTS_FILE), moments: await tensorsOf(MOMENTS_FILE) };
}

/** The newest valid checkpoint among `places`; damaged ones are passed over with a warning. */
export async function readNewest(places: readonly CheckpointPlace[]): Promise<LoadedCheckpoint | undefined> {
  const damages: LayerwiseError[] = [];
  for (const { step, path } of places.toReversed()) {
    try {
      const state = await readCheckpoint(path);
      return { step, state, warnings: damages.map(({ message }) => `${message}; took step ${step} instead`) };
    } catch (error) {
      if (!(error instanceof LayerwiseError)) throw error;
      damages.push(error);
    }
  }
  if (damages[0]) throw damages[0];
  return undefined;
}

async function readState(folder: string): Promise<StoredState> {
  const path = join(folder, STATE_FILE);
  return parseState((await readWhole(path)).toString("utf8"), path);
}

/** The state in the text of a state.json; `path` names it in errors. */
export function parseState(text: string, path: string): StoredState {
  const value = parse(path, text);
  if (!isStored(value)) return damaged(path, `the state of a ${FORMAT}`, "other JSON");
  if (value.version !== VERSION)
    reject({
      who: path,
      needed: `version ${VERSION}`,
      got: `${value.version}`,
      remedy: "use the layerwise it is from",
    });
  return value;
}

function parse(path: string, text: string): unknown {
  try {
    return decodeJson(text);
  } catch (error) {
    return damaged(path, "JSON", messageOf(error));
  }
}

function isStored(value: unknown): value is StoredState {
  if (!isObject(value) || value.format !== FORMAT) return false;
  if (typeof value.version !== "number" || !isObject(value.files) || !isObject(value.progress)) return false;
  return Number.isSafeInteger(value.progress.step);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

async function readWhole(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return damaged(path, "a file of the checkpoint", "none");
  }
}

function tensors(path: string, bytes: Uint8Array, hash: string | undefined): Map<string, StateTensor> {
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== hash) damaged(path, `SHA-256 ${hash ?? "in state.json"}`, found);
  const content = readSafetensors(bytes, path);
  return new Map(
    [...content.tensors].map(([name, { shape, data }]) => [name, { shape, data: floats(data, path, name) }]),
  );
}

function floats(data: unknown, path: string, name: string): Float32Array {
  return data instanceof Float32Array ? data : damaged(`${path} / ${name}`, "32-bit floats", "another type");
}

function damaged(who: string, needed: string, got: string): never {
  return reject({
    who,
    needed,
    got,
    remedy: "the checkpoint is damaged or not layerwise's; choose another with --checkpoint",
  });
}
