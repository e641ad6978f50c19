/** The safetensors format, bytes in and bytes out: a header of names, types, shapes and offsets, then the numbers. */

import { LayerwiseError, messageOf, rejectFile as reject } from "../base/errors.ts";
import { joined } from "../base/joined.ts";
import { widenBfloat16, widenHalf } from "./half.ts";
import { countKeys, repeatedKey } from "./json-keys.ts";

/** The element types a file may hold; F16 and BF16 are widened to F32 when read. */
export type StoredDtype = "F64" | "F32" | "F16" | "BF16" | "I64" | "I32" | "U8" | "BOOL";
/** The element types of arrays that were read or are to be written. */
export type Dtype = Exclude<StoredDtype, "F16" | "BF16">;
/** The arrays that hold them. */
export type TensorData = Float64Array | Float32Array | BigInt64Array | Int32Array | Uint8Array;

/** A tensor to write: `data` in row-major order, of the array type that belongs to `dtype`. */
export interface TensorRecord {
  dtype: Dtype;
  shape: readonly number[];
  data: TensorData;
}

/** A tensor that was read; `storedAs` is the type in the file, `dtype` that of `data`. */
export interface StoredTensor extends TensorRecord {
  storedAs: StoredDtype;
}

/** What a file holds: tensors by name, and texts by name. */
export interface SafetensorsContent {
  tensors: Map<string, StoredTensor>;
  metadata: Record<string, string>;
}

/** Where a tensor's bytes lie, as the header says, relative to the start of the data. */
interface Entry {
  name: string;
  dtype: StoredDtype;
  shape: number[];
  begin: number;
  end: number;
}

const WIDTH: Record<StoredDtype, number> = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, U8: 1, BOOL: 1 };
const PREFIX = 8;
const ALIGNMENT = 64;
/** Most headers end before this. */
const FIRST_BYTES = 1 << 14;
/** A longer header is damage, not a model; the reference implementation has the same limit. */
const MAX_HEADER = 100_000_000;

/** Reads a whole file; `source` names it in errors. Arrays are views of `bytes` where the alignment allows, else copies. */
export function readSafetensors(bytes: Uint8Array, source = "safetensors"): SafetensorsContent {
  const dataStart = PREFIX + headerLength(bytes, source);
  const header = parseHeader(bytes.subarray(PREFIX, dataStart), source);
  const entries: Entry[] = [];
  let metadata: Record<string, string> = {};
  for (const name in header) {
    if (name === "__metadata__") metadata = readMetadata(header[name], source);
    else entries.push(readEntry(name, header[name], source));
  }
  checkLayout(entries, bytes.length - dataStart, source);
  const tensors = new Map<string, StoredTensor>();
  for (const entry of entries) tensors.set(entry.name, readTensor(entry, bytes, dataStart));
  return { tensors, metadata };
}

/** The shapes by name of a file of which only the header is read, by `read(from, count)`, which gives fewer bytes at the file's end. */
export async function safetensorsShapes(
  read: (from: number, count: number) => Promise<Uint8Array>,
  source = "safetensors",
): Promise<Map<string, readonly number[]>> {
  const start = await read(0, FIRST_BYTES);
  const size = start.length < FIRST_BYTES ? start.length : Number.POSITIVE_INFINITY;
  const end = PREFIX + headerLength(start, source, size);
  const whole = end <= start.length ? start : await read(0, end);
  const header = parseHeader(whole.subarray(PREFIX, end), source);
  const entries = Object.entries(header).filter(([name]) => name !== "__metadata__");
  return new Map(entries.map(([name, value]) => [name, readEntry(name, value, source).shape]));
}

/** Writes a file whose bytes depend only on names and values: tensors by falling width, then name; data starts at a multiple of 64. */
export function writeSafetensors(
  tensors: ReadonlyMap<string, TensorRecord>,
  metadata: Record<string, string> = {},
): Uint8Array {
  return joined([...safetensorsBlocks(tensors, metadata)]);
}

/** The same file block by block, each a view of at most `most` bytes: for what is too large to lie in memory twice. */
export function* safetensorsBlocks(
  tensors: ReadonlyMap<string, TensorRecord>,
  metadata: Record<string, string> = {},
  most = 1 << 26,
): Generator<Uint8Array> {
  const names = [...tensors.keys()].sort(
    (a, b) => WIDTH[tensors.get(b)!.dtype] - WIDTH[tensors.get(a)!.dtype] || compare(a, b),
  );
  const header = encodeHeader(names, tensors, metadata);
  const prefix = new Uint8Array(PREFIX);
  new DataView(prefix.buffer).setBigUint64(0, BigInt(header.length), true);
  yield prefix;
  yield header;
  for (const name of names) {
    const { buffer, byteOffset, byteLength } = tensors.get(name)!.data;
    for (let at = 0; at < byteLength; at += most) {
      yield new Uint8Array(buffer, byteOffset + at, Math.min(most, byteLength - at));
    }
  }
}

