/** PyTorch's .bin and .pt files (zip with a pickle), bytes in and tensors out: a state dict is read, code is refused. */
import { reject } from "../base/errors.ts";
import { widenBfloat16, widenHalf } from "./half.ts";
import { readPickle } from "./pickle.ts";
import type { StoredDtype, StoredTensor, TensorData } from "./safetensors.ts";
import { openZip, type Zip } from "./zip.ts";

/** Numbers of one type in a file; tensors are windows on them. */
interface Storage {
  readonly dtype: StoredDtype;
  readonly key: string;
  readonly count: number;
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

/** All that a state dict names. None of it is code of the file's choosing. */
const globals: Readonly<Record<string, unknown>> = {
  "collections.OrderedDict": () => new Map(),
  "torch._utils._rebuild_tensor_v2": (storage: Storage, offset: number, shape: number[], strides: number[]) =>
    new LazyTensor(storage, offset, shape, strides),
  "torch._utils._rebuild_parameter": (tensor: unknown) => tensor,
  "torch.Size": (sizes: unknown) => sizes,
  ...Object.fromEntries(Object.entries(storageTypes).map(([name, dtype]) => [`torch.${name}`, new StorageType(dtype)])),
};

/** Reads the tensors of a state dict, also of one that lies under `state_dict`; half precision is widened. */
export function readTorch(bytes: Uint8Array, source: string): Map<string, StoredTensor> {
  const zip = openTorch(bytes, source);
  const member = (name: string) => (zip.names.includes(name) ? zip.read(name) : undefined);
  const pickle = zip.names.find((name) => name.endsWith("/data.pkl"));
  if (pickle === undefined) {
    reject({ who: source, needed: "a PyTorch file with data.pkl", got: zip.names.slice(0, 5).join(", ") });
  }
  const root = pickle.slice(0, -"data.pkl".length);
  const order = member(`${root}byteorder`);
  if (order && new TextDecoder().decode(order).trim() !== "little") {
    reject({ who: source, needed: "numbers in little-endian order", got: new TextDecoder().decode(order) });
  }
  const persistent = (id: unknown) => storageFrom(id, source);
  const content = readPickle(zip.read(pickle), `${source}: ${pickle}`, { globals, persistent });
  const found = new Map<string, StoredTensor>();
  for (const [name, value] of stateDict(content, source)) {
    if (!(value instanceof LazyTensor)) continue;
    found.set(String(name), materialise(value, member(`${root}data/${value.storage.key}`), `${source}: ${name}`));
  }
  if (found.size === 0) reject({ who: source, needed: "a state dict of tensors", got: "none" });
  return found;
}

/** PyTorch can be told to leave checksums out, so they are not compared. */
function openTorch(bytes: Uint8Array, source: string): Zip {
  try {
    return openZip(bytes, source, { checksums: false });
  } catch {
    const remedy = "fetch it again, or save it again with torch.save of PyTorch 1.6 or later";
    return reject({ who: source, needed: "a PyTorch file (a zip archive)", got: "other or damaged bytes", remedy });
  }
}

function stateDict(content: unknown, source: string): Map<unknown, unknown> {
  if (!(content instanceof Map)) reject({ who: source, needed: "a state dict", got: typeof content });
  const inner = content.get("state_dict");
  return inner instanceof Map ? inner : content;
}

/** ("storage", type, key, device, count) */
function storageFrom(id: unknown, source: string): Storage {
  const [kind, type, key, , count] = Array.isArray(id) ? id : [];
  if (kind !== "storage" || !(type instanceof StorageType) || typeof key !== "string" || !isCount(count)) {
    reject({ who: source, needed: "a storage of numbers", got: `a persistent id of kind ${String(kind)}` });
  }
  return { dtype: type.dtype, key, count };
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

function materialise(tensor: LazyTensor, bytes: Uint8Array | undefined, who: string): StoredTensor {
  const { storage, offset, shape, strides } = tensor;
  const needed = storage.count * widths[storage.dtype];
  if (!bytes || bytes.length < needed) {
    reject({ who, needed: `${needed} bytes of ${storage.dtype}`, got: bytes ? `${bytes.length}` : "no such member" });
  }
  const numbers = numbersOf(storage.dtype, new Uint8Array(bytes.subarray(0, needed)).buffer);
  const count = checkWindow(tensor, who);
  const whole = offset === 0 && count === numbers.data.length && isRowMajor(shape, strides);
  const data = whole ? numbers.data : gathered(numbers.data, tensor, count);
  return { dtype: numbers.dtype, shape, data, storedAs: storage.dtype };
}

/** The number of elements of a window that lies within its storage. */
function checkWindow({ storage, offset, shape, strides }: LazyTensor, who: string): number {
  const sound = [offset, ...shape, ...strides].every(isCount) && shape.length === strides.length;
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

function numbersOf(dtype: StoredDtype, buffer: ArrayBuffer): { dtype: StoredTensor["dtype"]; data: TensorData } {
  if (dtype === "F16") return { dtype: "F32", data: widenHalf(new Uint16Array(buffer)) };
  if (dtype === "BF16") return { dtype: "F32", data: widenBfloat16(new Uint16Array(buffer)) };
  return { dtype, data: new arrays[dtype](buffer) };
}

const arrays = {
  F64: Float64Array,
  F32: Float32Array,
  I64: BigInt64Array,
  I32: Int32Array,
  U8: Uint8Array,
  BOOL: Uint8Array,
} as const;

/** A window's numbers in row-major order. */
function gathered(from: TensorData, { offset, shape, strides }: LazyTensor, count: number): TensorData {
  const out = from.slice(0, count);
  const index = shape.map(() => 0);
  let at = offset;
  for (let to = 0; to < count; to++) {
    out[to] = from[at]!;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += strides[axis]!;
      if (++index[axis]! < shape[axis]!) break;
      at -= strides[axis]! * shape[axis]!;
      index[axis] = 0;
    }
  }
  return out;
}
