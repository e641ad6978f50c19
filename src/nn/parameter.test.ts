import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { initialise, kaimingUniform, newParameter, normal, ones, uniform, xavierUniform, zeros } from "./parameter.ts";

const SHAPE = [100, 400];
const COUNT = 40_000;

/** Mean, standard deviation and largest magnitude of a draw. */
function moments(values: Float32Array): { mean: number; deviation: number; largest: number } {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(variance), largest: values.reduce((a, b) => Math.max(a, Math.abs(b)), 0) };
}

describe("initial distributions", () => {
  it.each([
    ["normal", normal(0.02), 0.02, Number.POSITIVE_INFINITY],
    ["uniform", uniform(0.3), 0.3 / Math.sqrt(3), 0.3],
    ["Xavier", xavierUniform, Math.sqrt(2 / 500), Math.sqrt(6 / 500)],
    ["Kaiming", kaimingUniform, 1 / Math.sqrt(400) / Math.sqrt(3), 1 / Math.sqrt(400)],
  ])("%s has mean 0 and the deviation of its formula", (_, initial, deviation, bound) => {
    const values = initial(SHAPE, new RandomStream(1, "moments"));
    const found = moments(values);
    // Five standard errors of a mean and of a deviation (at most 1/√(2n) of it).
    expect(Math.abs(found.mean)).toBeLessThan((5 * deviation) / Math.sqrt(COUNT));
    expect(Math.abs(found.deviation / deviation - 1)).toBeLessThan(5 / Math.sqrt(2 * COUNT));
    expect(found.largest).toBeLessThanOrEqual(bound * (1 + 1e-6));
  });

  it("zeros and ones are what they say", () => {
    const random = new RandomStream(1, "unused");
    expect(moments(zeros(SHAPE, random))).toEqual({ mean: 0, deviation: 0, largest: 0 });
    expect([...ones([3], random)]).toEqual([1, 1, 1]);
  });
});

describe("first values", () => {
  const a = newParameter("a", [4], normal(1));
  const b = newParameter("b", [4], normal(1));

  it("are the same for the same seed, and others for another", () => {
    expect(initialise([a], 1).get(a.tensor)).toEqual(initialise([a], 1).get(a.tensor));
    expect(initialise([a], 2).get(a.tensor)).not.toEqual(initialise([a], 1).get(a.tensor));
  });

  it("do not move when another parameter is added", () => {
    expect(initialise([b, a], 1).get(a.tensor)).toEqual(initialise([a], 1).get(a.tensor));
    expect(initialise([b, a], 1).get(b.tensor)).not.toEqual(initialise([b, a], 1).get(a.tensor));
  });
});
