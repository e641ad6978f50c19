import { describe, expect, it } from "vitest";
import { averageCheckpoints } from "./averaging.ts";

describe("checkpoint averaging", () => {
  const checkpoint = (...data: number[]) => new Map([["w", { shape: [2], data: Float32Array.from(data) }]]);

  it("is the mean of each weight", () => {
    expect(averageCheckpoints([checkpoint(1, 2), checkpoint(3, 6)]).get("w")!.data).toEqual(Float32Array.of(2, 4));
  });

  it("refuses checkpoints of other models", () => {
    expect(() => averageCheckpoints([checkpoint(1, 2), checkpoint(1)])).toThrow(
      "averaging / w: expected 2 values in every checkpoint, got 1",
    );
    expect(() => averageCheckpoints([])).toThrow("averaging: expected a checkpoint, got none");
  });

  it("refuses a checkpoint with weights that the first has not", () => {
    const one = new Map([["w", { shape: [1], data: Float32Array.of(1) }]]);
    const more = new Map([...one, ["b", { shape: [1], data: Float32Array.of(1) }]] as const);
    expect(() => averageCheckpoints([one, more])).toThrow(
      "averaging / b: expected the same weights in every checkpoint",
    );
  });
});
