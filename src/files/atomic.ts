/** Files and folders that appear whole or not at all: written beside their place under a temporary name, then renamed. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { reject } from "../base/errors.ts";

/** A hidden name in the same folder, so that the rename stays within one file system. */
function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`);
}

/** Writes a file so that readers see the old content or the new, never a part; makes missing folders. */
export async function writeAtomically(path: string, data: Uint8Array | string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = temporaryName(path);
  try {
    const file = await open(temporary, "wx");
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Fills a folder through `fill(temporary folder)` and moves it into place; an existing one is refused unless `force`. */
export async function writeFolderAtomically(
  path: string,
  fill: (folder: string) => Promise<void>,
  { force = false }: { force?: boolean } = {},
): Promise<void> {
  refuseExisting(path, force);
  await removeLeftovers(path);
  const temporary = temporaryName(path);
  await mkdir(temporary, { recursive: true });
  try {
    await fill(temporary);
    await replaceFolder(temporary, path, force);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Removes what killed programs left of earlier attempts at the same folder. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  const prefix = `.${basename(path)}.`;
  for (const name of existsSync(folder) ? await readdir(folder) : []) {
    const pid = name.startsWith(prefix) ? /^(\d+)\.[0-9a-f]{8}\.tmp$/.exec(name.slice(prefix.length))?.[1] : undefined;
    if (pid && !isRunning(Number(pid))) await rm(join(folder, name), { recursive: true, force: true });
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

/** Swaps folders by renames only; the old one is set aside first and removed last. */
async function replaceFolder(temporary: string, path: string, force: boolean): Promise<void> {
  refuseExisting(path, force);
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
