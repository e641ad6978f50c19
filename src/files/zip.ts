/** Reads members of a zip archive: the central directory, stored and deflated members. Callers check the content's SHA-256. */
import { inflateRawSync } from "node:zlib";
import { reject } from "../base/errors.ts";

const END_SIGNATURE = 0x06054b50;
const ENTRY_SIGNATURE = 0x02014b50;
const MAX_MEMBER_BYTES = 2 ** 31;

interface Entry {
  method: number;
  packed: number;
  size: number;
  header: number;
}

/** Returns a function that unpacks a member by its path in the archive. */
export function openZip(bytes: Buffer, source: string): { names: string[]; read(name: string): Buffer } {
  const entries = readDirectory(bytes, source);
  return {
    names: [...entries.keys()],
    read(name) {
      const entry = entries.get(name);
      if (!entry) reject({ who: source, needed: `a member ${name}`, got: `${[...entries.keys()].join(", ")}` });
      return unpack(bytes, entry, `${source}: ${name}`);
    },
  };
}

function damaged(source: string): never {
  reject({
    who: source,
    needed: "a zip archive",
    got: "damaged or other bytes",
    remedy: "delete it and fetch it again",
  });
}

function readDirectory(bytes: Buffer, source: string): Map<string, Entry> {
  const end = bytes.lastIndexOf(Buffer.of(0x50, 0x4b, 5, 6));
  if (end < 0 || end + 22 > bytes.length || bytes.readUInt32LE(end) !== END_SIGNATURE) damaged(source);
  const entries = new Map<string, Entry>();
  let at = bytes.readUInt32LE(end + 16);
  for (let i = bytes.readUInt16LE(end + 10); i > 0; i--) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== ENTRY_SIGNATURE) damaged(source);
    const nameLength = bytes.readUInt16LE(at + 28);
    entries.set(bytes.toString("utf8", at + 46, at + 46 + nameLength), {
      method: bytes.readUInt16LE(at + 10),
      packed: bytes.readUInt32LE(at + 20),
      size: bytes.readUInt32LE(at + 24),
      header: bytes.readUInt32LE(at + 42),
    });
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return entries;
}

function unpack(bytes: Buffer, { method, packed, size, header }: Entry, source: string): Buffer {
  if (header + 30 > bytes.length || size > MAX_MEMBER_BYTES) damaged(source);
  const start = header + 30 + bytes.readUInt16LE(header + 26) + bytes.readUInt16LE(header + 28);
  const data = bytes.subarray(start, start + packed);
  const content = method === 0 ? data : method === 8 ? inflate(data, size, source) : damaged(source);
  if (content.length !== size) damaged(source);
  return content;
}

function inflate(data: Buffer, size: number, source: string): Buffer {
  try {
    return inflateRawSync(data, { maxOutputLength: Math.max(size, 1) });
  } catch {
    return damaged(source);
  }
}
