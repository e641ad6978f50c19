/** Files and folders that appear whole or not at all: written beside their place under a temporary name, then renamed. */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { reject } from "../base/errors.ts";

/** A hidden name in the same folder, so that the rename stays within one file system. */
function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`);
}

/** What a file is written from: all of it, or blocks, which are written as they come. */
export type FileContent = Uint8Array | string | Iterable<string | Uint8Array> | AsyncIterable<Uint8Array>;

/** Writes a file so that readers see the old content or the new, never a part; makes missing folders. */
export async function writeAtomically(path: string, data: FileContent): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = temporaryName(path);
  try {
    const file = await open(temporary, "wx");
    try {
      const blocks = typeof data === "string" || data instanceof Uint8Array ? [data] : data;
      for await (const block of blocks) await file.writeFile(block);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw named(error, path);
  }
}

/** The same in a cache, which programs of several machines may share: files that killed ones left there an hour ago or more are removed. */
export async function writeToCache(path: string, data: FileContent): Promise<void> {
  await writeAtomically(path, data);
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    const pid = TEMPORARY.exec(name)?.[2];
    if (pid && !isRunning(Number(pid)) && (await ageMs(join(folder, name))) > HOUR_MS)
      await rm(join(folder, name), { force: true });
  }
}

/** What `temporaryName` gives: of which file, and the process that chose it. */
const TEMPORARY = /^\.(.+)\.(\d+)\.[0-9a-f]{8}\.tmp$/;
const HOUR_MS = 3_600_000;

/** Of a file that another process may remove meanwhile. */
const ageMs = async (path: string) => Date.now() - (await stat(path).catch(() => ({ mtimeMs: Date.now() }))).mtimeMs;

/** The system does not say which file a write to an open one was for. */
function named(error: unknown, path: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined || message.includes(path)) return error;
  return Object.assign(new Error(`${message}, ${path}`, { cause: error }), { code });
}

/** Who writes a folder, and whether it may take the place of one that the same command wrote before. */
export interface FolderWriting {
  /** The command's name, for the marker. */
  readonly command: string;
  readonly force?: boolean | undefined;
}

/** Names the command that wrote a folder and its files: only such a folder may be replaced. */
export const MARKER_FILE = ".layerwise.json";

/** Fills a folder through `fill(temporary folder)` and moves it into place; an existing one as `refuseFolder` says. */
export async function writeFolderAtomically(
  path: string,
  fill: (folder: string) => Promise<void>,
  how: FolderWriting,
): Promise<void> {
  refuseFolder(path, how);
  await removeLeftovers(path);
  const temporary = temporaryName(path);
  await mkdir(temporary, { recursive: true });
  try {
    await fill(temporary);
    const marker = { command: how.command, files: filesIn(temporary) };
    await writeAtomically(join(temporary, MARKER_FILE), `${JSON.stringify(marker, null, 2)}\n`);
    await replaceFolder(temporary, path, how);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Removes what killed programs left of earlier attempts at the same folder. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of existsSync(folder) ? await readdir(folder) : []) {
    const [, of, pid] = TEMPORARY.exec(name) ?? [];
    if (of === basename(path) && !isRunning(Number(pid)))
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** Signal 0 only asks. A process of another user answers "not permitted", so it runs. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Refuses a path that is taken, unless `force`. */
export function refuseExisting(path: string, force: boolean): void {
  if (force || !existsSync(path)) return;
  reject(
    { who: path, needed: "a path that is free", got: "one that exists", remedy: "choose another or add --force" },
    2,
  );
}

/** Refuses a folder that exists, unless `force` and it is empty or holds only what the same command wrote there. */
export function refuseFolder(path: string, { command, force = false }: FolderWriting): void {
  refuseExisting(path, force);
  if (!existsSync(path)) return;
  const found = strangersIn(path, command);
  if (found === undefined) return;
  const needed = `a folder that \`layerwise ${command}\` wrote, to replace it`;
  reject({ who: path, needed, got: found, remedy: "move it away, or choose another" }, 2);
}

/** What in a folder is not of the command, in words. */
function strangersIn(path: string, command: string): string | undefined {
  if (!statSync(path).isDirectory()) return "a file";
  const there = filesIn(path);
  if (there.length === 0) return undefined;
  const marker = markerIn(path);
  if (marker === undefined && there.includes("config.yaml")) return "a run";
  if (marker === undefined) return `other files: ${listed(there)}`;
  if (marker.command !== command) return `one that \`layerwise ${marker.command}\` wrote`;
  const strangers = there.filter((file) => file !== MARKER_FILE && !marker.files.includes(file));
  return strangers.length > 0 ? `files that are not its own: ${listed(strangers)}` : undefined;
}

const listed = (files: readonly string[]) => files.slice(0, 3).join(", ") + (files.length > 3 ? ", …" : "");

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory())
    .sort();

function markerIn(folder: string): { command: string; files: readonly string[] } | undefined {
  try {
    const { command, files } = JSON.parse(readFileSync(join(folder, MARKER_FILE), "utf8"));
    return typeof command === "string" && Array.isArray(files) ? { command, files } : undefined;
  } catch {
    return undefined; // none, or one that says nothing
  }
}

/** Swaps folders by renames only; the old one is set aside first and removed last. */
async function replaceFolder(temporary: string, path: string, how: FolderWriting): Promise<void> {
  refuseFolder(path, how); // again: others may have written there meanwhile
  if (!existsSync(path)) return rename(temporary, path);
  const aside = temporaryName(path);
  await rename(path, aside);
  try {
    await rename(temporary, path);
  } catch (error) {
    await rename(aside, path);
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}
