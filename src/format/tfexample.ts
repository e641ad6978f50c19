/** tf.Example messages (named lists of bytes, floats or integers) and the int32 tensors the original's batches are. */
import { rejectFile as reject } from "../base/errors.ts";
import { ProtoReader, ProtoWriter, WIRE_BYTES, WIRE_FIXED32 } from "./protobuf.ts";

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
/** Far above any batch; a damaged shape must not ask for gigabytes. */
const MAX_ELEMENTS = 2 ** 24;

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

/** Parses an example; `source` names it in errors. */
export function decodeExample(bytes: Uint8Array, source: string): Map<string, Feature> {
  const example = new Map<string, Feature>();
  forEachField(new ProtoReader(bytes, source), 1, (features) =>
    forEachField(features, 1, (entry) => readEntry(entry, example)),
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

function readEntry(reader: ProtoReader, example: Map<string, Feature>): void {
  let name = "";
  let feature: Feature = { kind: "bytes", values: [] };
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_BYTES) name = reader.string();
    else if (field === 2 && wire === WIRE_BYTES) feature = readFeature(reader.message());
    else reader.skip(wire);
  }
  example.set(name, feature);
}

function readFeature(reader: ProtoReader): Feature {
  let feature: Feature = { kind: "bytes", values: [] };
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (wire !== WIRE_BYTES || field > 3) reader.skip(wire);
    else if (field === 1) feature = { kind: "bytes", values: readList(reader.message(), (list) => [list.bytes()]) };
    else if (field === 2) feature = { kind: "float", values: readList(reader.message(), readFloats) };
    else feature = { kind: "int", values: readList(reader.message(), (list, wireOf) => list.integers(wireOf)) };
  }
  return feature;
}

/** All values of field 1, however they are chunked. */
function readList<T>(reader: ProtoReader, read: (reader: ProtoReader, wire: number) => T[]): T[] {
  const values: T[] = [];
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (field !== 1) reader.skip(wire);
    else for (const value of read(reader, wire)) values.push(value);
  }
  return values;
}

/** Floats, packed or not. */
function readFloats(reader: ProtoReader, wire: number): number[] {
  if (wire === WIRE_FIXED32) return [reader.float()];
  const inner = reader.message();
  const values: number[] = [];
  while (!inner.done) values.push(inner.float());
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

/** Parses a TensorProto, which must be int32 and hold as many values as its shape says. */
export function decodeIntTensor(bytes: Uint8Array, source: string): IntTensor {
  const reader = new ProtoReader(bytes, source);
  const shape: number[] = [];
  const listed: number[] = [];
  let type = 0;
  let content: Uint8Array | undefined;
  while (!reader.done) {
    const { field, wire } = reader.tag();
    if (field === 1) type = reader.integer();
    else if (field === 2) forEachField(reader.message(), 2, (dim) => shape.push(readSize(dim)));
    else if (field === 4) content = reader.bytes();
    else if (field === 7) for (const value of reader.integers(wire)) listed.push(value);
    else reader.skip(wire);
  }
  if (type !== INT32) reject({ who: source, needed: `a tensor of type int32 (${INT32})`, got: `type ${type}` });
  return { shape, data: intValues(shape, content, listed, source) };
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
  listed: readonly number[],
  source: string,
): Int32Array {
  const count = shape.reduce((product, size) => product * size, 1);
  const usable = shape.every((size) => size >= 0) && count <= MAX_ELEMENTS;
  if (!usable)
    reject({ who: source, needed: `a shape of at most ${MAX_ELEMENTS} values`, got: `[${shape.join(",")}]` });
  if (content?.length === count * 4) return new Int32Array(new Uint8Array(content).buffer);
  const held = content ? content.length / 4 : listed.length;
  // The format allows one value that stands for all.
  if (!content && listed.length === 1) return new Int32Array(count).fill(listed[0]!);
  if (content || held !== count) {
    reject({ who: source, needed: `${count} values for shape [${shape.join(",")}]`, got: `${held}` });
  }
  return Int32Array.from(listed);
}
