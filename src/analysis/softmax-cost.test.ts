import { describe, expect, it } from "vitest";
import { ortEngine } from "../engine/ort.ts";
import { optimalCutoffs } from "../text/cutoffs.ts";
import { measureCutoffs } from "./measured-cutoffs.ts";
import { measureSoftmax } from "./softmax-cost.ts";

describe("measured costs of a softmax", () => {
  it("are those of each cluster, grow with words and rows, and have an optimum", async () => {
    const shape = { width: 16, rows: 64, factor: 2, vocabulary: 5000, clusters: 3 };
    const heard: number[] = [];
    const { costs, error } = await measureSoftmax(await ortEngine({ threads: 1 }), shape, (done) => heard.push(done));
    expect(costs).toHaveLength(3);
    for (const cost of costs) expect(Object.values(cost).every((value) => value >= 0)).toBe(true);
    // Times are noisy, but a head or tail of thousands of words is not free.
    expect(costs[0]!.perWord).toBeGreaterThan(0);
    expect(costs[1]!.perWord + costs[1]!.perProduct).toBeGreaterThan(0);
    expect(error).toBeGreaterThan(0);
    expect(heard.at(-1)).toBe(1);
    const masses = Float64Array.from({ length: 5000 }, (_, i) => 1 / (i + 1));
    const { cutoffs } = optimalCutoffs(masses, 3, (k) => costs[k]!);
    expect(0 < cutoffs[0]! && cutoffs[0]! < cutoffs[1]! && cutoffs[1]! < 5000).toBe(true);
  });

  it("measure sizes of their own where the vocabulary is smaller than all", async () => {
    const shape = { width: 4, rows: 8, factor: 2, vocabulary: 10, clusters: 2 };
    const { costs } = await measureSoftmax(await ortEngine({ threads: 1 }), shape);
    expect(costs).toHaveLength(2);
  });
});

it("cutoffs by measured costs are no slower than those of size × mass", async () => {
  const counts = Float64Array.from({ length: 3000 }, (_, i) => 1 / (i + 1));
  const shape = { width: 8, rows: 32, factor: 2, clusters: 2 };
  const { found, times, plain, plainMs } = await measureCutoffs(await ortEngine({ threads: 1 }), counts, shape);
  expect(times.reduce((a, b) => a + b, 0)).toBeCloseTo(found.cost, 9);
  expect(found.cost).toBeLessThanOrEqual(plainMs + 1e-9);
  expect(plain).toEqual(optimalCutoffs(counts, 2));
});
