import { describe, expect, it } from "vitest";
import { difference, runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { gradients, input, multiply, sum } from "../graph/index.ts";
import { clippedLog, gumbelSoftmax, straightThrough } from "./gumbel.ts";

const oracle = referenceEngine({ precision: "double" });
const logits = input("logits", [3]);
const noise = input("noise", [3]);
const tau = input("tau", []);
const soft = gumbelSoftmax(logits, noise, tau);
const feeds = {
  logits: Float64Array.of(0.2, -1, 0.5),
  noise: Float64Array.of(0.4, 2.2, -0.3),
  tau: Float64Array.of(0.5),
};

describe("a Gumbel draw", () => {
  it("is the softmax of noisy logits over the temperature", async () => {
    const found = await runOnce(oracle, { soft }, feeds);
    const powers = [1.2, 2.4, 0.4].map(Math.exp);
    const total = powers.reduce((a, b) => a + b);
    expect(
      difference(
        found.soft!.data,
        powers.map((power) => power / total),
      ),
    ).toBeLessThan(1e-12);
  });

  it("straight through is one-hot, with the gradient of the soft draw", async () => {
    const cotangent = input("cotangent", [3]);
    const slope = (sample: typeof soft) => gradients(sum(multiply(sample, cotangent)), [logits])[0]!;
    const hard = straightThrough(soft);
    const outputs = { hard, a: slope(soft), b: slope(hard as typeof soft) };
    const found = await runOnce(oracle, outputs, { ...feeds, cotangent: Float64Array.of(1, -2, 0.5) });
    expect(difference(found.hard!.data, [0, 1, 0])).toBeLessThan(1e-15);
    expect(found.b!.data).toEqual(found.a!.data);
  });

  it("of clipped weights passes gradients at zero and above, none below", async () => {
    const weights = input("weights", [3]);
    const slope = gradients(sum(clippedLog(weights)), [weights])[0]!;
    const found = await runOnce(oracle, { slope }, { weights: Float64Array.of(-0.1, 0, 1) });
    expect(difference(found.slope!.data, [0, 1e5, 1 / 1.00001])).toBeLessThan(1e-6);
  });
});
