import { expect, it } from "vitest";
import { sweepSvg } from "./sweep-picture.ts";

const point = (rate: number, share: string, figure: number) => ({
  name: `${rate} ${share}`,
  figure,
  values: { rate, share },
});

it("draws a plot per setting with a dot per trial, words in the order in which they come", () => {
  const svg = sweepSvg([point(0.001, "cycle", 9), point(0.01, "cycle", 7), point(0.1, "sequence", 8)], "perplexity");
  expect(svg.match(/<circle /g)).toHaveLength(6);
  expect(svg).toContain(">perplexity against share</text>");
  expect(svg.indexOf(">cycle</text>")).toBeLessThan(svg.indexOf(">sequence</text>"));
  const across = [...svg.matchAll(/<circle cx="([\d.]+)"/g)].slice(0, 3).map(([, x]) => Number(x));
  expect(across[1]! - across[0]!).toBeCloseTo(across[2]! - across[1]!, 0); // a decade each
});

it("of no trials draws nothing but a frame", () => {
  expect(sweepSvg([], "loss")).toMatch(/^<svg .*<\/svg>\n$/s);
});
