/** tf.Example messages (named lists of bytes, floats or integers) and the int32 tensors the original's batches are. */
import { rejectFile as reject } from "../base/errors.ts";
import { Allowance, type ReadLimits } from "./limits.ts";
import { ProtoReader, ProtoWriter, typedIntegers, WIRE_BYTES, WIRE_FIXED32 } from "./protobuf.ts";

/** One feature: exactly one of the three lists. */
export type Feature =
  | { kind: "bytes"; values: Uint8Array[] }
  | { kind: "float"; values: number[] }
  | { kind: "int"; values: ArrayLike<number> };

export type Example = ReadonlyMap<string, Feature>;

/** An int32 tensor. */
export interface IntTensor {
  shape: number[];
  data: Int32Array;
}

const FIELD_OF_KIND = { bytes: 1, float: 2, int: 3 } as const;
const INT32 = 3;
/** Bytes of memory that a feature or a view of bytes takes besides what it holds. */
const VALUE_BYTES = 160;

/** Serialises an example; features in the map's order. */
export function encodeExample(example: Example): Uint8Array<ArrayBuffer> {
  const writer = new ProtoWriter();
  writer.message(1, (features) => {
    for (const [name, feature] of example) {
      features.message(1, (entry) => entry.string(1, name).message(2, (body) => writeFeature(body, feature)));
    }
  });
  return writer.finish();
}

function writeFeature(writer: ProtoWriter, feature: Feature): void {
  writer.message(FIELD_OF_KIND[feature.kind], (list) => {
    if (feature.kind === "bytes") for (const value of feature.values) list.bytes(1, value);
    else if (feature.kind === "int") list.packed(1, feature.values);
    else list.bytes(1, new Uint8Array(Float32Array.from(feature.values).buffer));
  });
}

/** Parses an example; `source` names it in errors. Integers come as Int32Array, or as Float64Array where one needs more bits. */
export function decodeExample(bytes: Uint8Array, source: string, limits: ReadLimits = {}): Map<string, Feature> {
  const example = new Map<string, Feature>();
  const allowance = new Allowance(source, bytes.length, limits);
  forEachField(new ProtoReader(bytes, source), 1, (features) =>
    forEachField(features, 1, (entry) => readEntry(entry, example, allowance)),
  );
  return example;
}

/** Calls `visit` with every embedded message in `field`, skipping all else. */
function forEachField(reader: ProtoReader, field: number, visit: (inner: ProtoReader) => void): void {
  while (!reader.done) {
    const tag = reader.tag();
    if (tag.field === field && tag.wire === WIRE_BYTES) visit(reader.message());
    else reader.skip(tag.wire);
  }
}

function readEntry(reader: ProtoReader, example: Map<string, Feature>, allowance: Allowance): void {
  let name = "";
  let feature: Feature = { kind: "bytes", values: [] };
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_BYTES) name = reader.string();
    else if (field === 2 && wire === WIRE_BYTES) feature = readFeature(reader.message(), allowance);
    else reader.skip(wire);
  }
  allowance.take(VALUE_BYTES, "its features");
  example.set(name, feature);
}

function readFeature(reader: ProtoReader, allowance: Allowance): Feature {
  let feature: Feature = { kind: "bytes", values: [] };
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (wire !== WIRE_BYTES || field > 3) reader.skip(wire);
    else if (field === 1) feature = { kind: "bytes", values: readBytes(reader.message(), allowance) };
    else if (field === 2) feature = { kind: "float", values: readFloats(reader.message()) };
    else feature = { kind: "int", values: readIntegers(reader.message()) };
  }
  return feature;
}

/** Calls `visit` at each value or chunk of values in field 1. */
function forEachChunk(reader: ProtoReader, visit: (wire: number) => void): void {
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (field === 1) visit(wire);
    else reader.skip(wire);
  }
}

