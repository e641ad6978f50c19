import { describe, expect, it } from "vitest";
import { spreadOf } from "../base/spread.ts";
import { contestants, type Result } from "../sweep/comparison.ts";
import { comparisonSvg } from "./comparison-picture.ts";
import { textWidth } from "./svg.ts";

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

  it("places models by FLOPs per token in the mean, where they have it", () => {
    const rows = [
      { ...result(0, [50]), flopsPerToken: 2e6 },
      { ...result(1, [60]), flopsPerToken: 9e6, meanFlopsPerToken: 1e6 },
    ];
    const svg = comparisonSvg(rows, "flops");
    expect(svg.match(/<circle /g)).toHaveLength(2);
    expect(svg).toContain("FLOPs per token in the mean");
    expect(svg).not.toContain("9 M");
  });

  it("keeps labels of equal models apart", () => {
    const svg = comparisonSvg([3, 4, 5, 6, 7, 8].map((i) => result(i, [50])));
    const labels = [
      ...svg.matchAll(/<text x="([\d.]+)" y="([\d.]+)" text-anchor="(start|end)"[^>]*lw-halo[^>]*>([^<]+)/g),
    ];
    const boxes = labels.map(([, x, y, anchor, name]) => {
      const wide = textWidth(name!, { size: 13 });
      return { left: Number(x) - (anchor === "end" ? wide : 0), wide, y: Number(y) };
    });
    expect(boxes).toHaveLength(6);
    for (const [i, a] of boxes.entries())
      for (const b of boxes.slice(i + 1)) {
        const apart = Math.abs(a.y - b.y) >= 13 || a.left + a.wide <= b.left || b.left + b.wide <= a.left;
        expect(apart, `${JSON.stringify(a)} ${JSON.stringify(b)}`).toBe(true);
      }
  });

  it("is empty but sound without results", () => {
    expect(comparisonSvg([])).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  });
});
