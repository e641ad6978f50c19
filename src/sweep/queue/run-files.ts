/** Files of a trial through the server, for machines without a shared folder: chunks under their SHA-256, and a list of what belongs together. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, link, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Redis } from "ioredis";
import { reject } from "../../base/errors.ts";
import { sha256OfFile } from "../../files/checksum.ts";
import { LOCK_FILE } from "../../runs/folder.ts";

/** Bytes of a chunk, and the most that a trial may send: servers hold all of it in memory. */
export const CHUNK_BYTES = 1 << 20;
export const MOST_BYTES = 2 * 1024 ** 3;
/** What nobody fetches goes by itself. */
const KEPT_SECONDS = 7 * 24 * 3600;
const ATTEMPTS = 5;

/** A file of a trial, by its path in the folder. */
interface ListedFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** The files of a trial's run at one moment. */
export interface FileList {
  readonly step: number;
  /** Why the trial diverged, as its file has it. */
  readonly diverged?: string | undefined;
  readonly files: readonly ListedFile[];
}

const isPassing = (name: string) => name === LOCK_FILE || name.startsWith(".") || name.includes("/.");

/** The files in a folder as they are now. Files that grow are taken up to their present size. */
async function listFiles(folder: string): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  const names = existsSync(folder) ? await readdir(folder, { recursive: true }) : [];
  for (const name of names.sort()) {
    const path = name.replaceAll("\\", "/");
    const found = await stat(join(folder, path));
    if (isPassing(path) || found.isDirectory()) continue;
    files.push({ path, size: found.size, sha256: await hashOf(join(folder, path), found.size) });
  }
  const total = files.reduce((sum, { size }) => sum + size, 0);
  if (total <= MOST_BYTES) return files;
  const remedy = "give launcher and workers a shared folder, or keep fewer checkpoints";
  return reject({ who: folder, needed: `at most ${MOST_BYTES} bytes to send`, got: `${total}`, remedy });
}

async function hashOf(path: string, size: number): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of chunksOf(path, size)) hash.update(chunk);
  return hash.digest("hex");
}

async function* chunksOf(path: string, size: number, first = 0): AsyncGenerator<Buffer, void, void> {
  const file = await open(path);
  try {
    for (let at = first * CHUNK_BYTES; at < size; at += CHUNK_BYTES) {
      const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size - at));
      await file.read(chunk, 0, chunk.length, at);
      yield chunk;
    }
  } finally {
    await file.close();
  }
}

/** Sends a folder's files; chunks that are there already, of earlier checkpoints or a broken attempt, are not sent again. */
export async function sendFiles(
  redis: Redis,
  key: string,
  folder: string,
  about: Omit<FileList, "files">,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const files = await listFiles(folder);
      for (const file of files) await sendFile(redis, key, folder, file);
      await replaceList(redis, key, { ...about, files });
      return;
    } catch (error) {
      // A checkpoint that was removed on the way: a newer one has its place.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || attempt === ATTEMPTS) throw error;
    }
  }
}

async function sendFile(redis: Redis, key: string, folder: string, { path, size, sha256 }: ListedFile): Promise<void> {
  const [blob, chunks] = [`${key}:${sha256}`, Math.ceil(size / CHUNK_BYTES)];
  for (;;) {
    let next = await redis.hlen(blob);
    for await (const chunk of chunksOf(join(folder, path), size, next)) await redis.hset(blob, `${next++}`, chunk);
    if ((await redis.hlen(blob)) === chunks) break;
    await redis.del(blob); // the server lost the first ones on the way
  }
  await redis.expire(blob, KEPT_SECONDS);
}

/** The new list takes the old one's place; chunks that only that one named go. */
async function replaceList(redis: Redis, key: string, list: FileList): Promise<void> {
  const before = await readList(redis, key);
  await redis.set(key, JSON.stringify(list), "EX", KEPT_SECONDS);
  await removeChunks(redis, key, before, list);
}

