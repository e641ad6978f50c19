/** Reads zip archives that nobody vouches for: central directory, stored and deflated members, limits and checksums. */
import { inflateSync } from "fflate";
import { rejectFile as reject } from "../base/errors.ts";
import { crc32 } from "./crc.ts";
import { Allowance, type ReadLimits } from "./limits.ts";

const END_SIGNATURE = 0x06054b50;
const END_BYTES = 22;
const LONGEST_COMMENT = 65_535;
const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_BYTES = 46;
const HEADER_SIGNATURE = 0x04034b50;
const HEADER_BYTES = 30;
const [STORED, DEFLATED] = [0, 8];
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
  has(name: string): boolean;
  read(name: string): Uint8Array;
}

/** What of an archive is checked. `maxBytes` is for all members together, unpacked. */
export interface ZipOptions extends ReadLimits {
  /**
   * Whether members are compared with their CRC-32. Default: always. `ifAny`: unless all of them are zero, as PyTorch writes them where
   * it is told to leave them out.
   */
  checksums?: "always" | "ifAny";
}

/** Opens an archive; `source` names it in errors. Stored members are views of `bytes`. */
export function openZip(bytes: Uint8Array, source: string, options: ZipOptions = {}): Zip {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries = readDirectory(bytes, view, source);
  const checked = options.checksums !== "ifAny" || [...entries.values()].some(({ crc }) => crc !== 0);
  const allowance = new Allowance(source, bytes.length, options);
  const unpacked = new Set<string>();
  return {
    names: [...entries.keys()],
    has: (name) => entries.has(name),
    read(name) {
      const entry = entries.get(name);
      if (!entry) reject({ who: source, needed: `a member ${name}`, got: someOf([...entries.keys()]) });
      const who = `${source}: ${name}`;
      if (!unpacked.has(name)) allowance.take(entry.size, name);
      unpacked.add(name);
      const content = unpack(bytes, view, entry, who);
      if (checked) checkSum(content, entry.crc, who);
      return content;
    },
  };
}

const someOf = (names: readonly string[]) =>
  names.length > 5 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more` : names.join(", ") || "none";

function damaged(who: string, needed: string, got: string): never {
  reject({ who, needed, got, remedy: "the archive is damaged, cut short or no zip: fetch it again" });
}

function checkSum(content: Uint8Array, stored: number, who: string): void {
  const found = crc32(content);
  if (found !== stored) damaged(who, `content with CRC-32 ${stored.toString(16)}`, found.toString(16));
}

function readDirectory(bytes: Uint8Array, view: DataView, source: string): Map<string, Entry> {
  const end = endOfDirectory(view);
  if (end === undefined)
    damaged(source, "a zip archive, which ends with its directory", `${bytes.length} bytes without`);
  const entries = new Map<string, Entry>();
  let at = view.getUint32(end + 16, true);
  const count = view.getUint16(end + 10, true);
  for (let i = 0; i < count; i++) {
    const nameEnd = at + ENTRY_BYTES <= end ? at + ENTRY_BYTES + view.getUint16(at + 28, true) : Infinity;
    if (nameEnd > end || view.getUint32(at, true) !== ENTRY_SIGNATURE)
      damaged(source, `member ${i + 1} of ${count} in the directory at byte ${at}`, "something else");
    entries.set(decoder.decode(bytes.subarray(at + ENTRY_BYTES, nameEnd)), {
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

const decoder = new TextDecoder();

function endOfDirectory(view: DataView): number | undefined {
  const last = view.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - LONGEST_COMMENT); at--) {
    if (view.getUint32(at, true) === END_SIGNATURE) return at;
  }
  return undefined;
}

function unpack(bytes: Uint8Array, view: DataView, { method, packed, size, header }: Entry, who: string): Uint8Array {
  if (header + HEADER_BYTES > bytes.length || view.getUint32(header, true) !== HEADER_SIGNATURE)
    damaged(who, `its header at byte ${header}`, "something else");
  const start = header + HEADER_BYTES + view.getUint16(header + 26, true) + view.getUint16(header + 28, true);
  const data = bytes.subarray(start, start + packed);
  if (data.length < packed) damaged(who, `${packed} bytes at byte ${start}`, `${data.length}`);
  if (method !== STORED && method !== DEFLATED)
    damaged(who, `method ${STORED} (stored) or ${DEFLATED} (deflated)`, `${method}`);
  const content = method === STORED ? data : inflate(data, size, who);
  if (content.length !== size) damaged(who, `${size} bytes`, content.length > size ? "more" : `${content.length}`);
  return content;
}

/** One byte of room more than announced: what comes out too long shows, and no more is ever kept. */
function inflate(data: Uint8Array, size: number, who: string): Uint8Array {
  if (size > data.length * MAX_RATIO)
    damaged(who, `at most ${data.length * MAX_RATIO} bytes out of ${data.length}`, `${size}`);
  try {
    return inflateSync(data, { out: new Uint8Array(size + 1) });
  } catch {
    return damaged(who, "a deflated stream", "other bytes");
  }
}
