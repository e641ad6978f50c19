import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LayerwiseError } from "../base/errors.ts";
import { ProtoWriter } from "./protobuf.ts";
import { decodeExample, decodeIntTensor, encodeExample, encodeIntTensor, type Feature } from "./tfexample.ts";

/** Either a value or a user error, never another one. */
function survives(parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    expect(error).toBeInstanceOf(LayerwiseError);
  }
}

describe("tf.Example", () => {
  it("comes back as it was written", () => {
    const example = new Map<string, Feature>([
      ["input_ids", { kind: "int", values: Int32Array.of(2, 17, 0, -1, 300_000) }],
      ["wide", { kind: "int", values: Float64Array.of(2 ** 40, -1) }],
      ["masked_lm_weights", { kind: "float", values: [1, 0.5, 0] }],
      ["batch", { kind: "bytes", values: [Uint8Array.of(1, 2)] }],
    ]);
    expect(decodeExample(encodeExample(example), "x")).toEqual(example);
  });

  it("reads integers that are not packed", () => {
    const body = new ProtoWriter().message(1, (features) =>
      features.message(1, (entry) =>
        entry.string(1, "n").message(2, (feature) => feature.message(3, (list) => list.integer(1, 5).integer(1, 6))),
      ),
    );
    expect(decodeExample(body.finish(), "x").get("n")).toEqual({ kind: "int", values: Int32Array.of(5, 6) });
  });

  it("answers random bytes with an example or a user error", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => survives(() => decodeExample(bytes, "x"))));
  });
});

describe("int32 tensors", () => {
  it("come back as they were written", () => {
    const tensor = { shape: [2, 3], data: Int32Array.of(1, -2, 3, 4, 5, 2_000_000_000) };
    expect(decodeIntTensor(encodeIntTensor(tensor), "x")).toEqual(tensor);
  });

  it("are read out of a Node buffer at any offset", () => {
    const bytes = encodeIntTensor({ shape: [2], data: Int32Array.of(7, 8) });
    const shifted = Buffer.concat([Buffer.of(0), bytes]).subarray(1);
    expect(decodeIntTensor(shifted, "x").data).toEqual(Int32Array.of(7, 8));
  });

  it("spread a single listed value over the shape", () => {
    const bytes = new ProtoWriter()
      .integer(1, 3)
      .message(2, (shape) => shape.message(2, (dim) => dim.integer(1, 3)))
      .packed(7, [9])
      .finish();
    expect(decodeIntTensor(bytes, "x").data).toEqual(Int32Array.of(9, 9, 9));
  });

  it("refuse a shape that the values do not fill", () => {
    const bytes = encodeIntTensor({ shape: [2, 3], data: new Int32Array(5) });
    expect(() => decodeIntTensor(bytes, "file1 record 3")).toThrow(
      "file1 record 3: expected 6 values for shape [2,3], got 5",
    );
  });

  it("refuse other types and absurd sizes", () => {
    expect(() => decodeIntTensor(new ProtoWriter().integer(1, 1).finish(), "x")).toThrow("type int32 (3), got type 1");
    const huge = encodeIntTensor({ shape: [2 ** 20, 2 ** 20], data: new Int32Array(0) });
    expect(() => decodeIntTensor(huge, "x")).toThrow(
      "expected 1099511627776 values for shape [1048576,1048576], got 0",
    );
    const filled = new ProtoWriter()
      .integer(1, 3)
      .message(2, (dims) => dims.message(2, (dim) => dim.integer(1, 2 ** 24)));
    expect(() => decodeIntTensor(filled.packed(7, [9]).finish(), "x")).toThrow(/x: expected content .* raise maxBytes/);
  });

  it("answer random bytes with a tensor or a user error", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => survives(() => decodeIntTensor(bytes, "x"))));
  });
});
