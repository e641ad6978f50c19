import { describe, expect, it } from "vitest";
import { curvesSvg, paretoFront, type TradeOff, tradeOffSvg } from "./trade-off-picture.ts";

const row = (name: string, latencyMs: number, perplexity: number, kind: string): TradeOff => {
  return { name, pattern: "(sf)x3", latencyMs, perplexity, kind };
};
const rows = [
  row("baseline", 10, 40, "baseline"),
  row("budget 5", 5, 44, "found"),
  row("budget 6", 6.5, 39, "found"),
  row("slow", 12, 41, "found"),
];

/** Numbers of an attribute, in order. */
const numbers = (svg: string, attribute: string) =>
  [...svg.matchAll(new RegExp(`${attribute}="([\\d.]+)"`, "g"))].map((match) => Number(match[1]));

describe("the trade-off", () => {
  it("has a front of the rows that nothing beats", () => {
    expect(paretoFront(rows).map(({ name }) => name)).toEqual(["budget 5", "budget 6"]);
    expect(paretoFront([rows[0]!, rows[0]!])).toHaveLength(1);
    expect(paretoFront([])).toEqual([]);
  });

  it("has a dot a row, in proportion to its figures, and a line along the front", () => {
    const svg = tradeOffSvg(rows);
    const [x, y] = [numbers(svg, "cx"), numbers(svg, "cy")];
    expect(svg.match(/<circle [^>]*><title>/g)).toHaveLength(4);
    // Coordinates have one decimal.
    expect((x[0]! - x[1]!) / (x[3]! - x[1]!)).toBeCloseTo((10 - 5) / (12 - 5), 2);
    expect((y[0]! - y[1]!) / (y[2]! - y[1]!)).toBeCloseTo((44 - 40) / (44 - 39), 2);
    expect(svg).toContain(`<polyline points="${x[1]},${y[1]} ${x[2]},${y[2]}"`);
    expect(svg).toContain("<title>baseline: (sf)x3</title>");
  });

  it("tells kinds apart by colour, and names them", () => {
    const svg = tradeOffSvg(rows);
    const fills = [...svg.matchAll(/<circle [^>]*fill="(#\w+)"/g)].map((match) => match[1]);
    expect(fills[1]).not.toBe(fills[0]);
    expect(fills.slice(1, 4)).toEqual([fills[1], fills[1], fills[1]]);
    const legend = [...svg.matchAll(/width="12" height="12" rx="4" fill="(#\w+)"/g)].map(([, fill]) => fill);
    expect(legend).toEqual([fills[0], fills[1]]);
    expect(svg).toContain(">found</text>");
  });
});

describe("curves", () => {
  it("fall over minutes on a logarithmic axis, beside a line at the target", () => {
    const points = [40, 20, 10].map((perplexity, i) => ({ minutes: i + 1, perplexity }));
    const svg = curvesSvg([{ name: "ours", points }], { name: "target", perplexity: 10 });
    const [x, y] = [numbers(svg, "cx"), numbers(svg, "cy")];
    expect(x[1]! - x[0]!).toBeCloseTo(x[2]! - x[1]!, 0);
    expect(y[1]! - y[0]!).toBeCloseTo(y[2]! - y[1]!, 0);
    expect(svg).toContain(`,${y[2]} `); // the target's line starts at the height of the last point
    expect(svg).toContain(">target 10</text>");
  });
});
