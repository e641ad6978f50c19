import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { countTokens, frequencyRanks, optimalCutoffs, parseCounts } from "./cutoffs.ts";

/** Size × mass of all clusters. */
function costOf(sorted: readonly number[], ends: readonly number[]): number {
  let [start, cost] = [0, 0];
  for (const end of ends) {
    cost += (end - start) * sorted.slice(start, end).reduce((a, b) => a + b, 0);
    start = end;
  }
  return cost;
}

/** The least cost over all ways to cut. */
function bruteForce(sorted: readonly number[], clusters: number, start = 0): number {
  const rest = sorted.slice(start);
  if (clusters === 1) return costOf(rest, [rest.length]);
  let best = Number.POSITIVE_INFINITY;
  for (let end = start + 1; end <= sorted.length - clusters + 1; end++) {
    const first = (end - start) * sorted.slice(start, end).reduce((a, b) => a + b, 0);
    best = Math.min(best, first + bruteForce(sorted, clusters - 1, end));
  }
  return best;
}

describe("optimal cutoffs", () => {
  it("equal the brute-force optimum on random counts, ties and zeros included", () => {
    const random = new RandomStream(1, "cutoffs");
    for (let trial = 0; trial < 200; trial++) {
      const size = 1 + random.integer(11);
      const clusters = 1 + random.integer(Math.min(size, 4));
      const bound = [2, 5, 1000][random.integer(3)]!;
      const counts = Array.from({ length: size }, () => random.integer(bound));
      const sorted = counts.toSorted((a, b) => b - a);
      const { cutoffs, cost, vocabulary } = optimalCutoffs(counts, clusters);
      expect(cutoffs).toHaveLength(clusters - 1);
      // Whole numbers far below 2^53: exact.
      expect(cost).toBe(bruteForce(sorted, clusters));
      expect(costOf(sorted, [...cutoffs, vocabulary])).toBe(cost);
    }
  });

  it("leave no cluster empty, however few words there are", () => {
    expect(optimalCutoffs([5, 5, 5], 3)).toEqual({ cutoffs: [1, 2], vocabulary: 3, cost: 15 });
    expect(optimalCutoffs([7], 1)).toEqual({ cutoffs: [], vocabulary: 1, cost: 7 });
  });

  it("take well under 0.1 s for 12,000 words and 5 clusters", () => {
    const counts = Float64Array.from({ length: 12_000 }, (_, i) => Math.floor(1e6 / (i + 1)));
    optimalCutoffs(counts, 2);
    const start = performance.now();
    optimalCutoffs(counts, 5);
    expect(performance.now() - start).toBeLessThan(100);
  });

  it.each([
    [0, "clusters: expected from 1 to 2, the number of words, got 0"],
    [3, "clusters: expected from 1 to 2, the number of words, got 3"],
    [1.5, "clusters: expected from 1 to 2, the number of words, got 1.5"],
  ])("refuse %d clusters for two words", (clusters, message) => {
    expect(() => optimalCutoffs([1, 2], clusters)).toThrow(message);
  });

  it("refuse weights that are none", () => {
    expect(() => optimalCutoffs([1, -2], 1)).toThrow("counts, line 2: expected a number from 0, got -2");
    expect(() => optimalCutoffs([], 1)).toThrow("clusters: expected at least one count, got none");
  });
});

describe("counts", () => {
  it("are read one a line, in any notation, without empty lines", () => {
    expect([...parseCounts("3\n\n 1e-3 \r\n2.5\n", "counts.txt")]).toEqual([3, 0.001, 2.5]);
  });

  it.each([
    ["3\nabc\n", 'counts.txt, line 2: expected a number from 0, got "abc"'],
    ["-1\n", 'counts.txt, line 1: expected a number from 0, got "-1"'],
    ["Infinity", "line 1"],
    ["\n", "counts.txt: expected one count or probability a line, got none"],
  ])("%j is refused", (text, message) => {
    expect(() => parseCounts(text, "counts.txt")).toThrow(message);
  });

  it("of tokens are those of their ids", () => {
    expect([...countTokens([1, 3, 1], 5)]).toEqual([0, 2, 0, 1, 0]);
  });

  it("rank ids by falling count, equals in their order", () => {
    expect([...frequencyRanks([1, 5, 1, 9])]).toEqual([2, 1, 3, 0]);
  });
});
