import { describe, expect, it } from "vitest";
import { accuracy, arrayBatches } from "./arrays.ts";

describe("arrayBatches", () => {
  const arrays = { x: Float32Array.from({ length: 14 }, (_, i) => i), y: Int32Array.from({ length: 7 }, (_, i) => i) };

  it("cuts rows of every array, in order, and leaves out what fills no batch", () => {
    const batches = arrayBatches(arrays, { rows: 7, batch: 3 });
    expect([batches.count, batches.rows]).toEqual([2, 3]);
    expect(batches.at(1)).toEqual({ x: Float32Array.of(6, 7, 8, 9, 10, 11), y: Int32Array.of(3, 4, 5) });
  });

  it("refuses arrays that hold other numbers of rows, and more rows to a batch than there are", () => {
    expect(() => arrayBatches(arrays, { rows: 4, batch: 2 })).toThrow("arrayBatches / x: expected a multiple of 4");
    expect(() => arrayBatches(arrays, { rows: 7, batch: 8 })).toThrow("arrayBatches / count");
  });
});

describe("accuracy", () => {
  const metric = accuracy("logits", "label");
  const logits = { data: Float32Array.of(0, 2, 1, 5, 4, 3, 0, 0, 1), shape: [3, 3] };

  it("counts rows whose label scores highest", () => {
    expect(metric({ logits }, { label: [1, 0, 1] })).toBeCloseTo(2 / 3);
  });

  it("names the outputs there are where it is asked for another", () => {
    expect(() => metric({ scores: logits }, { label: [1, 0, 1] })).toThrow("expected one of scores, got logits");
  });
});
