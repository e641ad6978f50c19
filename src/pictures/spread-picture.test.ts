import { describe, expect, it } from "vitest";
import { spreadsSvg } from "./spread-picture.ts";

const options = { title: "Depths", axis: "iterations", names: ["here", "paper"] } as const;
const circles = (svg: string, r: number) =>
  [...svg.matchAll(new RegExp(`<circle cx="([\\d.]+)"[^>]* r="${r}"`, "g"))].map(([, x]) => Number(x));

describe("means beside figures of others", () => {
  it("places larger values further right, ours as dots and theirs as rings", () => {
    const rows = [
      { name: "a", ours: { mean: 2, deviation: 0.5 }, theirs: 4 },
      { name: "b", ours: { mean: 3, deviation: null }, theirs: null },
    ];
    const svg = spreadsSvg(rows, options);
    const [[a, b], [ring]] = [circles(svg, 5), circles(svg, 7)];
    expect(a! < b! && b! < ring!).toBe(true);
    expect(svg).toContain("<desc>a: here 2 ± 0.5, paper 4; b: here 3, paper none</desc>");
    expect(svg.match(/v12M/g)).toHaveLength(1);
  });

  it("can be drawn while nothing is measured, and where all values are one", () => {
    const empty = spreadsSvg([{ name: "a", ours: null, theirs: null }], options);
    const equal = spreadsSvg([{ name: "a", ours: { mean: 2, deviation: 0 }, theirs: 2 }], options);
    expect([empty, equal].some((svg) => svg.includes("NaN") || svg.includes("Infinity"))).toBe(false);
  });
});
