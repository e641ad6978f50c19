/** Node's `fs/promises` on the page's disk. */
import type { Bytes } from "./bytes.ts";
import * as fs from "./fs.ts";
import { disk } from "./memory.ts";

type Path = string | URL;

export const readFile = async (path: Path, encoding?: "utf8"): Promise<Bytes | string> =>
  fs.readFileSync(path, encoding);
export const writeFile = async (path: Path, data: string | Uint8Array): Promise<void> => fs.writeFileSync(path, data);
export const mkdir = async (path: Path, options = {}): Promise<void> => fs.mkdirSync(path, options);
export const rm = async (path: Path, options = {}): Promise<void> => fs.rmSync(path, options);
export const rename = async (from: Path, to: Path): Promise<void> => fs.renameSync(from, to);
export const readdir = async (path: Path, options = {}): Promise<unknown[]> => fs.readdirSync(path, options);
export const rmdir = async (path: Path): Promise<void> => fs.rmdirSync(path);
export const unlink = async (path: Path): Promise<void> => fs.unlinkSync(path);
export const copyFile = async (from: Path, to: Path): Promise<void> => fs.copyFileSync(from, to);
export const access = async (path: Path): Promise<void> => fs.accessSync(path);
export const truncate = async (path: Path, length = 0): Promise<void> => fs.truncateSync(path, length);
export const appendFile = async (path: Path, data: string | Uint8Array): Promise<void> => fs.appendFileSync(path, data);
export const stat = async (path: Path): Promise<fs.Stats> => fs.statSync(path)!;

/** An open file, read anywhere and written at its end. */
export class FileHandle {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  async writeFile(data: string | Uint8Array): Promise<void> {
    fs.writeSync(this.#descriptor, data);
  }

  async write(data: string | Uint8Array): Promise<void> {
    fs.writeSync(this.#descriptor, data);
  }

  async read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }> {
    return { bytesRead: fs.readSync(this.#descriptor, into, offset, length, position) };
  }

  async stat(): Promise<fs.Stats> {
    return fs.fstatSync(this.#descriptor);
  }

  /** Comes back when the browser has kept the disk as it is now. */
  async sync(): Promise<void> {
    await disk.keep();
  }

  async close(): Promise<void> {
    fs.closeSync(this.#descriptor);
  }
}

export const open = async (path: Path, flags = "r"): Promise<FileHandle> => new FileHandle(fs.openSync(path, flags));