async function removeChunks(redis: Redis, key: string, list: FileList | undefined, kept?: FileList): Promise<void> {
  const named = new Set(kept?.files.map(({ sha256 }) => sha256));
  const gone = (list?.files ?? []).filter(({ sha256 }) => !named.has(sha256));
  if (gone.length > 0) await redis.del(...gone.map(({ sha256 }) => `${key}:${sha256}`));
}

/** What was sent last for a trial. */
export async function readList(redis: Redis, key: string): Promise<FileList | undefined> {
  const text = await redis.get(key);
  return text === null ? undefined : (JSON.parse(text) as FileList);
}

/** Removes what was sent for a trial. */
export async function removeFiles(redis: Redis, key: string): Promise<void> {
  await removeChunks(redis, key, await readList(redis, key));
  await redis.del(key);
}

/**
 * Makes a folder what was sent last, in one step: files come to a folder beside it, those that are here already are linked, each is checked
 * against its SHA-256, and a broken attempt is gone on with. The list, or undefined where there is none, or it changed too often.
 */
export async function fetchFiles(redis: Redis, key: string, folder: string): Promise<FileList | undefined> {
  await mendSwap(folder);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const list = await readList(redis, key);
    if (!list) return undefined;
    const isWhole = await gather(redis, key, list, folder);
    if (!isWhole) continue;
    await swap(list, folder);
    return list;
  }
  return undefined;
}

const [COMING, FORMER] = [".incoming", ".former"];

/** False where a chunk was gone: a newer list has come. */
async function gather(redis: Redis, key: string, { files }: FileList, folder: string): Promise<boolean> {
  for (const file of files) {
    const [to, here] = [join(folder + COMING, file.path), join(folder, file.path)];
    await mkdir(dirname(to), { recursive: true });
    if (await isFile(to, file)) continue;
    await rm(to, { force: true });
    if (await isFile(here, file)) await link(here, to).catch(() => copyFile(here, to));
    else if (!(await fetchFile(redis, `${key}:${file.sha256}`, file, to))) return false;
  }
  return true;
}

async function isFile(path: string, { size, sha256 }: ListedFile): Promise<boolean> {
  return existsSync(path) && (await stat(path)).size === size && (await sha256OfFile(path)) === sha256;
}

async function fetchFile(redis: Redis, blob: string, { path, size, sha256 }: ListedFile, to: string): Promise<boolean> {
  const [file, hash] = [await open(to, "w"), createHash("sha256")];
  try {
    for (let i = 0; i * CHUNK_BYTES < size; i++) {
      const chunk = await redis.hgetBuffer(blob, `${i}`);
      if (!chunk) return false;
      hash.update(chunk);
      await file.write(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  if (hash.digest("hex") === sha256) return true;
  await rm(to);
  await redis.del(blob); // to be sent again
  return reject({ code: "bad-file", who: path, needed: `SHA-256 ${sha256}`, got: "other bytes from the queue" });
}

/** Renames only; what was linked from the former folder stays whole. */
async function swap({ files }: FileList, folder: string): Promise<void> {
  if (files.length === 0) return;
  const coming = folder + COMING;
  for (const name of await readdir(coming, { recursive: true })) {
    const path = name.replaceAll("\\", "/");
    const isWanted = files.some((file) => file.path === path || file.path.startsWith(`${path}/`));
    if (!isWanted) await rm(join(coming, path), { recursive: true, force: true }); // of a broken attempt
  }
  await rm(folder + FORMER, { recursive: true, force: true });
  if (existsSync(folder)) await rename(folder, folder + FORMER);
  await rename(coming, folder);
  await rm(folder + FORMER, { recursive: true, force: true });
}

/** A kill between the two renames left the former folder aside. */
async function mendSwap(folder: string): Promise<void> {
  if (!existsSync(folder) && existsSync(folder + FORMER)) await rename(folder + FORMER, folder);
}
