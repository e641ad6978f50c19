/** Node's `fs` on the page's disk: the calls that run folders, corpora and tokenizers are made of. */
import { Bytes, bytesOf } from "./bytes.ts";
import { absolute, disk, fault } from "./memory.ts";

type Path = string | URL;

export function existsSync(path: Path): boolean {
  const at = absolute(path);
  return disk.isFile(at) || disk.isFolder(at);
}

/** What is known of a file or folder. */
export class Stats {
  readonly size: number;
  readonly mtimeMs: number;
  readonly #isFile: boolean;

  constructor(path: string) {
    this.#isFile = disk.isFile(path);
    this.size = this.#isFile ? disk.size(path) : 0;
    this.mtimeMs = disk.mtimeMs(path);
  }

  isFile(): boolean {
    return this.#isFile;
  }

  isDirectory(): boolean {
    return !this.#isFile;
  }
}

export function statSync(path: Path, { throwIfNoEntry = true } = {}): Stats | undefined {
  if (existsSync(path)) return new Stats(absolute(path));
  if (throwIfNoEntry) throw fault("ENOENT", "stat", String(path));
  return undefined;
}

export function readFileSync(path: Path, encoding?: "utf8"): Bytes | string {
  const bytes = disk.read(absolute(path));
  return encoding ? bytes.toString(encoding) : bytes;
}

export function writeFileSync(path: Path, data: string | Uint8Array, { flag = "w" } = {}): void {
  if (flag === "wx" && existsSync(path)) throw fault("EEXIST", "open", String(path));
  disk.write(absolute(path), bytesOf(data));
}

export const appendFileSync = (path: Path, data: string | Uint8Array): void =>
  disk.append(absolute(path), bytesOf(data));

export const mkdirSync = (path: Path, { recursive = false } = {}): void => disk.makeFolder(absolute(path), recursive);

export const rmSync = (path: Path, options = {}): void => disk.remove(absolute(path), options);

export function rmdirSync(path: Path): void {
  if (disk.list(absolute(path)).length > 0) throw fault("ENOTEMPTY", "rmdir", String(path));
  disk.remove(absolute(path), { recursive: true });
}

export const unlinkSync = (path: Path): void => disk.remove(absolute(path));

export const copyFileSync = (from: Path, to: Path): void => disk.write(absolute(to), disk.read(absolute(from)));

export function accessSync(path: Path): void {
  if (!existsSync(path)) throw fault("ENOENT", "access", String(path));
}

export function truncateSync(path: Path, length = 0): void {
  disk.write(absolute(path), disk.read(absolute(path), 0, length));
}

export const renameSync = (from: Path, to: Path): void => disk.rename(absolute(from), absolute(to));

export const linkSync = (from: Path, to: Path): void => disk.link(absolute(from), absolute(to));

export const realpathSync = (path: Path): string => absolute(path);

/** An entry of a folder. */
export interface Dirent {
  readonly name: string;
  readonly parentPath: string;
  isFile(): boolean;
  isDirectory(): boolean;
}

export function readdirSync(path: Path, options: { recursive?: boolean; withFileTypes?: boolean } = {}): unknown[] {
  const folder = absolute(path);
  const names = disk.list(folder, options.recursive);
  return options.withFileTypes ? names.map((name) => entry(folder, name)) : names;
}

function entry(folder: string, inner: string): Dirent {
  const path = `${folder}/${inner}`;
  const name = inner.slice(inner.lastIndexOf("/") + 1);
  const parentPath = path.slice(0, -name.length - 1);
  return { name, parentPath, isFile: () => disk.isFile(path), isDirectory: () => disk.isFolder(path) };
}

interface Open {
  readonly path: string;
  at: number;
}

const opened = new Map<number, Open>();
let last = 2;

export function openSync(path: Path, flags = "r"): number {
  const at = absolute(path);
  if (flags === "wx" && existsSync(path)) throw fault("EEXIST", "open", at);
  if (flags === "r" ? !existsSync(path) : !disk.isFile(at) || flags.startsWith("w")) {
    if (flags === "r") throw fault("ENOENT", "open", at);
    disk.write(at, new Bytes(0));
  }
  opened.set(++last, { path: at, at: 0 });
  return last;
}

const openAt = (descriptor: number): Open => {
  const found = opened.get(descriptor);
  if (!found) throw fault("EBADF", "read", `${descriptor}`);
  return found;
};

export function readSync(
  descriptor: number,
  into: Uint8Array,
  offset = 0,
  length = into.length,
  position: number | null = null,
): number {
  const file = openAt(descriptor);
  const from = position ?? file.at;
  const bytes = disk.read(file.path, from, from + length);
  into.set(bytes, offset);
  if (position === null) file.at += bytes.length;
  return bytes.length;
}

/** Adds to the end of an open file. */
export const writeSync = (descriptor: number, data: string | Uint8Array): void =>
  disk.append(openAt(descriptor).path, bytesOf(data));

export const fstatSync = (descriptor: number): Stats => new Stats(openAt(descriptor).path);

export const closeSync = (descriptor: number): void => void opened.delete(descriptor);

/** The browser keeps things in its own time: what has to be kept before something else goes by `FileHandle.sync`. */
export const fsyncSync = (_descriptor: number): void => void disk.keep();

/** A file's content in one block. */
export async function* createReadStream(path: Path): AsyncGenerator<Bytes> {
  yield disk.read(absolute(path));
}
