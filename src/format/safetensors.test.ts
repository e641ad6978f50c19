import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LayerwiseError } from "../base/errors.ts";
import { int32Of, readSafetensors, safetensorsBlocks, type TensorRecord, writeSafetensors } from "./safetensors.ts";

/** A file with this header text and `data` zero bytes. */
function fileOf(header: string, data = 0): Uint8Array {
  const json = new TextEncoder().encode(header);
  const bytes = new Uint8Array(8 + json.length + data);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
  bytes.set(json, 8);
  return bytes;
}

function read(header: string, data = 0) {
  return readSafetensors(fileOf(header, data), "a.safetensors");
}

function record(values: number[], kind: number): TensorRecord {
  const shape = [1, values.length];
  const kinds: TensorRecord[] = [
    { dtype: "F64", shape, data: Float64Array.from(values) },
    { dtype: "F32", shape, data: Float32Array.from(values) },
    { dtype: "I64", shape, data: BigInt64Array.from(values, (x) => BigInt(x)) },
    { dtype: "I32", shape, data: Int32Array.from(values) },
    { dtype: "U8", shape, data: Uint8Array.from(values) },
    { dtype: "BOOL", shape, data: Uint8Array.from(values, (x) => x & 1) },
  ];
  return kinds[kind]!;
}

const tensors = fc
  .uniqueArray(fc.tuple(fc.string({ unit: "binary" }), fc.array(fc.integer()), fc.nat(5)), {
    selector: ([name]) => name,
  })
  .map((list) => new Map(list.map(([name, values, kind]) => [name, record(values, kind)])));

describe("safetensors", () => {
  it("reads back what it wrote, whatever the alignment of the bytes", () => {
    fc.assert(
      fc.property(tensors, fc.dictionary(fc.string(), fc.string()), fc.nat(8), (written, notes, shift) => {
        const bytes = writeSafetensors(written, notes);
        const moved = new Uint8Array(bytes.length + shift).subarray(shift);
        moved.set(bytes);
        const content = readSafetensors(moved, "test");
        expect({ ...content.metadata }).toEqual({ ...notes });
        expect(content.tensors.size).toBe(written.size);
        for (const [name, { dtype, shape, data }] of written)
          expect(content.tensors.get(name)).toEqual({ dtype, shape, data, storedAs: dtype });
      }),
    );
  });

  it("gives the same bytes for the same tensors in any order", () => {
    fc.assert(
      fc.property(tensors, (written) => {
        expect(writeSafetensors(new Map([...written].reverse()))).toEqual(writeSafetensors(written));
      }),
    );
  });

  it("starts the data at a multiple of 64 bytes", () => {
    fc.assert(
      fc.property(tensors, (written) => {
        const bytes = writeSafetensors(written);
        expect((8 + Number(new DataView(bytes.buffer).getBigUint64(0, true))) % 64).toBe(0);
      }),
    );
  });

  it("gives views of aligned bytes, without a copy", () => {
    const bytes = writeSafetensors(new Map([["w", record([1, 2], 1)]]));
    expect(readSafetensors(bytes, "test").tensors.get("w")!.data.buffer).toBe(bytes.buffer);
  });

  it("gives plain arrays out of a Node buffer", () => {
    const bytes = Buffer.from(writeSafetensors(new Map([["mask", record([0, 1], 4)]])));
    expect(readSafetensors(bytes, "test").tensors.get("mask")!.data.constructor).toBe(Uint8Array);
  });

  it("widens half and bfloat16 to float32", () => {
    const header = `{"h":{"dtype":"F16","shape":[6],"data_offsets":[0,12]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]}}`;
    const bytes = fileOf(header, 16);
    const halves = [0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x8000, 0x3f80, 0xc040];
    const view = new DataView(bytes.buffer, bytes.length - 16);
    halves.forEach((half, i) => {
      view.setUint16(2 * i, half, true);
    });
    const content = readSafetensors(bytes, "test").tensors;
    expect([...content.get("h")!.data]).toEqual([1, -2, 2 ** -24, 65504, Number.POSITIVE_INFINITY, -0]);
    expect(content.get("b")).toEqual({ dtype: "F32", storedAs: "BF16", shape: [2], data: Float32Array.of(1, -3) });
  });

  it("refuses damaged bytes with an error for the user, never otherwise", () => {
    fc.assert(
      fc.property(
        tensors,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1 }),
        fc.nat(),
        (written, edits, cut) => {
          const bytes = writeSafetensors(written);
          for (const [at, value] of edits) bytes[at % Math.min(bytes.length, 400)] = value;
          try {
            readSafetensors(bytes.subarray(0, bytes.length - (cut % 64)), "test");
          } catch (error) {
            expect(error).toBeInstanceOf(LayerwiseError);
          }
        },
      ),
    );
  });
});

