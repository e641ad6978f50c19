import { describe, expect, it } from "vitest";
import { choiceSvg, type Milestone } from "./choice-picture.ts";
import { huesOf, KIND_HUES } from "./hues.ts";

const names = ["attention", "feed-forward", "identity"];
const choices = [
  { names, probabilities: [0.9, 0.05, 0.05] },
  { names: ["attention", "identity"], probabilities: [0.4, 0.6] },
  { names: ["feed-forward"], probabilities: [1] },
];
const milestone: Milestone = {
  step: 500,
  totalSteps: 2000,
  choices,
  temperature: 0.5,
  perplexity: 81.26,
  pattern: "sif",
};

/** Hue and strength of each cell that is painted, column by column. */
const cellsOf = (svg: string) =>
  [...svg.matchAll(/fill="(#[0-9a-f]{6})" fill-opacity="([\d.]+)"/g)].map(([, hue, opacity]) => [hue, Number(opacity)]);

describe("a picture of π", () => {
  it("is stronger where a candidate is more probable, in the hue of its kind, and dashed where it was cut", () => {
    const svg = choiceSvg(milestone, names);
    const cells = cellsOf(svg);
    const [attention, dense, identity] = KIND_HUES;
    expect(cells.map(([hue]) => hue)).toEqual([attention, dense, identity, attention, identity, dense]);
    expect(cells[3]![1]).toBeLessThan(cells[4]![1] as number); // 0.4 and 0.6
    expect(cells[5]![1]).toBe(1);
    expect(svg.match(/stroke-dasharray/g)).toHaveLength(3);
  });

  it("has its step, temperature, perplexity and pattern, and the largest share of each block in its row", () => {
    const svg = choiceSvg(milestone, names);
    for (const text of ["step 500 of 2,000", "τ 0.50 · valid perplexity 81.3", "now sif"])
      expect(svg).toContain(`>${text}<`);
    const written = [...svg.matchAll(/y="(\d+)"[^>]*>(\d\.\d\d)</g)].map((match) => [match[2], Number(match[1])]);
    const rows = [...svg.matchAll(/y="(\d+)"[^>]*>(?:attention|feed-forward|identity)</g)].map(([, y]) => Number(y));
    expect(written).toEqual([
      ["0.90", rows[0]],
      ["0.60", rows[2]],
      ["1.00", rows[1]],
    ]);
    expect(svg).toContain("<desc>Pattern sif. Most probable: block 1 attention 0.90, block 2 identity 0.60, block 3");
    expect(choiceSvg({ ...milestone, final: true }, names)).toContain(">found sif<");
  });

  it("keeps its size while steps get longer, and a pattern too long for its place gets smaller", () => {
    const sizeOf = (svg: string) => / viewBox="([^"]+)"/.exec(svg)![1];
    const late = choiceSvg({ ...milestone, step: 1_000_000, pattern: "sf".repeat(60) }, names);
    expect(sizeOf(late)).toBe(sizeOf(choiceSvg({ step: 1, choices }, names)));
    expect(Number(/font-size="(\d+)"[^>]*>now sfsf/.exec(late)![1])).toBeLessThan(24);
  });
});

describe("hues", () => {
  it("are those of the kinds whatever the sizes and the order, and others for candidates of your own", () => {
    const hues = huesOf(["identity", "gated 64", "feed-forward 1024", "attention 8 heads", "feed-forward", "wide"]);
    expect([...hues.values()]).toEqual([2, 3, 1, 0, 1, 4].map((i) => KIND_HUES[i]));
  });
});