function readBytes(reader: ProtoReader, allowance: Allowance): Uint8Array[] {
  const values: Uint8Array[] = [];
  forEachChunk(reader, () => {
    allowance.take(VALUE_BYTES, "its lists of bytes");
    values.push(reader.bytes());
  });
  return values;
}

/** Integers in chunks: almost always one that is packed; any others are laid end to end. */
class Integers {
  #first: Int32Array | Float64Array | undefined;
  #all: number[] | undefined;

  add(chunk: Int32Array | Float64Array): void {
    if (this.#first && !this.#all) this.#all = [...this.#first];
    if (this.#all) for (const value of chunk) this.#all.push(value);
    else this.#first = chunk;
  }

  get values(): Int32Array | Float64Array {
    return this.#all ? typedIntegers(this.#all) : (this.#first ?? new Int32Array(0));
  }
}

function readIntegers(reader: ProtoReader): Int32Array | Float64Array {
  const found = new Integers();
  forEachChunk(reader, (wire) => found.add(reader.integers(wire)));
  return found.values;
}

/** Floats, packed or not. */
function readFloats(reader: ProtoReader): number[] {
  const values: number[] = [];
  forEachChunk(reader, (wire) => {
    const inner = wire === WIRE_FIXED32 ? undefined : reader.message();
    if (!inner) values.push(reader.float());
    while (inner && !inner.done) values.push(inner.float());
  });
  return values;
}

/** Serialises a TensorProto of type int32 with its values as raw little-endian bytes. */
export function encodeIntTensor({ shape, data }: IntTensor): Uint8Array<ArrayBuffer> {
  return new ProtoWriter()
    .integer(1, INT32)
    .message(2, (dims) => {
      for (const size of shape) dims.message(2, (dim) => dim.integer(1, size));
    })
    .bytes(4, new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
    .finish();
}

/** Parses a TensorProto, which must be int32 and hold as many values as its shape says, or one that stands for all. */
export function decodeIntTensor(bytes: Uint8Array, source: string, limits: ReadLimits = {}): IntTensor {
  const reader = new ProtoReader(bytes, source);
  const shape: number[] = [];
  const listed = new Integers();
  let type = 0;
  let content: Uint8Array | undefined;
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (field === 1) type = reader.integer();
    else if (field === 2) forEachField(reader.message(), 2, (dim) => shape.push(readSize(dim)));
    else if (field === 4) content = reader.bytes();
    else if (field === 7) listed.add(reader.integers(wire));
    else reader.skip(wire);
  }
  if (type !== INT32) reject({ who: source, needed: `a tensor of type int32 (${INT32})`, got: `type ${type}` });
  return { shape, data: intValues(shape, content, listed.values, new Allowance(source, bytes.length, limits), source) };
}

function readSize(reader: ProtoReader): number {
  let size = 0;
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (field === 1) size = reader.integer();
    else reader.skip(wire);
  }
  return size;
}

function intValues(
  shape: readonly number[],
  content: Uint8Array | undefined,
  listed: Int32Array | Float64Array,
  allowance: Allowance,
  source: string,
): Int32Array {
  const count = shape.reduce((product, size) => product * size, 1);
  if (!shape.every((size) => size >= 0) || !Number.isSafeInteger(count))
    reject({ who: source, needed: "a shape of counts", got: `[${shape.slice(0, 32)}]` });
  if (content?.length === count * 4) return new Int32Array(new Uint8Array(content).buffer);
  const held = content ? content.length / 4 : listed.length;
  if (content || (held !== count && held !== 1))
    reject({ who: source, needed: `${count} values for shape [${shape.slice(0, 32)}]`, got: `${held}` });
  if (!(listed instanceof Int32Array)) reject({ who: source, needed: "integers of 32 bits", got: "larger ones" });
  if (held === count) return listed;
  allowance.take(4 * count, `a tensor of shape [${shape.slice(0, 32)}]`);
  return new Int32Array(count).fill(listed[0]!);
}
