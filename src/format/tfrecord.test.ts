import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LayerwiseError } from "../base/errors.ts";
import { readRecords, writeRecords } from "./tfrecord.ts";

const read = (bytes: Uint8Array) => [...readRecords(bytes, "file1.tfrecords")];
const sample = () => writeRecords([Uint8Array.of(1, 2, 3), new Uint8Array(0), Uint8Array.of(4)]);

describe("TFRecord files", () => {
  it("give back the records that were written", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (records) => {
        expect(read(writeRecords(records)).map((data) => [...data])).toEqual(records.map((data) => [...data]));
      }),
    );
  });

  it("hold no record when empty", () => {
    expect(read(new Uint8Array(0))).toEqual([]);
  });

  it("name file, record and byte of damage in the data", () => {
    const bytes = sample();
    bytes[19 + 16 + 12]! ^= 1;
    expect(() => read(bytes)).toThrow(/^file1\.tfrecords: record 2 at byte 35: expected data with checksum/);
  });

  it("name damage in the length before believing it", () => {
    const bytes = sample();
    bytes[7] = 255;
    expect(() => read(bytes)).toThrow(/record 0 at byte 0: expected length with checksum/);
  });

  it("notice a file that is cut anywhere inside a record", () => {
    const bytes = sample();
    const ends = [0, 19, 35, 52];
    for (let cut = 0; cut < bytes.length; cut++) {
      if (ends.includes(cut)) continue;
      expect(() => read(bytes.subarray(0, cut))).toThrow(LayerwiseError);
    }
  });

  it("are refused with a user error when the bytes are random", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => {
        expect(() => read(bytes)).toThrow(LayerwiseError);
      }),
    );
  });

  it("show any single flipped bit", () => {
    fc.assert(
      fc.property(fc.nat(51), fc.nat(7), (byte, bit) => {
        const bytes = sample();
        bytes[byte]! ^= 1 << bit;
        expect(() => read(bytes)).toThrow(LayerwiseError);
      }),
    );
  });
});
