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
function* byteLines(blocks: Iterable<Buffer>): Generator<Buffer> {
  const rest: Buffer[] = []; // beginning of a line that spans blocks
  for (const block of blocks) {
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
  for (const bytes of byteLines(blocksOf(path))) {
    if (index >= to) return;
    if (index++ < from) continue;
    yield withoutMark(lossy ? bytes.toString("utf8") : decodeLine(bytes, path, index), index);
  }
}

/** Only the first line of a file may begin with a byte order mark. */
const withoutMark = (line: string, number: number) =>
  number === 1 && line.startsWith("\ufeff") ? line.slice(1) : line;

/** Whole lines of a file, one after another as they are stored. */
export interface LineStretch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Lines of the file before them. */
  readonly first: number;
}

/** Yields lines [from, to) of a file in stretches of about `size` bytes: `linesOfStretch` of each gives what `readLines` does. */
export function* lineStretches(
  path: string,
  { from = 0, to = Infinity }: LineRange = {},
  size: number = BLOCK_BYTES,
): Generator<LineStretch> {
  let [held, length, first, index]: [Buffer[], number, number, number] = [[], 0, from, 0];
  const cut = (last: Uint8Array): LineStretch => {
    const bytes = new Uint8Array(length + last.length);
    let at = 0;
    for (const piece of [...held.splice(0), last]) {
      bytes.set(piece, at);
      at += piece.length;
    }
    const stretch = { bytes, first };
    [first, length] = [index, 0];
    return stretch;
  };
  for (const block of blocksOf(path)) {
    let [start, at] = [0, -1];
    while (index < to) {
      const end = block.indexOf(NEWLINE, at + 1);
      if (end < 0) break;
      at = end;
      if (index++ < from) start = end + 1;
      else if (length + end + 1 - start >= size || index === to) {
        const last = block.subarray(start, end + 1);
        start = end + 1;
        yield cut(last);
      }
    }
    if (index >= to) return;
    if (index < from || start === block.length) continue;
    held.push(Buffer.from(block.subarray(start))); // the block is filled again
    length += block.length - start;
  }
  if (length > 0) yield cut(new Uint8Array(0));
}

/** The lines of a stretch; `path` names their file in errors. */
export function* linesOfStretch({ bytes, first }: LineStretch, path: string): Generator<string> {
  let index = first;
  for (const line of byteLines([Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)])) {
    index++;
    yield withoutMark(decodeLine(line, path, index), index);
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

/** Counts lines as blocks of a file come by. */
export class LineCounter {
  #newlines = 0;
  #last = NEWLINE;

  add(block: Uint8Array): void {
    for (let at = block.indexOf(NEWLINE); at >= 0; at = block.indexOf(NEWLINE, at + 1)) this.#newlines++;
    this.#last = block.at(-1) ?? this.#last;
  }

  /** Lines so far; one without newline counts. */
  get lines(): number {
    return this.#last === NEWLINE ? this.#newlines : this.#newlines + 1;
  }
}

/** How many lines `readLines` yields. */
export function countLines(path: string): number {
  const counter = new LineCounter();
  for (const block of blocksOf(path)) counter.add(block);
  return counter.lines;
}
