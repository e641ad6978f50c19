import { describe, expect, it } from "vitest";
import { parseCandidates } from "./candidates.ts";
import type { Found } from "./result.ts";
import { agreement, bestOf, parseSeeds, seedsOf, seedTable } from "./seeds.ts";
import { searchSettings } from "./settings.ts";

const found = (perplexity: number, chosenMs: number, targetMs: number | null): Found => ({
  pattern: "sf",
  probabilities: [],
  steps: 1,
  elapsedMs: 1,
  perplexity,
  meanBatchPerplexity: perplexity,
  noisyMeanBatchPerplexity: null,
  cuts: [],
  latency: { expectedMs: chosenMs, chosenMs },
  targetMs,
  costs: null,
});

describe("several seeds", () => {
  const listed = (text: string) => seedsOf(parseSeeds(text), 5);

  it("are counted from the first, or listed", () => {
    expect([listed("3"), listed("1,9"), seedsOf([4], 5)]).toEqual([[5, 6, 7], [1, 9], [4]]);
    for (const text of ["0", "1,1", "x", "1,,2"]) expect(() => listed(text)).toThrow("seeds: expected a number");
  });

  it("agree on a block as far as they took the same", () => {
    expect(agreement(["(sf)x2", "sfff", "sfsi", "s f:8 g i"])).toEqual([1, 0.75, 0.5, 0.5]);
  });

  it("give the lowest perplexity within the budget", () => {
    const all = new Map([
      [1, found(40, 9, 5)],
      [2, found(45, 4, 5)],
      [3, found(50, 3, 5)],
    ]);
    expect(bestOf(all)).toMatchObject({ seed: 2, perplexity: 45 });
    expect(bestOf(all).seeds.map(({ withinBudget }) => withinBudget)).toEqual([false, true, true]);
  });

  it("say by what the choice was made: perplexity is compared within the budget, or at equal latency", () => {
    const told = (list: readonly Found[]) =>
      seedTable(bestOf(new Map(list.map((each, i) => [i + 1, each]))))
        .split("\n")
        .at(-1);
    expect(told([found(40, 9, 5), found(45, 4, 5), found(50, 3, 5)])).toBe(
      "seed 2: lowest valid perplexity of the 2 of 3 within 5.00 ms",
    );
    expect(told([found(40, 9, 1), found(45, 4, 1)])).toBe("seed 2: the cheapest, since none keeps to 1.00 ms");
    expect(told([found(40, 4.05, null), found(45, 4, null)])).toBe("seed 1: lowest valid perplexity");
    expect(told([found(40, 9, null), found(45, 4, null)])).toBe(
      "seed 1: lowest valid perplexity, at 4.00 to 9.00 ms: --budget compares at equal latency",
    );
  });

  it("give the cheapest where none is within it, and the best where there is none", () => {
    const list = (targetMs: number | null) =>
      new Map([1, 2].map((seed) => [seed, found(40 + seed, 9 - seed, targetMs)]));
    expect([bestOf(list(1)).seed, bestOf(list(null)).seed]).toEqual([2, 1]);
  });
});

describe("settings of a search", () => {
  it("read candidates with their sizes", () => {
    expect(parseCandidates("s:8, f,f:1024,i")).toEqual([
      { kind: "attention", heads: 8 },
      { kind: "feed-forward" },
      { kind: "feed-forward", hidden: 1024 },
      { kind: "identity" },
    ]);
    for (const text of ["", "s;f", "i:3", "f:0"])
      expect(() => parseCandidates(text)).toThrow("candidates: expected letters");
  });

  it("read the shape at which latency is measured", () => {
    const { read: readFlag } = searchSettings.describe().find(({ key }) => key === "latency")!;
    const read = (text: string) => searchSettings.check({ latency: readFlag(text) }, "flags").latency;
    expect(read("2x32+0")).toEqual({ batch: 2, length: 32, memory: 0 });
    expect(() => read("64")).toThrow("latency: expected batch x segment + memory, such as 1x64+640");
  });
});
