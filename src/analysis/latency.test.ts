import { describe, expect, it } from "vitest";
import { ortEngine } from "../engine/ort.ts";
import { add } from "../graph/index.ts";
import { attention, custom, type MakeCandidate } from "../model/par/candidates.ts";
import { parModel } from "../model/par/par.ts";
import { Linear } from "../nn/index.ts";
import {
  baselineCost,
  candidateName,
  costOfCandidate,
  measureCandidates,
  networkLatencies,
  withoutMoods,
} from "./latency.ts";

const options = {
  vocabulary: 300,
  width: 64,
  heads: 4,
  hidden: 64,
  memory: 4,
  cutoffs: [40, 120],
  blocks: 3,
  candidates: [{ kind: "attention" }, { kind: "feed-forward", hidden: 1024 }, { kind: "identity" }] as const,
};
const shape = { batch: 1, length: 16, memory: 128 };

describe("measured latency", () => {
  it("is known of every candidate, of the baseline's, and of the rest", async () => {
    const measured = await measureCandidates(await ortEngine({ threads: 1 }), options, shape, 9);
    const names = measured.candidates.map(({ name }) => name);
    expect(names).toEqual(["attention", "feed-forward", "feed-forward 1024", "identity"]);
    const [attention, small, large, nothing] = measured.candidates;
    // Products of [16, 64] with [64, h] and back, and little besides.
    expect(large!.flops).toBeGreaterThan(16 * 4 * 64 * 1024);
    expect(large!.flops).toBeLessThan(1.1 * 16 * 4 * 64 * 1024);
    expect([nothing!.flops, nothing!.ms]).toEqual([0, 0]);
    // Sixteen times the work: the margin is for a busy machine.
    expect(large!.ms).toBeGreaterThan(2 * small!.ms);
    expect(measured.rest.ms).toBeGreaterThan(0);
    expect(baselineCost(measured, 3)).toBeCloseTo(measured.rest.ms + 2 * attention!.ms + small!.ms, 10);
    expect(costOfCandidate(measured, { kind: "feed-forward", hidden: 1024 })).toBe(large!.ms);
  });

  it("is known of a candidate of one's own", async () => {
    const twice: MakeCandidate = (name, { width }) => {
      const [a, b] = ["a", "b"].map((part) => new Linear(`${name}.${part}`, { in: width, out: width }));
      return { parameters: [...a!.parameters, ...b!.parameters], apply: (x) => add(x, b!.apply(a!.apply(x))) };
    };
    const own = { ...options, candidates: [attention(), custom("t", twice, { name: "twice" })] };
    const measured = await measureCandidates(await ortEngine({ threads: 1 }), own, shape, 3);
    const { name, flops } = measured.candidates.at(-1)!;
    // Two products of [16, 64] with [64, 64], and little besides.
    expect([name, flops > 16 * 4 * 64 * 64, flops < 1.1 * 16 * 4 * 64 * 64]).toEqual(["twice", true, true]);
    expect(costOfCandidate(measured, own.candidates[1]!)).toBe(measured.candidates.at(-1)!.ms);
  });

  it("of a whole network grows with its blocks", async () => {
    const models = ["s", "ssssssss"].map((blocks) => parModel({ ...options, blocks }));
    const [one, eight] = await networkLatencies(await ortEngine({ threads: 1 }), models, shape, 9);
    expect(eight).toBeGreaterThan(2 * one!);
  });

  it("is freed of what a slow round did to all networks alike, not of what happened to one", () => {
    const { moods, evened } = withoutMoods([
      [1, 1.5, 1, 1, 1],
      [4, 6, 4, 4, 4.4],
      [2, 3, 2, 9, 2],
    ]);
    expect(moods).toEqual([1, 1.5, 1, 1, 1]);
    expect(evened).toEqual([
      [1, 1, 1, 1, 1],
      [4, 4, 4, 4, 4.4],
      [2, 2, 2, 9, 2],
    ]);
    expect(
      withoutMoods([
        [1, 2, 1],
        [10, 30, 10],
      ]).moods,
    ).toEqual([1, 2.5, 1]);
  });

  it("names candidates by what sets them apart", () => {
    expect([{ kind: "attention", heads: 8 } as const, { kind: "identity" } as const].map(candidateName)).toEqual([
      "attention 8 heads",
      "identity",
    ]);
  });
});
