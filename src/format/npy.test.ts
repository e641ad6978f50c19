import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LayerwiseError } from "../base/errors.ts";
import { type NpyArray, readNpy, writeNpy } from "./npy.ts";

const shapes = fc.array(fc.nat(4), { maxLength: 4 });

function arrayOf(shape: number[], kind: number): NpyArray {
  const length = shape.reduce((product, size) => product * size, 1);
  const values = Array.from({ length }, (_, i) => i * 7 - 3);
  const kinds: NpyArray[] = [
    { dtype: "F32", shape, data: Float32Array.from(values) },
    { dtype: "F64", shape, data: Float64Array.from(values) },
    { dtype: "I32", shape, data: Int32Array.from(values) },
    { dtype: "I64", shape, data: BigInt64Array.from(values, BigInt) },
  ];
  return kinds[kind]!;
}

/** A file with this header and data. */
function fileOf(version: number, header: string, data: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(header);
  const length = version === 1 ? [text.length & 255, text.length >> 8] : [text.length & 255, text.length >> 8, 0, 0];
  return Uint8Array.from([0x93, ...new TextEncoder().encode("NUMPY"), version, 0, ...length, ...text, ...data]);
}

describe("npy", () => {
  it("reads back what it wrote, scalars and empty arrays included", () => {
    fc.assert(
      fc.property(shapes, fc.nat(3), (shape, kind) => {
        const array = arrayOf(shape, kind);
        expect(readNpy(writeNpy(array), "test")).toEqual(array);
      }),
    );
  });

  it("reads a Node buffer, whose slice is no copy", () => {
    const array = arrayOf([2, 3], 1);
    expect(readNpy(Buffer.from(writeNpy(array)), "test")).toEqual(array);
  });

  it("writes what NumPy writes", () => {
    const bytes = writeNpy({ dtype: "F32", shape: [3], data: Float32Array.of(1, 2, 3) });
    const text = new TextDecoder("latin1").decode(bytes.subarray(0, 128));
    expect(text).toBe(`\x93NUMPY\x01\0v\0${"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }".padEnd(117)}\n`);
    expect(bytes.length).toBe(140);
  });

  it("reads version 2", () => {
    const data = new Uint8Array(Int32Array.of(5, -6).buffer);
    const bytes = fileOf(2, "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n", data);
    expect(readNpy(bytes, "test")).toEqual({ dtype: "I32", shape: [2], data: Int32Array.of(5, -6) });
  });

  it("writes version 2 when the shape is too long for version 1", () => {
    const array = arrayOf(Array(30_000).fill(1), 0);
    const bytes = writeNpy(array);
    expect(bytes[6]).toBe(2);
    expect(readNpy(bytes, "test")).toEqual(array);
  });

  it("transposes Fortran order", () => {
    const columns = Float64Array.of(0, 10, 1, 11, 2, 12); // [[0, 1, 2], [10, 11, 12]], column after column
    const bytes = fileOf(
      1,
      "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }\n",
      new Uint8Array(columns.buffer),
    );
    expect(readNpy(bytes, "test").data).toEqual(Float64Array.of(0, 1, 2, 10, 11, 12));
  });

  it("transposes three axes", () => {
    const [a, b, c] = [2, 3, 4];
    const fortran = new Int32Array(a * b * c);
    for (let i = 0; i < a; i++)
      for (let j = 0; j < b; j++) for (let k = 0; k < c; k++) fortran[i + a * (j + b * k)] = (i * b + j) * c + k;
    const bytes = fileOf(
      1,
      "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3, 4), }\n",
      new Uint8Array(fortran.buffer),
    );
    expect([...readNpy(bytes, "test").data]).toEqual(Array.from({ length: 24 }, (_, i) => i));
  });

  it("refuses damaged bytes with an error for the user, never otherwise", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(140), fc.nat(255))), fc.nat(140), (edits, cut) => {
        const bytes = writeNpy(arrayOf([3], 0));
        for (const [at, value] of edits) bytes[at] = value;
        try {
          readNpy(bytes.subarray(0, bytes.length - cut), "test");
        } catch (error) {
          expect(error).toBeInstanceOf(LayerwiseError);
        }
      }),
    );
  });

  it("reads headers in linear time, damaged and with many axes", () => {
    const started = performance.now();
    const spaces = `{'descr': '<f4', 'fortran_order': False, 'shape': (${" 1 ".repeat(20_000)}`;
    expect(() => readNpy(fileOf(1, spaces, new Uint8Array(4)), "a.npy")).toThrow("a header with descr");
    const columns = `{'descr': '<f4', 'fortran_order': True, 'shape': (10,${"1,".repeat(30_000)}1000), }`;
    expect(readNpy(fileOf(1, columns, new Uint8Array(40_000)), "a.npy").data).toHaveLength(10_000);
    expect(performance.now() - started).toBeLessThan(1000); // 0.02 s alone; over a minute before
  });

  it("says what is wrong with a file", () => {
    const read = (header: string, size: number) => () => readNpy(fileOf(1, header, new Uint8Array(size)), "a.npy");
    expect(() => readNpy(new Uint8Array(20), "a.npy")).toThrow(
      "a.npy: expected an .npy file (\\x93NUMPY at offset 0), got 20 bytes",
    );
    expect(read("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4)).toThrow(
      "a.npy: expected a type out of <f4, <f8, <i4, <i8, got >f4; convert it with astype before saving",
    );
    expect(read("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 4)).toThrow(
      "a.npy: expected 8 bytes of F32 [2] at offset 67, got 4; the file is cut short",
    );
    expect(read("{'descr': '<f4'}", 4)).toThrow(
      "a.npy: expected a header with descr, fortran_order and shape, got {'descr': '<f4'}",
    );
    expect(() => writeNpy({ dtype: "F32", shape: [2], data: new Float32Array(3) })).toThrow(
      "npy: expected 2 values for shape [2], got 3",
    );
  });
});
