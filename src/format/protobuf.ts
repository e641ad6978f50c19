/** Protocol Buffers wire format: a writer that nests without copying twice, and a bounds-checked reader. */
import { LayerwiseError } from "../base/errors.ts";

export const WIRE_VARINT = 0;
export const WIRE_FIXED64 = 1;
export const WIRE_BYTES = 2;
export const WIRE_FIXED32 = 5;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Grows a byte buffer field by field; `finish()` gives the message. */
export class ProtoWriter {
  #bytes = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  #reserve(extra: number): void {
    const needed = this.#length + extra;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }

  #varint(value: number): void {
    if (value < 0) {
      this.#negativeVarint(value);
      return;
    }
    this.#reserve(10);
    while (value > 127) {
      this.#bytes[this.#length++] = (value % 128) | 128;
      value = Math.floor(value / 128);
    }
    this.#bytes[this.#length++] = value;
  }

  /** Negative int64: ten bytes of two's complement. */
  #negativeVarint(value: number): void {
    this.#reserve(10);
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 127n; rest >>= 7n) this.#bytes[this.#length++] = Number(rest & 127n) | 128;
    this.#bytes[this.#length++] = Number(rest);
  }

  #tag(field: number, wire: number): void {
    this.#varint(field * 8 + wire);
  }

  /** Makes room for a number of so many bytes; gives its place. */
  #fixed(field: number, wire: number, size: number): number {
    this.#tag(field, wire);
    this.#reserve(size);
    this.#length += size;
    return this.#length - size;
  }

  /** int32, int64, uint, enum or bool. */
  integer(field: number, value: number): this {
    this.#tag(field, WIRE_VARINT);
    this.#varint(value);
    return this;
  }

  float(field: number, value: number): this {
    const place = this.#fixed(field, WIRE_FIXED32, 4); // first: it may replace the view
    this.#view.setFloat32(place, value, true);
    return this;
  }

  double(field: number, value: number): this {
    const place = this.#fixed(field, WIRE_FIXED64, 8);
    this.#view.setFloat64(place, value, true);
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    this.#tag(field, WIRE_BYTES);
    this.#varint(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  string(field: number, value: string): this {
    return this.bytes(field, encoder.encode(value));
  }

  /** An embedded message. */
  message(field: number, build: (writer: ProtoWriter) => void): this {
    const inner = new ProtoWriter();
    build(inner);
    return this.bytes(field, inner.#bytes.subarray(0, inner.#length));
  }

  /** Packed repeated integers. */
  packed(field: number, values: ArrayLike<number>): this {
    const inner = new ProtoWriter();
    for (let i = 0; i < values.length; i++) inner.#varint(values[i]!);
    return this.bytes(field, inner.#bytes.subarray(0, inner.#length));
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }
}

/** Numbers as 32-bit integers, or as doubles where one does not fit. */
export function typedIntegers(values: readonly number[]): Int32Array | Float64Array {
  const small = Int32Array.from(values);
  return small.every((value, i) => value === values[i]) ? small : Float64Array.from(values);
}

/** Reads one message; every read is checked against its end, and a breach names `source` and the offset. */
export class ProtoReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #source: string;
  #offset = 0;

  constructor(bytes: Uint8Array, source: string) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#source = source;
  }

  get done(): boolean {
    return this.#offset >= this.#bytes.length;
  }

  #damaged(what: string): never {
    const place = `${what} at byte ${this.#offset} of ${this.#bytes.length}`;
    throw new LayerwiseError(`${this.#source}: damaged protobuf, ${place}`, 1, { code: "bad-file" });
  }

  #need(count: number): void {
    if (this.#offset + count > this.#bytes.length) this.#damaged(`${count} more bytes needed`);
  }

  /** The next field's number and wire type. */
  tag(): { field: number; wire: number } {
    const value = this.integer();
    const field = Math.floor(value / 8);
    if (field < 1 || field > 0x1fffffff) this.#damaged(`field number ${field}`);
    return { field, wire: value % 8 };
  }

  /** A varint as a signed 64-bit number (exact up to 2^53). */
  integer(): number {
    const start = this.#offset;
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 7; i++) {
      this.#need(1);
      const byte = this.#bytes[this.#offset++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
    this.#offset = start;
    return this.#wideInteger();
  }

  #wideInteger(): number {
    let value = 0n;
    for (let i = 0; i < 10; i++) {
      this.#need(1);
      const byte = this.#bytes[this.#offset++]!;
      value |= BigInt(byte & 127) << BigInt(7 * i);
      if (byte < 128) return Number(BigInt.asIntN(64, value));
    }
    return this.#damaged("varint of more than ten bytes");
  }

  float(): number {
    this.#need(4);
    this.#offset += 4;
    return this.#view.getFloat32(this.#offset - 4, true);
  }

  double(): number {
    this.#need(8);
    this.#offset += 8;
    return this.#view.getFloat64(this.#offset - 8, true);
  }

  /** A length-delimited field, as a view. */
  bytes(): Uint8Array {
    const length = this.integer();
    if (length < 0) this.#damaged(`length ${length}`);
    this.#need(length);
    this.#offset += length;
    return this.#bytes.subarray(this.#offset - length, this.#offset);
  }

  string(): string {
    return decoder.decode(this.bytes());
  }

  message(): ProtoReader {
    return new ProtoReader(this.bytes(), this.#source);
  }

  /** A repeated integer field, packed or not: as 32-bit integers if all of them fit. */
  integers(wire: number): Int32Array | Float64Array {
    const inner = wire === WIRE_BYTES ? this.message() : undefined;
    if (!inner) return typedIntegers([this.integer()]);
    const last = inner.#bytes.length - 1;
    if (last >= 0 && inner.#bytes[last]! > 127) this.#damaged("a varint that does not end");
    let count = 0;
    for (let i = 0; i <= last; i++) if (inner.#bytes[i]! < 128) count++;
    return inner.#fill(new Int32Array(count)) ?? inner.#fill(new Float64Array(count))!;
  }

  /** Undefined where a number does not fit. */
  #fill<T extends Int32Array | Float64Array>(values: T): T | undefined {
    this.#offset = 0;
    for (let i = 0; i < values.length; i++) {
      const value = this.integer();
      values[i] = value;
      if (values[i] !== value) return undefined;
    }
    return values;
  }

  /** Skips a field of the given wire type. */
  skip(wire: number): void {
    if (wire === WIRE_VARINT) this.integer();
    else if (wire === WIRE_BYTES) this.bytes();
    else if (wire === WIRE_FIXED64) this.double();
    else if (wire === WIRE_FIXED32) this.float();
    else this.#damaged(`wire type ${wire}`);
  }
}
