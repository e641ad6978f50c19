/** A disk in memory: files in a tree of folders, which fail as a real disk's do. It notes what changed, so that somebody can keep it. */
import { Bytes } from "./bytes.ts";

/** An error as the system's: `code` says which. */
export interface DiskError extends Error {
  readonly code: string;
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EEXIST: "file already exists",
  EISDIR: "illegal operation on a directory",
  ENOTDIR: "not a directory",
  ENOTEMPTY: "directory not empty",
  EBADF: "bad file descriptor",
};

/** The error of a call that failed. */
export function fault(code: string, call: string, path: string): DiskError {
  return Object.assign(new Error(`${code}: ${WORDS[code] ?? code}, ${call} '${path}'`), { code });
}

/** Where relative names begin. */
export const HOME = "/runs";

/** A name from the root, without `.` and `..`. */
export function absolute(path: string | URL): string {
  const given = typeof path === "string" ? path : decodeURIComponent(path.pathname);
  const parts: string[] = [];
  for (const part of (given.startsWith("/") ? given : `${HOME}/${given}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

const parentOf = (path: string) => path.slice(0, path.lastIndexOf("/")) || "/";

interface File {
  /** As long as it has to be, or longer: appending doubles it. */
  room: Uint8Array<ArrayBuffer>;
  length: number;
  mtimeMs: number;
}

/** The disk. */
export class MemoryDisk {
  readonly #files = new Map<string, File>();
  readonly #folders = new Set(["/", HOME]);
  /** Files that were written or removed since somebody last emptied it. */
  readonly changed = new Set<string>();
  /** Brings what changed to where it outlives the page; by default nothing does. */
  keep: () => Promise<void> = async () => {};

  isFile(path: string): boolean {
    return this.#files.has(path);
  }

  isFolder(path: string): boolean {
    return this.#folders.has(path);
  }

  /** Names of all files. */
  get paths(): string[] {
    return [...this.#files.keys()];
  }

  #file(path: string, call: string): File {
    const file = this.#files.get(path);
    if (!file) throw fault(this.isFolder(path) ? "EISDIR" : "ENOENT", call, path);
    return file;
  }

  /** A copy of a file's content, or of a part of it. */
  read(path: string, from = 0, to = Infinity): Bytes {
    const { room, length } = this.#file(path, "open");
    return Bytes.from(room.subarray(from, Math.min(to, length)));
  }

  size(path: string): number {
    return this.#file(path, "stat").length;
  }

  mtimeMs(path: string): number {
    return this.#files.get(path)?.mtimeMs ?? 0;
  }

  write(path: string, data: Uint8Array): void {
    this.#place(path, { room: Uint8Array.from(data), length: data.length, mtimeMs: Date.now() });
  }

  #place(path: string, file: File): void {
    if (this.isFolder(path)) throw fault("EISDIR", "open", path);
    const parent = parentOf(path);
    if (!this.isFolder(parent)) throw fault(this.isFile(parent) ? "ENOTDIR" : "ENOENT", "open", path);
    this.#files.set(path, file);
    this.changed.add(path);
  }

  append(path: string, data: Uint8Array): void {
    if (!this.isFile(path)) this.write(path, new Uint8Array(0));
    const file = this.#file(path, "open");
    const length = file.length + data.length;
    if (length > file.room.length) {
      const room = new Uint8Array(Math.max(length, 2 * file.room.length));
      room.set(file.room.subarray(0, file.length));
      file.room = room;
    }
    file.room.set(data, file.length);
    Object.assign(file, { length, mtimeMs: Date.now() });
    this.changed.add(path);
  }

  makeFolder(path: string, recursive = false): void {
    if (this.isFile(path) || (this.isFolder(path) && !recursive)) throw fault("EEXIST", "mkdir", path);
    if (this.isFolder(path)) return;
    const parent = parentOf(path);
    if (recursive) this.makeFolder(parent, true);
    else if (!this.isFolder(parent)) throw fault("ENOENT", "mkdir", path);
    this.#folders.add(path);
  }

  /** Names within a folder, sorted; `recursive` those within its folders too. */
  list(path: string, recursive = false): string[] {
    if (!this.isFolder(path)) throw fault(this.isFile(path) ? "ENOTDIR" : "ENOENT", "scandir", path);
    const inner = [...this.#below(path)].map((each) => each.slice(path === "/" ? 1 : path.length + 1));
    return inner.filter((name) => recursive || !name.includes("/")).sort();
  }

  *#below(path: string): Generator<string> {
    const start = path === "/" ? "/" : `${path}/`;
    for (const each of [...this.#folders, ...this.#files.keys()])
      if (each.startsWith(start) && each !== start) yield each;
  }

  remove(path: string, { recursive = false, force = false } = {}): void {
    if (this.isFolder(path)) {
      if (!recursive) throw fault("EISDIR", "rm", path);
      for (const each of [...this.#below(path)]) this.#drop(each);
    } else if (!this.isFile(path) && !force) throw fault("ENOENT", "rm", path);
    this.#drop(path);
  }

  #drop(path: string): void {
    this.#folders.delete(path);
    if (this.#files.delete(path)) this.changed.add(path);
  }

  /** Moves a file over another, or a folder to where none is, with all that is in it. */
  rename(from: string, to: string): void {
    if (this.isFile(from)) {
      this.#place(to, this.#file(from, "rename"));
      if (from !== to) this.#drop(from);
      return;
    }
    if (!this.isFolder(from)) throw fault("ENOENT", "rename", from);
    if (this.isFile(to)) throw fault("ENOTDIR", "rename", to);
    if (this.isFolder(to) && this.list(to).length > 0) throw fault("ENOTEMPTY", "rename", to);
    this.makeFolder(to, true);
    for (const path of [...this.#below(from)]) {
      const target = to + path.slice(from.length);
      if (this.isFolder(path)) this.#folders.add(target);
      else this.#files.set(target, this.#file(path, "rename"));
      if (this.isFile(target)) this.changed.add(target);
    }
    this.remove(from, { recursive: true });
  }

  /** A second name for a file's content; here a copy, since nobody writes into files that are linked. */
  link(from: string, to: string): void {
    if (this.isFile(to) || this.isFolder(to)) throw fault("EEXIST", "link", to);
    this.write(to, this.read(from));
  }
}

/** The page's disk. */
export const disk = new MemoryDisk();
