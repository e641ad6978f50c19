/** NumPy's .npy format, bytes in and bytes out: float32, float64, int32 and int64 arrays. */

import { rejectFile as reject } from "../base/errors.ts";
import { advance } from "../base/strides.ts";
import type { TensorRecord } from "./safetensors.ts";

/** The numbers of an array, by its type. */
export type NpyData = Float32Array | Float64Array | Int32Array | BigInt64Array;

/** An array in row-major order. */
export interface NpyArray extends TensorRecord {
  dtype: "F32" | "F64" | "I32" | "I64";
  data: NpyData;
}

interface Header {
  dtype: NpyArray["dtype"];
  fortranOrder: boolean;
  shape: number[];
}

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY
const DESCRIPTIONS = { "<f4": "F32", "<f8": "F64", "<i4": "I32", "<i8": "I64" } as const;
const ARRAYS = { F32: Float32Array, F64: Float64Array, I32: Int32Array, I64: BigInt64Array } as const;
const ALIGNMENT = 64;

/** Reads a file; `source` names it in errors. Arrays in Fortran order are transposed. */
export function readNpy(bytes: Uint8Array, source: string): NpyArray {
  const { text, dataStart } = headerText(bytes, source);
  const header = parseHeader(text, source);
  const count = header.shape.reduce((product, size) => product * size, 1);
  const width = ARRAYS[header.dtype].BYTES_PER_ELEMENT;
  const got = bytes.length - dataStart;
  if (got !== count * width)
    reject({
      who: source,
      needed: `${count * width} bytes of ${header.dtype} [${header.shape.slice(0, 32)}] at offset ${dataStart}`,
      got: `${got}`,
      remedy: got < count * width ? "the file is cut short" : "the file holds more than one array",
    });
  const data = new ARRAYS[header.dtype](new Uint8Array(bytes.subarray(dataStart)).buffer);
  return { dtype: header.dtype, shape: header.shape, data: header.fortranOrder ? rowMajor(data, header.shape) : data };
}

/** Writes version 1, or 2 when the header is too long for it; data starts at a multiple of 64. */
export function writeNpy({ dtype, shape, data }: NpyArray): Uint8Array {
  const count = shape.reduce((product, size) => product * size, 1);
  if (count !== data.length)
    reject({ who: "npy", needed: `${count} values for shape [${shape}]`, got: `${data.length}` });
  const description = Object.entries(DESCRIPTIONS).find(([, name]) => name === dtype)![0];
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  const text = `{'descr': '${description}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const prefix = text.length + 1 + 10 + ALIGNMENT > 65_535 ? 12 : 10;
  const dataStart = Math.ceil((prefix + text.length + 1) / ALIGNMENT) * ALIGNMENT;
  const out = new Uint8Array(dataStart + data.byteLength).fill(0x20, prefix, dataStart);
  out.set([...MAGIC, prefix === 10 ? 1 : 2, 0]);
  const view = new DataView(out.buffer);
  if (prefix === 10) view.setUint16(8, dataStart - prefix, true);
  else view.setUint32(8, dataStart - prefix, true);
  out.set(new TextEncoder().encode(text), prefix);
  out[dataStart - 1] = 0x0a;
  out.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), dataStart);
  return out;
}

function headerText(bytes: Uint8Array, source: string): { text: string; dataStart: number } {
  if (bytes.length < 12 || MAGIC.some((byte, i) => bytes[i] !== byte))
    reject({
      who: source,
      needed: "an .npy file (\\x93NUMPY at offset 0)",
      got: `${bytes.length} bytes that begin otherwise`,
    });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const version = bytes[6]!;
  if (version < 1 || version > 3) reject({ who: source, needed: "version 1, 2 or 3 at offset 6", got: `${version}` });
  const prefix = version === 1 ? 10 : 12;
  const dataStart = prefix + (version === 1 ? view.getUint16(8, true) : view.getUint32(8, true));
  if (dataStart > bytes.length)
    reject({
      who: source,
      needed: `a header that ends at offset ${dataStart}`,
      got: `${bytes.length} bytes`,
      remedy: "the file is cut short",
    });
  return { text: new TextDecoder().decode(bytes.subarray(prefix, dataStart)), dataStart };
}

/** The header is a Python dictionary of three known keys. Each expression runs over the text once. */
function parseHeader(text: string, source: string): Header {
  const description = /'descr'\s*:\s*'([^']*)'/.exec(text)?.[1];
  const order = /'fortran_order'\s*:\s*(True|False)/.exec(text)?.[1];
  const sizes = /'shape'\s*:\s*\(([\d\s,]*)\)/.exec(text)?.[1]?.split(",");
  if (sizes?.at(-1)?.trim() === "") sizes.pop();
  if (description === undefined || order === undefined || !sizes?.every((size) => /^\s*\d+\s*$/.test(size)))
    reject({ who: source, needed: "a header with descr, fortran_order and shape", got: text.trim().slice(0, 120) });
  const known = Object.entries(DESCRIPTIONS).find(([name]) => name === description);
  if (!known)
    reject({
      who: source,
      needed: `a type out of ${Object.keys(DESCRIPTIONS).join(", ")}`,
      got: description.slice(0, 40),
      remedy: "convert it with astype before saving",
    });
  return { dtype: known[1], fortranOrder: order === "True", shape: sizes.map(Number) };
}

/** Values whose first index runs fastest, put into the order in which the last one does. */
function rowMajor(data: NpyData, sizes: readonly number[]): NpyData {
  const out = data.slice();
  const shape = sizes.filter((size) => size !== 1); // so that an element costs two steps at most, however many axes there are
  let product = 1;
  const strides = shape.map((size) => {
    product *= size;
    return product / size;
  });
  const index = shape.map(() => 0);
  let from = 0;
  for (let to = 0; to < out.length; to++) {
    out[to] = data[from]!;
    from += advance(index, shape, strides);
  }
  return out;
}
