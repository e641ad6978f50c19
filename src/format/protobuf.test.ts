import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LayerwiseError } from "../base/errors.ts";
import { ProtoReader, ProtoWriter } from "./protobuf.ts";

describe("protobuf wire format", () => {
  it("keeps every number where the buffer grows", () => {
    const writer = new ProtoWriter();
    const values = Array.from({ length: 500 }, (_, i) => i + 0.5);
    for (const value of values) writer.double(1, value).float(2, value);
    const reader = new ProtoReader(writer.finish(), "test");
    const found: number[] = [];
    while (!reader.done) found.push(reader.tag().field === 1 ? reader.double() : reader.float());
    expect(found).toEqual(values.flatMap((value) => [value, value]));
  });

  it("reads back what it wrote", () => {
    const integer = fc.maxSafeInteger();
    fc.assert(
      fc.property(integer, fc.string(), fc.float({ noNaN: true }), fc.array(integer), (n, text, x, list) => {
        const bytes = new ProtoWriter()
          .integer(1, n)
          .string(2, text)
          .float(3, x)
          .packed(4, list)
          .message(5, (inner) => inner.double(1, n))
          .finish();
        const reader = new ProtoReader(bytes, "test");
        const next = () => reader.tag();
        expect([next().field, reader.integer()]).toEqual([1, n]);
        expect([next().field, reader.string()]).toEqual([2, text.toWellFormed()]);
        expect([next().field, reader.float()]).toEqual([3, x]);
        expect([...reader.integers(next().wire)]).toEqual(list);
        next();
        const inner = reader.message();
        inner.tag();
        expect(inner.double()).toBe(n);
        expect(reader.done).toBe(true);
      }),
    );
  });

  it("keeps a byte order mark at the start of a string", () => {
    const reader = new ProtoReader(new ProtoWriter().string(1, "\ufeffa").finish(), "test");
    reader.tag();
    expect(reader.string()).toBe("\ufeffa");
  });

  it("answers random bytes with a LayerwiseError or an end, never another failure", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const reader = new ProtoReader(bytes, "noise");
        try {
          while (!reader.done) reader.skip(reader.tag().wire);
        } catch (error) {
          expect(error).toBeInstanceOf(LayerwiseError);
        }
      }),
    );
  });
});
