/** Reads zip archives that nobody vouches for: central directory, stored and deflated members, limits and checksums. */
import { inflateSync } from "fflate";
import { reject } from "../base/errors.ts";
import { crc32 } from "./crc.ts";

const END_SIGNATURE = 0x06054b50;
const END_BYTES = 22;
const LONGEST_COMMENT = 65_535;
const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_BYTES = 46;
const HEADER_BYTES = 30;
const [STORED, DEFLATED] = [0, 8];
const MAX_MEMBER_BYTES = 2 ** 31;
/** Deflate writes at most 258 bytes for two bits. */
const MAX_RATIO = 1032;

interface Entry {
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly header: number;
}

/** An open archive: the paths in it, and the content of one. */
export interface Zip {
  readonly names: readonly string[];
  read(name: string): Uint8Array;
}

/** What of an archive is checked. */
export interface ZipOptions {
  /** Compare members with their CRC-32. Default: true; PyTorch may write archives without. */
  checksums?: boolean;
}

/** Opens an archive; `source` names it in errors. Stored members are views of `bytes`. */
export function openZip(bytes: Uint8Array, source: string, { checksums = true }: ZipOptions = {}): Zip {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries = readDirectory(bytes, view, source);
  return {
    names: [...entries.keys()],
    read(name) {
      const entry = entries.get(name);
      if (!entry) reject({ who: source, needed: `a member ${name}`, got: `${[...entries.keys()].join(", ")}` });
      const content = unpack(bytes, view, entry, `${source}: ${name}`);
      if (checksums && crc32(content) !== entry.crc) damaged(`${source}: ${name}`);
      return content;
    },
  };
}

function damaged(source: string): never {
  const [needed, got] = ["a zip archive", "damaged or other bytes"];
  reject({ who: source, needed, got, remedy: "delete it and fetch it again" });
}

function readDirectory(bytes: Uint8Array, view: DataView, source: string): Map<string, Entry> {
  const end = endOfDirectory(view) ?? damaged(source);
  const entries = new Map<string, Entry>();
  let at = view.getUint32(end + 16, true);
  for (let i = view.getUint16(end + 10, true); i > 0; i--) {
    if (at + ENTRY_BYTES > bytes.length || view.getUint32(at, true) !== ENTRY_SIGNATURE) damaged(source);
    const nameEnd = at + ENTRY_BYTES + view.getUint16(at + 28, true);
    entries.set(new TextDecoder().decode(bytes.subarray(at + ENTRY_BYTES, nameEnd)), {
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      packed: view.getUint32(at + 20, true),
      size: view.getUint32(at + 24, true),
      header: view.getUint32(at + 42, true),
    });
    at = nameEnd + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return entries;
}

function endOfDirectory(view: DataView): number | undefined {
  const last = view.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - LONGEST_COMMENT); at--) {
    if (view.getUint32(at, true) === END_SIGNATURE) return at;
  }
  return undefined;
}

function unpack(bytes: Uint8Array, view: DataView, entry: Entry, source: string): Uint8Array {
  const { method, packed, size, header } = entry;
  if (header + HEADER_BYTES > bytes.length || size > MAX_MEMBER_BYTES) damaged(source);
  const start = header + HEADER_BYTES + view.getUint16(header + 26, true) + view.getUint16(header + 28, true);
  const data = bytes.subarray(start, start + packed);
  const content = method === STORED ? data : method === DEFLATED ? inflate(data, size, source) : damaged(source);
  return content.length === size ? content : damaged(source);
}

/** One byte of room more than announced: what comes out too long shows, and no more is ever kept. */
function inflate(data: Uint8Array, size: number, source: string): Uint8Array {
  if (size > data.length * MAX_RATIO) damaged(source);
  try {
    return inflateSync(data, { out: new Uint8Array(size + 1) });
  } catch {
    return damaged(source);
  }
}
