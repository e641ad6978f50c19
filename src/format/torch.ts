/** PyTorch's .bin and .pt files (zip with a pickle), bytes in and tensors out: a state dict is read, code is refused. */

import { rejectFile as reject } from "../base/errors.ts";
import { advance } from "../base/strides.ts";
import { widenBfloat16, widenHalf } from "./half.ts";
import { Allowance, type ReadLimits } from "./limits.ts";
import { kindOf, readPickle } from "./pickle.ts";
import { ARRAYS, type StoredDtype, type StoredTensor, type TensorData } from "./safetensors.ts";
import { openZip, type Zip } from "./zip.ts";

/** Numbers of one type in a file; tensors are windows on them. */
class Storage {
  readonly dtype: StoredDtype;
  readonly key: string;
  readonly count: number;

  constructor(dtype: StoredDtype, key: string, count: number) {
    this.dtype = dtype;
    this.key = key;
    this.count = count;
  }
}

class StorageType {
  readonly dtype: StoredDtype;

  constructor(dtype: StoredDtype) {
    this.dtype = dtype;
  }
}

class LazyTensor {
  readonly storage: Storage;
  readonly offset: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];

  constructor(storage: Storage, offset: number, shape: readonly number[], strides: readonly number[]) {
    this.storage = storage;
    this.offset = offset;
    this.shape = shape;
    this.strides = strides;
  }
}

const storageTypes = {
  FloatStorage: "F32",
  DoubleStorage: "F64",
  HalfStorage: "F16",
  BFloat16Storage: "BF16",
  LongStorage: "I64",
  IntStorage: "I32",
  ByteStorage: "U8",
  BoolStorage: "BOOL",
} as const;

/** PyTorch's own limit. */
const MOST_AXES = 64;

/** All that a state dict names. None of it is code of the file's choosing. */
const globalsFor = (source: string): Readonly<Record<string, unknown>> => ({
  "collections.OrderedDict": () => new Map(),
  "torch._utils._rebuild_tensor_v2": (storage: unknown, offset: unknown, shape: unknown, strides: unknown) => {
    if (!(storage instanceof Storage)) reject({ who: source, needed: "a tensor's storage", got: kindOf(storage) });
    if (!isCount(offset)) reject({ who: source, needed: "a tensor's offset", got: kindOf(offset) });
    return new LazyTensor(storage, offset, countsIn(shape, source), countsIn(strides, source));
  },
  "torch._utils._rebuild_parameter": (tensor: unknown) => tensor,
  "torch.Size": (sizes: unknown) => countsIn(sizes, source),
  ...Object.fromEntries(Object.entries(storageTypes).map(([name, dtype]) => [`torch.${name}`, new StorageType(dtype)])),
});

function countsIn(value: unknown, who: string): number[] {
  if (!Array.isArray(value) || value.length > MOST_AXES || !value.every(isCount))
    reject({ who, needed: `a shape or strides of at most ${MOST_AXES} counts`, got: kindOf(value) });
  return value;
}

/**
 * Reads the tensors of a state dict, also of one that lies under `state_dict`; half precision is widened. What `bytes` holds in order is
 * viewed, not copied, so tensors that share a storage share their numbers.
 */
export function readTorch(bytes: Uint8Array, source: string, limits: ReadLimits = {}): Map<string, StoredTensor> {
  const allowance = new Allowance(source, bytes.length, limits);
  const zip = openTorch(bytes, source, { maxBytes: allowance.limit });
  const pickle = zip.names.find((name) => name.endsWith("/data.pkl"));
  if (pickle === undefined) {
    reject({ who: source, needed: "a PyTorch file with data.pkl", got: zip.names.slice(0, 5).join(", ") || "nothing" });
  }
  const root = pickle.slice(0, -"data.pkl".length);
  checkByteOrder(zip, `${root}byteorder`, source);
  const content = readPickle(zip.read(pickle), `${source}: ${pickle}`, {
    globals: globalsFor(`${source}: ${pickle}`),
    persistent: (id) => storageFrom(id, source),
    maxBytes: allowance.limit,
  });
  const storages = new Storages(zip, `${root}data/`, allowance);
  const found = new Map<string, StoredTensor>();
  for (const [name, value] of stateDict(content, source)) {
    if (!(value instanceof LazyTensor)) continue;
    if (typeof name !== "string") reject({ who: source, needed: "a name for each tensor", got: kindOf(name) });
    found.set(name, materialise(value, storages, `${source}: ${name}`));
  }
  if (found.size === 0) reject({ who: source, needed: "a state dict of tensors", got: "none" });
  return found;
}

function openTorch(bytes: Uint8Array, source: string, limits: ReadLimits): Zip {
  try {
    return openZip(bytes, source, { ...limits, checksums: "ifAny" });
  } catch {
    const remedy = "fetch it again, or save it again with torch.save of PyTorch 1.6 or later";
    return reject({ who: source, needed: "a PyTorch file (a zip archive)", got: "other or damaged bytes", remedy });
  }
}