/** The integers of a tensor as Int32Array; int64 values beyond 32 bits are refused. */
export function int32Of(data: TensorData, who: string): Int32Array {
  if (data instanceof Int32Array) return data;
  const out = new Int32Array(data.length);
  for (let i = 0; i < out.length; i++) {
    out[i] = Number(data[i]!);
    if (BigInt(out[i]!) !== exactInteger(data[i]!, i, who))
      reject({ who, needed: "integers of 32 bits", got: `${data[i]} at index ${i}` });
  }
  return out;
}

function exactInteger(value: number | bigint, index: number, who: string): bigint {
  if (typeof value === "number" && !Number.isInteger(value))
    reject({ who, needed: "integers", got: `${value} at index ${index}` });
  return BigInt(value);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function headerLength(bytes: Uint8Array, source: string, size = bytes.length): number {
  if (bytes.length < PREFIX) reject({ who: source, needed: "8 bytes of header length", got: `${bytes.length} bytes` });
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset, PREFIX).getBigUint64(0, true));
  const room = Math.min(size - PREFIX, MAX_HEADER);
  if (length > room)
    reject({
      who: source,
      needed: `a header of at most ${room} bytes at offset 0`,
      got: `header length ${length}`,
      remedy: "the file is cut short or not safetensors",
    });
  return length;
}

function parseHeader(bytes: Uint8Array, source: string): Record<string, unknown> {
  let text: string;
  let header: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    header = JSON.parse(text);
  } catch (error) {
    throw new LayerwiseError(`${source}: expected a JSON header at offset ${PREFIX}, got ${messageOf(error)}`, 1, {
      code: "bad-file",
      cause: error,
    });
  }
  if (!isObject(header)) reject({ who: source, needed: `a JSON object at offset ${PREFIX}`, got: text.slice(0, 40) });
  const twice = countKeys(text) === flatKeys(header) ? undefined : repeatedKey(text);
  if (twice)
    reject({
      who: source,
      needed: "each name once in the header",
      got: `${JSON.stringify(twice.key)} again at character ${twice.at} of it`,
    });
  return header;
}

/** Keys of the header and of the objects in it; undefined where there are deeper ones. */
function flatKeys(header: Record<string, unknown>): number | undefined {
  let keys = 0;
  for (const name in header) {
    keys++;
    const entry = header[name];
    if (typeof entry !== "object" || entry === null) continue;
    for (const key in entry) {
      const value = (entry as Record<string, unknown>)[key];
      if (!Array.isArray(entry)) keys++;
      if (typeof value === "object" && value !== null && !isCounts(value)) return undefined;
    }
  }
  return keys;
}

const isCounts = (value: unknown): value is number[] => Array.isArray(value) && value.every(isCount);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readMetadata(value: unknown, source: string): Record<string, string> {
  const who = `${source} / __metadata__`;
  if (!isObject(value)) reject({ who, needed: "an object of strings", got: shown(value) });
  for (const [key, text] of Object.entries(value))
    if (typeof text !== "string") reject({ who, needed: `a string for ${shown(key)}`, got: shown(text) });
  return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, String(text)]));
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isDtype(value: unknown): value is StoredDtype {
  return typeof value === "string" && Object.hasOwn(WIDTH, value);
}

function readEntry(name: string, value: unknown, source: string): Entry {
  const who = `${source} / ${name}`;
  if (!isObject(value)) reject({ who, needed: "dtype, shape and data_offsets", got: shown(value) });
  const { dtype, shape, data_offsets: offsets } = value;
  if (!isDtype(dtype)) reject({ who, needed: `a dtype out of ${Object.keys(WIDTH).join(", ")}`, got: shown(dtype) });
  if (!isCounts(shape)) reject({ who, needed: "a shape of counts", got: shown(shape) });
  if (!isCounts(offsets) || offsets.length !== 2)
    reject({ who, needed: "data_offsets [begin, end]", got: shown(offsets) });
  const [begin, end] = offsets;
  const bytes = elements(shape) * WIDTH[dtype];
  if (end! - begin! !== bytes)
    reject({
      who,
      needed: `${bytes} bytes for ${dtype} [${shape.slice(0, 32)}]`,
      got: `data_offsets [${begin}, ${end}], ${end! - begin!} bytes`,
    });
  return { name, dtype, shape, begin: begin!, end: end! };
}

