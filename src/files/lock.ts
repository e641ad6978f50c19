/** Lock files: one process owns a folder; a lock whose process is gone is recognised and taken over. */
import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { reject } from "../base/errors.ts";

/** Who took a lock. `started` tells a process from a later one with the same pid, where the system says it. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly started: string | null;
  readonly token: string;
}

/** A folder that is held by one process. */
export interface Lock {
  /** False once the file is gone or another's. */
  isHeld(): boolean;
  release(): void;
}

/** Losing this many races in a row is no accident. */
const ATTEMPTS = 20;

/** Takes the lock at `path` or says which process has it; a stale one is replaced. Its folder must exist. */
export function takeLock(path: string): Lock {
  const token = randomBytes(8).toString("hex");
  const mine: LockHolder = { pid: process.pid, host: hostname(), started: startOf(process.pid) ?? null, token };
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (placed(mine, path)) return lockAt(path, token);
    const found = readLock(path);
    if (found && isLive(found)) refuse(path, found);
    setAside(path, found, token);
  }
  return reject({ who: path, needed: "the lock", got: `${ATTEMPTS} changes of it by others`, remedy: "try again" });
}

/** The process that holds the lock at `path`, and whether it is alive; undefined if nobody has it. */
export function lockHolder(path: string): { holder: LockHolder; live: boolean } | undefined {
  const holder = readLock(path);
  return holder && { holder, live: isLive(holder) };
}

function lockAt(path: string, token: string): Lock {
  const isHeld = () => readLock(path)?.token === token;
  return {
    isHeld,
    release() {
      if (isHeld()) rmSync(path, { force: true });
    },
  };
}

/** Writes the lock beside its place and links it there, so that nobody ever reads half a lock; false if the place is taken. */
function placed(mine: LockHolder, path: string): boolean {
  const temporary = join(dirname(path), `.${basename(path)}.${mine.pid}.${mine.token}.tmp`);
  writeFileSync(temporary, `${JSON.stringify(mine)}\n`);
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOENT") return false;
    return created(mine, path); // a file system without links
  } finally {
    rmSync(temporary, { force: true });
  }
}

function created(mine: LockHolder, path: string): boolean {
  try {
    writeFileSync(path, `${JSON.stringify(mine)}\n`, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Moves a stale lock away. If another process was faster and its fresh lock was caught, that one is put back. */
function setAside(path: string, stale: LockHolder | undefined, token: string): void {
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.${token}.old.tmp`);
  try {
    renameSync(path, aside);
    if (readLock(aside)?.token !== stale?.token) linkSync(aside, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Undefined for no file, and for one that is not a lock, which cannot protect anything. */
function readLock(path: string): LockHolder | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isHolder(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function isHolder(value: unknown): value is LockHolder {
  if (typeof value !== "object" || value === null) return false;
  const { pid, host, token } = value as Record<string, unknown>;
  return Number.isSafeInteger(pid) && typeof host === "string" && typeof token === "string";
}

/** Processes of other machines cannot be asked, so they count as alive. */
function isLive({ pid, host, started }: LockHolder): boolean {
  if (host !== hostname()) return true;
  if (!answers(pid)) return false;
  const now = startOf(pid);
  return now === undefined || started === null || now === started;
}

/** Signal 0 only asks. A process of another user answers "not permitted", so it runs. */
function answers(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** When a process began, in ticks since the machine's start; "dead" for one that is only waiting to be buried; undefined outside Linux. */
function startOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before may hold spaces
  return fields[0] === "Z" || fields[0] === "X" ? "dead" : fields[19];
}

function refuse(path: string, { pid, host }: LockHolder): never {
  const where = host === hostname() ? "" : ` on ${host}`;
  const away = where ? `, or delete ${path} if that process is gone` : "";
  reject({
    who: dirname(path),
    needed: "a folder that no other process writes",
    got: `one in use by process ${pid}${where}`,
    remedy: `wait for it or end it${away}`,
  });
}
