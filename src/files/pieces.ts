/** Stretches of bytes of a text file, read in pieces of moderate length that break no character. */
import { closeSync, openSync, readSync } from "node:fs";

/** Bytes [from, to) of a file. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

const PIECE_BYTES = 1 << 16;
const [NEWLINE, SPACE] = [10, 32];
const continues = (byte: number) => (byte & 0xc0) === 0x80;

/** The first byte at or behind a place that begins a character. */
export function characterFrom(path: string, place: number): number {
  const bytes = read(path, { from: place, to: place + 4 });
  const begins = bytes.findIndex((byte) => !continues(byte));
  return place + Math.max(0, begins);
}

function read(path: string, { from, to }: ByteRange): Buffer {
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(to - from);
    return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, from));
  } finally {
    closeSync(file);
  }
}

/** Yields the text of a range; each piece ends behind a line's end or a space where there is one. Invalid UTF-8 is replaced. */
export function* readPieces(path: string, { from, to }: ByteRange): Generator<string> {
  for (let at = from; at < to; ) {
    const block = read(path, { from: at, to: Math.min(to, at + PIECE_BYTES) });
    if (block.length === 0) return;
    const end = at + block.length >= to ? block.length : endIn(block);
    yield block.toString("utf8", 0, end);
    at += end;
  }
}

/** Where a piece of a block ends: behind its last line end, else its last space, else before its last character. */
function endIn(block: Buffer): number {
  const last = Math.max(block.lastIndexOf(NEWLINE), block.lastIndexOf(SPACE));
  if (last >= 0) return last + 1;
  let end = block.length - 1;
  while (end > 0 && continues(block[end]!)) end--;
  return end > 0 ? end : block.length;
}