/** The beginning of a value as JSON; one that is too deep for that is called so. */
function shown(value: unknown): string {
  try {
    return `${JSON.stringify(value)}`.slice(0, 120);
  } catch {
    return "a deep structure";
  }
}

function elements(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The data must be covered exactly: no overlap, no hole, nothing out of range. Reading relies on it. */
function checkLayout(entries: readonly Entry[], dataLength: number, source: string): void {
  let at = 0;
  let previous = "the header";
  for (const { name, begin, end } of [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== at) {
      const fault = begin < at ? "overlapping" : "leaving a hole after";
      reject({
        who: `${source} / ${name}`,
        needed: `data at offset ${at}`,
        got: `offset ${begin}, ${fault} ${previous}`,
      });
    }
    if (end > dataLength)
      reject({
        who: `${source} / ${name}`,
        needed: `data within ${dataLength} bytes`,
        got: `data_offsets [${begin}, ${end}]`,
        remedy: "the file is cut short",
      });
    at = end;
    previous = name;
  }
  if (at !== dataLength) reject({ who: source, needed: `the data to end at offset ${at}`, got: `${dataLength} bytes` });
}

function readTensor({ dtype, shape, begin, end }: Entry, file: Uint8Array, dataStart: number): StoredTensor {
  const whole = file.subarray(dataStart + begin, dataStart + end);
  const bytes = whole.byteOffset % WIDTH[dtype] === 0 ? whole : new Uint8Array(whole);
  const { buffer, byteOffset } = bytes;
  const length = bytes.length / WIDTH[dtype];
  const stored = (type: Dtype, data: TensorData): StoredTensor => ({ dtype: type, storedAs: dtype, shape, data });
  switch (dtype) {
    case "F64":
      return stored("F64", new Float64Array(buffer, byteOffset, length));
    case "F32":
      return stored("F32", new Float32Array(buffer, byteOffset, length));
    case "F16":
      return stored("F32", widenHalf(new Uint16Array(buffer, byteOffset, length)));
    case "BF16":
      return stored("F32", widenBfloat16(new Uint16Array(buffer, byteOffset, length)));
    case "I64":
      return stored("I64", new BigInt64Array(buffer, byteOffset, length));
    case "I32":
      return stored("I32", new Int32Array(buffer, byteOffset, length));
    case "U8":
    case "BOOL":
      return stored(dtype, new Uint8Array(buffer, byteOffset, length));
  }
}

/** The typed array of each type of element. */
export const ARRAYS = {
  F64: Float64Array,
  F32: Float32Array,
  I64: BigInt64Array,
  I32: Int32Array,
  U8: Uint8Array,
  BOOL: Uint8Array,
};

function checkRecord(name: string, { dtype, shape, data }: TensorRecord): void {
  const who = `safetensors / ${name}`;
  if (name === "__metadata__") reject({ who, needed: "a tensor's name", got: "the name of the metadata" });
  if (!(data instanceof ARRAYS[dtype]))
    reject({ who, needed: `${ARRAYS[dtype].name} for ${dtype}`, got: data.constructor.name });
  if (!shape.every(isCount) || elements(shape) !== data.length)
    reject({ who, needed: `${elements(shape)} values for shape [${shape}]`, got: `${data.length}` });
}

function encodeHeader(
  names: readonly string[],
  tensors: ReadonlyMap<string, TensorRecord>,
  metadata: Record<string, string>,
): Uint8Array {
  const fields: string[] = [];
  const notes = Object.keys(metadata)
    .sort(compare)
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(metadata[key])}`);
  if (notes.length > 0) fields.push(`"__metadata__":{${notes.join(",")}}`);
  let at = 0;
  for (const name of names) {
    const record = tensors.get(name)!;
    checkRecord(name, record);
    const end = at + record.data.byteLength;
    fields.push(
      `${JSON.stringify(name)}:{"dtype":"${record.dtype}","shape":[${record.shape}],"data_offsets":[${at},${end}]}`,
    );
    at = end;
  }
  const json = new TextEncoder().encode(`{${fields.join(",")}}`);
  const padded = Math.ceil((PREFIX + json.length) / ALIGNMENT) * ALIGNMENT - PREFIX;
  const header = new Uint8Array(padded).fill(0x20);
  header.set(json);
  return header;
}
