import { describe, expect, it } from "vitest";
import { dotMark, labelMarks, lineMark, type Plot, plotSvg, ticksOf } from "./plot.ts";

const axis = (values: number[], log = false) => ({ title: "t", values, log });

/** The plot's places, and the picture. */
function drawn(x: number[], y: number[], log = false): { plot: Plot; svg: string } {
  let plot: Plot | undefined;
  const svg = plotSvg({ title: "A < B", x: axis(x), y: axis(y, log) }, (given) => {
    plot = given;
    return [];
  });
  return { plot: plot!, svg };
}

describe("ticks", () => {
  it.each([
    [axis([0, 10]), [0, 2, 4, 6, 8, 10]],
    [axis([0.31, 0.39]), [0.32, 0.34, 0.36, 0.38]],
    [axis([39, 800], true), [50, 100, 200, 500]],
    [axis([3, 3000], true), [3, 10, 30, 100, 300, 1000, 3000]],
    [axis([5, 5]), [4.8, 4.9, 5, 5.1, 5.2]],
    [axis([]), []],
  ])("of %j are round numbers within it", (given, expected) => {
    expect(ticksOf(given)).toEqual(expected);
  });
});

describe("a plot", () => {
  it("puts data where they belong, with room at the ends", () => {
    const { plot } = drawn([0, 100], [1, 3]);
    const { left, right, top, bottom } = plot;
    expect(plot.x(50)).toBeCloseTo((left + right) / 2, 9);
    expect(plot.y(2)).toBeCloseTo((top + bottom) / 2, 9);
    // A twentieth of the data's range on each side.
    expect((plot.x(0) - left) / (right - left)).toBeCloseTo(0.05 / 1.1, 9);
    expect(plot.y(3)).toBeLessThan(plot.y(1));
  });

  it("gives equal ratios equal room on a logarithmic axis", () => {
    const { plot } = drawn([0, 1], [10, 1000], true);
    expect(plot.y(10) - plot.y(100)).toBeCloseTo(plot.y(100) - plot.y(1000), 9);
  });

  it("writes each tick at its place, and escapes its title", () => {
    const { plot, svg } = drawn([0, 10], [0, 1]);
    expect(svg).toContain("A &lt; B");
    const at = new RegExp(`<text x="([\\d.]+)" y="${plot.bottom + 20}" [^>]*>4</text>`).exec(svg);
    expect(Number(at![1])).toBeCloseTo(plot.x(4), 0);
  });

  it("has dots, lines and labels at their data", () => {
    const { plot } = drawn([0, 10], [0, 1]);
    const [x, y] = [plot.x(5), plot.y(0.5)].map((value) => Math.round(value * 10) / 10);
    expect(dotMark(plot, { x: 5, y: 0.5 }, "red", "a & b")).toBe(
      `<circle cx="${x}" cy="${y}" r="5" fill="red"><title>a &amp; b</title></circle>`,
    );
    expect(lineMark(plot, [{ x: 5, y: 0.5 }], "red")).toContain(`points="${x},${y}"`);
    const labels = labelMarks(
      plot,
      [0, 1].map((i) => ({ x: 5, y: 0.5, name: `n${i}` })),
    );
    // Beside the point on either side; a third goes below, with a line to it.
    expect(labels.map((label) => / text-anchor="(\w+)"/.exec(label)![1])).toEqual(["start", "end"]);
    const three = labelMarks(
      plot,
      [0, 1, 2].map((i) => ({ x: 5, y: 0.5, name: `n${i}` })),
    );
    expect(three).toHaveLength(4);
    expect(three[2]).toMatch(/^<path d="M[\d. ]+L/);
  });
});
