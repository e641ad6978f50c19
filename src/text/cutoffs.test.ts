import { describe, expect, it } from "vitest";
import { refused } from "../../test/refusals.ts";
import { RandomStream } from "../base/random.ts";
import {
  type ClusterCost,
  clusterCost,
  clustersOf,
  countTokens,
  frequencyRanks,
  optimalCutoffs,
  parseCounts,
} from "./cutoffs.ts";

type CostOf = (cluster: number) => ClusterCost;

const product: CostOf = () => ({ fixed: 0, perMass: 0, perWord: 0, perProduct: 1 });

/** Cost of all clusters. */
function costOf(sorted: readonly number[], ends: readonly number[], costs = product): number {
  return ends.reduce((total, end, k) => {
    const words = sorted.slice(ends[k - 1] ?? 0, end);
    const mass = words.reduce((a, b) => a + b, 0);
    return total + clusterCost(costs(k), words.length, mass);
  }, 0);
}

/** The least cost over all ways to cut. */
function bruteForce(
  sorted: readonly number[],
  clusters: number,
  costs = product,
  ends: readonly number[] = [],
): number {
  if (ends.length === clusters - 1) return costOf(sorted, [...ends, sorted.length], costs);
  let best = Number.POSITIVE_INFINITY;
  for (let end = (ends.at(-1) ?? 0) + 1; end <= sorted.length - clusters + ends.length + 1; end++) {
    best = Math.min(best, bruteForce(sorted, clusters, costs, [...ends, end]));
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

  it("equal the brute-force optimum where every cluster has a cost of its own", () => {
    const random = new RandomStream(2, "cutoffs");
    for (let trial = 0; trial < 200; trial++) {
      const size = 2 + random.integer(10);
      const clusters = 2 + random.integer(Math.min(size - 1, 3));
      const counts = Array.from({ length: size }, () => random.integer(50));
      // Terms without a product may even be negative; only the product must not.
      const terms = Array.from({ length: clusters }, () => ({
        fixed: random.integer(100),
        perMass: random.integer(20) - 5,
        perWord: random.integer(40) - 10,
        perProduct: random.integer(3),
      }));
      const { cutoffs, cost, vocabulary } = optimalCutoffs(counts, clusters, (k) => terms[k]!);
      const sorted = counts.toSorted((a, b) => b - a);
      expect(cost).toBe(bruteForce(sorted, clusters, (k) => terms[k]!));
      expect(costOf(sorted, [...cutoffs, vocabulary], (k) => terms[k]!)).toBe(cost);
    }
  });

  it("refuse a cost for which their short way would not be exact", () => {
    const bent = { fixed: 0, perMass: 0, perWord: 0, perProduct: -1 };
    expect(() => optimalCutoffs([3, 2, 1], 2, () => bent)).toThrow(
      "cost of cluster 1: expected a perProduct from 0, got -1",
    );
  });

  it("make clusters of the counts, with their part of all", () => {
    const counts = Float64Array.of(1, 100, 2, 90);
    const found = optimalCutoffs(counts, 2);
    expect(clustersOf(found, counts)).toEqual([
      { start: 0, end: 1, share: 100 / 193 },
      { start: 1, end: 4, share: 93 / 193 },
    ]);
    expect(clustersOf(found, new Float64Array(4)).map(({ share }) => share)).toEqual([0, 0]);
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

  refused(
    (text) => parseCounts(text, "counts.txt"),
    [
      ["3\nabc\n", 'counts.txt, line 2: expected a number from 0, got "abc"'],
      ["-1\n", 'counts.txt, line 1: expected a number from 0, got "-1"'],
      ["Infinity", "line 1"],
      ["\n", "counts.txt: expected one count or probability per line, got none"],
    ],
  );

  it("of tokens are those of their ids", () => {
    expect([...countTokens([1, 3, 1], 5)]).toEqual([0, 2, 0, 1, 0]);
  });

  it("rank ids by falling count, equals in their order", () => {
    expect([...frequencyRanks([1, 5, 1, 9])]).toEqual([2, 1, 3, 0]);
  });
});
