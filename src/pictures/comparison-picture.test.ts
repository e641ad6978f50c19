import { describe, expect, it } from "vitest";
import { contestants, type Result, spreadOf } from "../sweep/comparison.ts";
import { comparisonSvg } from "./comparison-picture.ts";

const result = (i: number, values: number[]): Result => ({
  ...contestants[i]!,
  parameters: 1e6 * contestants[i]!.unique,
  uniqueBlocks: contestants[i]!.unique,
  executedDepth: contestants[i]!.depth,
  flopsPerToken: 1,
  trainingFlopsPerToken: 3,
  tokensPerSecond: 1000,
  perplexity: spreadOf(values),
  seconds: 1,
});

describe("the picture of a comparison", () => {
  it("has a mark for each model with a result, and a bar where there are several seeds", () => {
    const svg = comparisonSvg([result(0, [50, 52]), result(1, [60]), result(2, [])]);
    expect(svg.match(/<circle /g)).toHaveLength(2);
    // Two axes and one bar.
    expect(svg.match(/<line /g)).toHaveLength(3);
    expect(svg).not.toContain("NaN");
  });

  it("keeps labels of equal models apart", () => {
    const svg = comparisonSvg([3, 4, 5, 6, 7, 8].map((i) => result(i, [50])));
    const heights = [...svg.matchAll(/y="([\d.]+)" text-anchor="start" fill="currentColor">(?:sequence|cycle)/g)];
    const sorted = heights.map((match) => Number(match[1])).sort((a, b) => a - b);
    expect(sorted).toHaveLength(6);
    for (let i = 1; i < sorted.length; i++) expect(sorted[i]! - sorted[i - 1]!).toBeGreaterThanOrEqual(13.9);
  });

  it("is empty but sound without results", () => {
    expect(comparisonSvg([])).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  });
});
