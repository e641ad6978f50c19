import { describe, expect, it } from "vitest";
import { choiceSvg } from "../pictures/choice-picture.ts";
import { type Background, svgDocument, svgText, textWidth } from "../pictures/svg.ts";
import { openRaster, type Raster } from "./raster.ts";

const raster = (await openRaster()) as Raster;

/** The columns of a picture in which something is not paper, from the first to the last. */
function inked(svg: string, background: Background = "light"): [number, number] {
  const { width, data } = raster.pixels(svg, { background });
  const paper = data.slice(4 * 10, 4 * 10 + 4).join();
  const columns = Array.from({ length: data.length / 4 }, (_, i) => i).filter(
    (i) => data.slice(4 * i, 4 * i + 4).join() !== paper,
  );
  const xs = columns.map((i) => i % width);
  return [Math.min(...xs), Math.max(...xs)];
}

describe("pixels of a picture", () => {
  it("hold text in the font that is shipped, no wider than it was measured", () => {
    for (const [text, style] of [
      ["π of 12 blocks, τ 0.73: (sf)x4 and feed-forward 1,024", { size: 16 }],
      ["WikiText-2, perplexity 81.26", { size: 20, bold: true }],
    ] as const) {
      const [first, last] = inked(svgDocument(700, 60, { title: text }, [svgText(20, 40, text, style)]));
      expect(first).toBeGreaterThanOrEqual(19);
      expect(last - first).toBeLessThan(textWidth(text, style));
      expect(last - first).toBeGreaterThan(0.85 * textWidth(text, style));
    }
  });

  it("know letters of π and τ: each is drawn, and not as the same box", () => {
    const drawn = ["π", "τ", "s", "–"].map((letter) => {
      const svg = svgDocument(60, 60, { title: letter }, [svgText(20, 40, letter, { size: 30 })]);
      return raster.pixels(svg).data.join();
    });
    expect(new Set(drawn).size).toBe(4);
  });

  it("have the paper of the background that is asked for, corners too, and the width", () => {
    const svg = choiceSvg({ step: 1, choices: [{ names: ["a", "b"], probabilities: [0.5, 0.5] }] }, ["a", "b"]);
    expect([...raster.pixels(svg).data.slice(0, 4)]).toEqual([255, 255, 255, 255]);
    expect([...raster.pixels(svg, { background: "dark" }).data.slice(0, 4)]).toEqual([13, 17, 23, 255]);
    const { width, height, bytes } = raster.png(svg, { width: 500 });
    expect([width, Buffer.from(bytes).toString("latin1", 1, 4)]).toEqual([500, "PNG"]);
    expect(height).toBeLessThan(500);
  });
});
