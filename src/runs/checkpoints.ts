/** Checkpoints: folders that appear whole, carry their own checksums, and are pruned to the last few and the best. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { LayerwiseError, reject, rejectFile } from "../base/errors.ts";
import { writeAtomically } from "../files/atomic.ts";
import { readSafetensors, safetensorsBlocks, type TensorRecord } from "../format/safetensors.ts";
import { notFinite, type Progress, type StateTensor, type TrainState } from "../train/events.ts";
import { readSealed, sealedJson } from "./sealed.ts";

export const WEIGHTS_FILE = "weights.safetensors";
export const MOMENTS_FILE = "moments.safetensors";
const STATE_FILE = "state.json";
const BEST_FILE = "best.json";
const FORMAT = "layerwise checkpoint";
/** 2: state.json has a seal. */
const VERSION = 2;
const GATHERED_BYTES = 1 << 16;
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
 * and synced under a temporary name, renamed, and only then are older checkpoints removed. The state must rest meanwhile.
 */
export async function writeCheckpoint(
  folder: string,
  state: TrainState,
  { best, keep }: { best: boolean; keep: number },
): Promise<string> {
  const temporary = join(folder, `${TEMPORARY}${randomBytes(6).toString("hex")}`);
  const path = join(folder, checkpointName(state.progress.step));
  await mkdir(temporary);
  try {
    await writeState(temporary, state, best);
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

async function writeState(folder: string, { progress, weights, moments }: TrainState, best: boolean): Promise<void> {
  const files: Record<string, string> = {};
  for (const [name, tensors] of Object.entries({ [WEIGHTS_FILE]: weights, [MOMENTS_FILE]: moments })) {
    files[name] = await writeSynced(join(folder, name), safetensorsBlocks(records(tensors)));
  }
  const stored: StoredState = { format: FORMAT, version: VERSION, best, progress, files };
  await writeSynced(join(folder, STATE_FILE), [new TextEncoder().encode(sealedJson(stored))]);
}

function records(tensors: ReadonlyMap<string, StateTensor>): Map<string, TensorRecord> {
  return new Map([...tensors].map(([name, { shape, data }]) => [name, { dtype: "F32", shape, data }]));
}

/** Writes blocks one after another and gives their SHA-256. */
async function writeSynced(path: string, blocks: Iterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  const file = await open(path, "wx");
  try {
    for (const block of gathered(blocks)) {
      hash.update(block);
      await file.writeFile(block); // from where the last one ended
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest("hex");
}

/** Small blocks are written together: a model has many tensors of a few bytes, and each write is a trip to the system. */
function* gathered(blocks: Iterable<Uint8Array>): Generator<Uint8Array> {
  const waiting: Uint8Array[] = [];
  let bytes = 0;
  for (const block of blocks) {
    waiting.push(block);
    bytes += block.length;
    if (bytes < GATHERED_BYTES) continue;
    yield waiting.length > 1 ? Buffer.concat(waiting) : block;
    waiting.length = bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
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

/** Removes all but the last few and the best; those of a later layerwise are left alone. */
export async function prune(folder: string, keep: number): Promise<void> {
  const places = await listCheckpoints(folder);
  for (const { best, path } of places.slice(0, -keep)) {
    if (!best && !(await isLater(path))) await discard(path, folder);
  }
}

const isLater = (path: string): Promise<boolean> =>
  readState(path).then(
    () => false,
    (error: unknown) => !isDamage(error),
  );

/**
 * Checkpoints by rising step. Each best one outdoes those before it, so the newest that says it is best is; best.json is asked only
 * where a checkpoint's state cannot be read.
 */
export async function listCheckpoints(folder: string): Promise<CheckpointPlace[]> {
  const noted = await readBest(folder);
  const places: { step: number; path: string; marked: boolean }[] = [];
  for (const name of await namesIn(folder)) {
    const digits = NAME.exec(name)?.[1];
    if (!digits) continue;
    const [step, path] = [Number(digits), join(folder, name)];
    const state = await readState(path).catch(() => undefined);
    places.push({ step, path, marked: state ? state.best : step === noted });
  }
  places.sort((a, b) => a.step - b.step);
  const bestStep = places.findLast(({ marked }) => marked)?.step;
  return places.map(({ step, path }) => ({ step, path, best: step === bestStep }));
}

async function namesIn(folder: string): Promise<string[]> {
  return existsSync(folder) ? readdir(folder) : [];
}

async function noteBest(folder: string, step: number): Promise<void> {
  await writeAtomically(join(folder, BEST_FILE), sealedJson({ step }));
}

async function readBest(folder: string): Promise<number | undefined> {
  try {
    const path = join(folder, BEST_FILE);
    const { step } = readSealed(await readFile(path, "utf8"), path, "").value as { step?: unknown };
    return typeof step === "number" ? step : undefined;
  } catch {
    return undefined; // none yet, or damaged: the checkpoints know
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

async function repairBest(folder: string): Promise<void> {
  const found = (await listCheckpoints(folder)).find(({ best }) => best)?.step;
  if (found === undefined) await rm(join(folder, BEST_FILE), { force: true });
  else if (found !== (await readBest(folder))) await noteBest(folder, found);
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

/** Reads a checkpoint folder and checks every byte against the recorded hashes; one of an older version may lack some, and says so. */
export async function readCheckpoint(path: string): Promise<Omit<LoadedCheckpoint, "step">> {
  const { progress, files, version } = await readState(path);
  const tensorsOf = async (name: string) => {
    const { bytes, hash } = await readHashed(join(path, name));
    return tensors(join(path, name), bytes, hash, files[name]);
  };
  const state = { progress, weights: await tensorsOf(WEIGHTS_FILE), moments: await tensorsOf(MOMENTS_FILE) };
  const unchecked = `${join(path, STATE_FILE)} has no checksum: an older layerwise wrote it, and damage to it would not show`;
  return { state, warnings: version < VERSION ? [unchecked] : [] };
}

/** The newest valid checkpoint among `places`; damaged ones are passed over with a warning, those of a later layerwise are not. */
export async function readNewest(
  places: readonly CheckpointPlace[],
  finite = false,
): Promise<LoadedCheckpoint | undefined> {
  const damages: LayerwiseError[] = [];
  for (const { step, path } of places.toReversed()) {
    try {
      const { state, warnings } = await readCheckpoint(path);
      if (finite) checkFinite(path, state);
      const passed = damages.map(({ message }) => `${message}; took step ${step} instead`);
      return { step, state, warnings: [...passed, ...warnings] };
    } catch (error) {
      if (!isDamage(error)) throw error;
      damages.push(error);
    }
  }
  if (damages[0]) throw damages[0];
  return undefined;
}

function checkFinite(path: string, state: TrainState): void {
  const name = notFinite(state);
  if (name === undefined) return;
  const remedy = "training had diverged: begin again with a lower learning rate, a longer warm-up or tighter clipping";
  rejectFile({ who: path, needed: "finite weights and moments", got: `numbers in ${name} that are not`, remedy });
}

const isDamage = (error: unknown): error is LayerwiseError =>
  error instanceof LayerwiseError && error.code === "bad-file";

async function readState(folder: string): Promise<StoredState> {
  const path = join(folder, STATE_FILE);
  return parseState((await readWhole(path)).toString("utf8"), path);
}

/** The state in the text of a state.json; `path` names it in errors. */
export function parseState(text: string, path: string): StoredState {
  const { value, sealed } = readSealed(text, path, DAMAGED);
  if (!isStored(value)) return damaged(path, `the state of a ${FORMAT}`, "other JSON");
  if (value.version > VERSION) {
    const remedy = "use the layerwise it is from";
    // Not `bad-file`, which means damage: damaged checkpoints are passed over and pruned.
    reject({ who: path, needed: `version ${VERSION} at most`, got: `${value.version}`, remedy });
  }
  if (value.version === VERSION && !sealed) return damaged(path, "a seal", "none");
  return value;
}

function isStored(value: object): value is StoredState {
  const { format, version, files, progress } = value as Record<string, unknown>;
  if (format !== FORMAT || typeof version !== "number" || !isObject(files) || !isObject(progress)) return false;
  return Number.isSafeInteger(progress.step);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

async function readWhole(path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => missing(path, error));
}

function missing(path: string, error: unknown): never {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  return damaged(path, "a file of the checkpoint", "none");
}

const BLOCK = 1 << 26;

/** A file's bytes, read in blocks since no single read may exceed 2 GiB, and their SHA-256. */
async function readHashed(path: string): Promise<{ bytes: Uint8Array; hash: string }> {
  const file = await open(path, "r").catch((error: unknown) => missing(path, error));
  try {
    return await readBlocks(file, new Uint8Array((await file.stat()).size));
  } finally {
    await file.close();
  }
}

async function readBlocks(file: FileHandle, bytes: Uint8Array): Promise<{ bytes: Uint8Array; hash: string }> {
  const hash = createHash("sha256");
  let at = 0;
  while (at < bytes.length) {
    const { bytesRead } = await file.read(bytes, at, Math.min(BLOCK, bytes.length - at), at);
    if (bytesRead === 0) break; // cut short meanwhile: the hash tells
    hash.update(bytes.subarray(at, at + bytesRead));
    at += bytesRead;
  }
  return { bytes, hash: hash.digest("hex") };
}

function tensors(path: string, bytes: Uint8Array, found: string, hash: string | undefined): Map<string, StateTensor> {
  if (found !== hash) damaged(path, `SHA-256 ${hash ?? "in state.json"}`, found);
  const content = readSafetensors(bytes, path);
  return new Map(
    [...content.tensors].map(([name, { shape, data }]) => [name, { shape, data: floats(data, path, name) }]),
  );
}

function floats(data: unknown, path: string, name: string): Float32Array {
  return data instanceof Float32Array ? data : damaged(`${path} / ${name}`, "32-bit floats", "another type");
}

const DAMAGED = "the checkpoint is damaged or not layerwise's; choose another with --checkpoint";

const damaged = (who: string, needed: string, got: string): never => rejectFile({ who, needed, got, remedy: DAMAGED });
