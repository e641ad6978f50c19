/** Lines of UTF-8 text files, read in blocks so that a file may be larger than memory; invalid UTF-8 is named by line. */
import { closeSync, openSync, readSync } from "node:fs";
import { rejectFile } from "../base/errors.ts";

const BLOCK_BYTES = 1 << 20;
const NEWLINE = 10;
const RETURN = 13;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Lines [from, to) of a file. */
export interface LineRange {
  from?: number;
  to?: number;
  /** Replaces invalid UTF-8 instead of refusing it. */
  lossy?: boolean;
}

/** Yields blocks of a file; each is valid until the next. */
function* blocksOf(path: string): Generator<Buffer> {
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
    for (;;) {
      const count = readSync(file, buffer, 0, BLOCK_BYTES, null);
      if (count === 0) return;
      yield buffer.subarray(0, count);
    }
  } finally {
    closeSync(file);
  }
}

/** Yields each line's bytes without its newline; a last line without newline counts. */
function* byteLines(path: string): Generator<Buffer> {
  const rest: Buffer[] = []; // beginning of a line that spans blocks
  for (const block of blocksOf(path)) {
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end >= 0; end = block.indexOf(NEWLINE, start)) {
      const piece = block.subarray(start, end);
      yield rest.length > 0 ? Buffer.concat([...rest.splice(0), piece]) : piece;
      start = end + 1;
    }
    if (start < block.length) rest.push(Buffer.from(block.subarray(start)));
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}

/** Yields the lines of a file without their ends (`\n` or `\r\n`); a byte order mark at the start is dropped. */
export function* readLines(
  path: string,
  { from = 0, to = Infinity, lossy = false }: LineRange = {},
): Generator<string> {
  let index = 0;
  for (const bytes of byteLines(path)) {
    if (index >= to) return;
    if (index++ < from) continue;
    const line = lossy ? bytes.toString("utf8") : decodeLine(bytes, path, index);
    yield index === 1 && line.startsWith("\ufeff") ? line.slice(1) : line;
  }
}

function decodeLine(bytes: Buffer, path: string, number: number): string {
  const end = bytes.at(-1) === RETURN ? bytes.length - 1 : bytes.length;
  try {
    return decoder.decode(bytes.subarray(0, end));
  } catch {
    return rejectFile({
      who: `${path}: line ${number}`,
      needed: "UTF-8 text",
      got: "bytes that are not",
      remedy: "convert the file to UTF-8",
    });
  }
}

/** How many lines `readLines` yields. */
export function countLines(path: string): number {
  let lines = 0;
  let last = NEWLINE;
  for (const block of blocksOf(path)) {
    for (let at = block.indexOf(NEWLINE); at >= 0; at = block.indexOf(NEWLINE, at + 1)) lines++;
    last = block[block.length - 1]!;
  }
  return last === NEWLINE ? lines : lines + 1;
}
