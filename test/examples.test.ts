import { describe, expect, it } from "vitest";
import { example as gradients } from "../examples/gradients.ts";
import { example as train } from "../examples/train.ts";

describe("examples", () => {
  it("gradients.ts prints the gradient's graph, and the sum of a softmax does not change", async () => {
    const { printed, slope } = await gradients();
    expect(printed).toContain("softmax");
    for (const each of slope) expect(Math.abs(each)).toBeLessThan(1e-5);
  });

  it("train.ts learns", async () => {
    const { first, last } = await train(60);
    expect(first).toBeGreaterThan(6);
    expect(last).toBeLessThan(first - 0.7);
  });
});
