/** The end of a text file that grows. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const MOST_LOG = 1 << 16;

/** Text of a file from a byte on, at most 64 kB of it; from its present end where none is given. */
export function textFrom(path: string, from: number | undefined, before = 0): { text: string; end: number } {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return { text: "", end: 0 };
  }
  try {
    const { size } = fstatSync(file);
    const start = Math.max(0, from === undefined ? size - before : Math.min(from, size), size - MOST_LOG);
    const bytes = Buffer.alloc(size - start);
    return { text: bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, start)), end: size };
  } finally {
    closeSync(file);
  }
}