function checkByteOrder(zip: Zip, member: string, who: string): void {
  const order = zip.has(member) ? new TextDecoder().decode(zip.read(member)).trim() : "little";
  if (order !== "little") reject({ who, needed: "numbers in little-endian order", got: order.slice(0, 40) });
}

function stateDict(content: unknown, source: string): Map<unknown, unknown> {
  if (!(content instanceof Map)) reject({ who: source, needed: "a state dict", got: kindOf(content) });
  const inner = content.get("state_dict");
  return inner instanceof Map ? inner : content;
}

/** ("storage", type, key, device, count) */
function storageFrom(id: unknown, source: string): Storage {
  const [kind, type, key, , count] = Array.isArray(id) ? id : [];
  if (kind !== "storage" || !(type instanceof StorageType) || typeof key !== "string" || !isCount(count)) {
    reject({ who: source, needed: "a storage of numbers", got: `a persistent id of kind ${kindOf(kind)}` });
  }
  return new Storage(type.dtype, key, count);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const widths: Readonly<Record<StoredDtype, number>> = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  U8: 1,
  BOOL: 1,
};

/** The numbers of a file's storages, each read, checked and widened once. */
class Storages {
  readonly #zip: Zip;
  readonly #folder: string;
  readonly #allowance: Allowance;
  readonly #read = new Map<string, Uint8Array | undefined>();
  readonly #numbers = new Map<string, Stored>();

  constructor(zip: Zip, folder: string, allowance: Allowance) {
    this.#zip = zip;
    this.#folder = folder;
    this.#allowance = allowance;
  }

  /** Counts what is copied; views are free. */
  copying(bytes: number, what: string): void {
    this.#allowance.take(bytes, what);
  }

  numbersOf({ dtype, key, count }: Storage, who: string): Stored {
    const known = this.#numbers.get(`${dtype} ${count} ${key}`);
    if (known) return known;
    const bytes = this.#bytesOf(key);
    const needed = count * widths[dtype];
    if (!bytes || bytes.length < needed) {
      reject({ who, needed: `${needed} bytes of ${dtype}`, got: bytes ? `${bytes.length}` : "no such member" });
    }
    const isHalf = dtype === "F16" || dtype === "BF16";
    const aligned = bytes.byteOffset % widths[dtype] === 0;
    this.copying((aligned ? 0 : needed) + (isHalf ? 2 * needed : 0), who);
    const numbers = numbersIn(dtype, count, aligned ? bytes : new Uint8Array(bytes));
    this.#numbers.set(`${dtype} ${count} ${key}`, numbers);
    return numbers;
  }

  #bytesOf(key: string): Uint8Array | undefined {
    const name = this.#folder + key;
    if (!this.#read.has(key)) this.#read.set(key, this.#zip.has(name) ? this.#zip.read(name) : undefined);
    return this.#read.get(key);
  }
}

function materialise(tensor: LazyTensor, storages: Storages, who: string): StoredTensor {
  const { storage, offset, shape, strides } = tensor;
  const { dtype, data } = storages.numbersOf(storage, who);
  const count = checkWindow(tensor, who);
  if (isRowMajor(shape, strides))
    return { dtype, shape, data: data.subarray(offset, offset + count), storedAs: storage.dtype };
  storages.copying(count * data.BYTES_PER_ELEMENT, who);
  return { dtype, shape, data: gathered(data, tensor, count), storedAs: storage.dtype };
}

/** The number of elements of a window that lies within its storage. */
function checkWindow({ storage, offset, shape, strides }: LazyTensor, who: string): number {
  const sound = shape.length === strides.length;
  const count = sound ? shape.reduce((a, b) => a * b, 1) : Number.NaN;
  const last = count > 0 ? offset + shape.reduce((sum, size, i) => sum + (size - 1) * strides[i]!, 0) : 0;
  if (sound && (count === 0 || last < storage.count) && count <= Math.max(1, storage.count)) return count;
  return reject({
    who,
    needed: `a window on ${storage.count} numbers`,
    got: `offset ${offset}, shape [${shape}], strides [${strides}]`,
    remedy: "the file is damaged",
  });
}

function isRowMajor(shape: readonly number[], strides: readonly number[]): boolean {
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] !== 1 && strides[i] !== step) return false;
    step *= shape[i]!;
  }
  return true;
}

type Stored = Pick<StoredTensor, "dtype" | "data">;

function numbersIn(dtype: StoredDtype, count: number, { buffer, byteOffset }: Uint8Array): Stored {
  if (dtype === "F16") return { dtype: "F32", data: widenHalf(new Uint16Array(buffer, byteOffset, count)) };
  if (dtype === "BF16") return { dtype: "F32", data: widenBfloat16(new Uint16Array(buffer, byteOffset, count)) };
  return { dtype, data: new ARRAYS[dtype](buffer as ArrayBuffer, byteOffset, count) };
}

/** A window's numbers in row-major order. */
function gathered(from: TensorData, { offset, shape, strides }: LazyTensor, count: number): TensorData {
  const out = from.slice(0, count);
  const index = shape.map(() => 0);
  let at = offset;
  for (let to = 0; to < count; to++) {
    out[to] = from[at]!;
    at += advance(index, shape, strides);
  }
  return out;
}