describe("a damaged safetensors file", () => {
  const entry = (begin: number, end: number) => `{"dtype":"F32","shape":[2],"data_offsets":[${begin},${end}]}`;

  it("is refused when shorter than its prefix", () => {
    expect(() => readSafetensors(new Uint8Array(5), "a.safetensors")).toThrow(
      "a.safetensors: expected 8 bytes of header length, got 5 bytes",
    );
  });

  it("is refused when the header length exceeds the file", () => {
    const bytes = fileOf("{}");
    bytes[7] = 0x7f;
    expect(() => readSafetensors(bytes, "a.safetensors")).toThrow(
      /a\.safetensors: expected a header of at most 2 bytes at offset 0, got header length 9\d+/,
    );
  });

  it("is refused when the header is no JSON object", () => {
    expect(() => read("{no")).toThrow("a.safetensors: expected a JSON header at offset 8, got");
    expect(() => read("[1]")).toThrow("a.safetensors: expected a JSON object at offset 8, got [1]");
  });

  it("is refused when a name comes twice, even spelt with escapes", () => {
    expect(() => read(`{"w":${entry(0, 8)},"\\u0077":${entry(8, 16)}}`, 16)).toThrow(
      'a.safetensors: expected each name once in the header, got "w" again at character 54 of it',
    );
  });

  it("is refused when shape and bytes disagree", () => {
    expect(() => read(`{"w":${entry(0, 4)}}`, 4)).toThrow(
      "a.safetensors / w: expected 8 bytes for F32 [2], got data_offsets [0, 4], 4 bytes",
    );
  });

  it("is refused when tensors overlap or leave a hole", () => {
    expect(() => read(`{"v":${entry(0, 8)},"w":${entry(4, 12)}}`, 12)).toThrow(
      "a.safetensors / w: expected data at offset 8, got offset 4, overlapping v",
    );
    expect(() => read(`{"v":${entry(0, 8)},"w":${entry(12, 20)}}`, 20)).toThrow("offset 12, leaving a hole after v");
  });

  it("is refused when a tensor lies out of range, or bytes are left over", () => {
    expect(() => read(`{"w":${entry(0, 8)}}`, 7)).toThrow(
      "a.safetensors / w: expected data within 7 bytes, got data_offsets [0, 8]",
    );
    expect(() => read(`{"w":${entry(0, 8)}}`, 9)).toThrow(
      "a.safetensors: expected the data to end at offset 8, got 9 bytes",
    );
  });

  it("is refused for an unknown type, a bad shape, or metadata other than strings", () => {
    expect(() => read(`{"w":{"dtype":"F8","shape":[],"data_offsets":[0,1]}}`, 1)).toThrow(
      'a dtype out of F64, F32, F16, BF16, I64, I32, U8, BOOL, got "F8"',
    );
    expect(() => read(`{"w":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`, 1)).toThrow(
      "a shape of counts, got [-1]",
    );
    expect(() => read(`{"__metadata__":{"epoch":3}}`)).toThrow(
      'a.safetensors / __metadata__: expected a string for "epoch", got 3',
    );
  });
});

describe("writing safetensors", () => {
  it("refuses a tensor whose values do not fill its shape, or are of another type", () => {
    const write = (tensor: TensorRecord) => () => writeSafetensors(new Map([["w", tensor]]));
    expect(write({ dtype: "F32", shape: [3], data: new Float32Array(2) })).toThrow(
      "safetensors / w: expected 3 values for shape [3], got 2",
    );
    expect(write({ dtype: "F32", shape: [2], data: new Int32Array(2) })).toThrow(
      "safetensors / w: expected Float32Array for F32, got Int32Array",
    );
  });
});

describe("integers out of a file", () => {
  it("come as Int32Array or numbers", () => {
    expect(int32Of(BigInt64Array.of(-1n, 7n), "ids")).toEqual(Int32Array.of(-1, 7));
    expect(int32Of(Uint8Array.of(3), "mask")).toEqual(Int32Array.of(3));
  });

  it("are refused when they do not fit", () => {
    expect(() => int32Of(BigInt64Array.of(0n, 2n ** 31n), "ids")).toThrow(
      "ids: expected integers of 32 bits, got 2147483648 at index 1",
    );
    expect(() => int32Of(Float32Array.of(0.5), "ids")).toThrow("ids: expected integers, got 0.5 at index 0");
  });
});

it("a file in blocks is the same file, however small they are", () => {
  const data = Float32Array.from({ length: 1000 }, (_, i) => i / 7);
  const tensors = new Map([["a", { dtype: "F32" as const, shape: [10, 100], data }]]);
  const blocks = [...safetensorsBlocks(tensors, { step: "1" }, 64)];
  expect(Math.max(...blocks.slice(2).map(({ length }) => length))).toBe(64);
  expect(Buffer.concat(blocks)).toEqual(Buffer.from(writeSafetensors(tensors, { step: "1" })));
});
