import { describe, expect, it } from "vitest";
import { LoneTensor } from "./lone.ts";
import { sgd } from "./optimiser.ts";

describe("a lone tensor", () => {
  it("is updated by the gradients it is given", async () => {
    const tensor = new LoneTensor(Float32Array.of(1, 2), [2], sgd());
    await tensor.update(Float32Array.of(1, 1), 0.5);
    expect([...tensor.value]).toEqual([0.5, 1.5]);
  });

  it("refuses values of another length, and rates that are none", async () => {
    expect(() => new LoneTensor(new Float32Array(3), [2, 2], sgd())).toThrow(
      "lone tensor / start: expected 4 values for [2,2], got 3",
    );
    const tensor = new LoneTensor(new Float32Array(2), [2], sgd());
    await expect(tensor.update(new Float32Array(1), 0.5)).rejects.toThrow("lone tensor / gradient: expected 2 values");
    await expect(tensor.update(new Float32Array(2), -1)).rejects.toThrow(
      "learning rate: expected a number from 0, got -1",
    );
  });
});
