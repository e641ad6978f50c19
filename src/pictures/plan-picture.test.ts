import { describe, expect, it } from "vitest";
import { drawPlan, planSvg } from "./plan-picture.ts";

describe("pictures of a plan", () => {
  it("show which layer runs at which depth", () => {
    expect(drawPlan([0, 1, 2, 2, 1, 0])).toBe(
      [
        "layer 2   · · ■ ■ · ·",
        "layer 1   · ■ · · ■ ·",
        "layer 0   ■ · · · · ■",
        "depth     0 1 2 3 4 5", //
      ].join("\n"),
    );
  });

  it("keep columns apart at depths of two digits", () => {
    const lines = drawPlan(Array(11).fill(0)).split("\n");
    expect(lines[1]).toBe("depth      0  1  2  3  4  5  6  7  8  9 10");
    expect(lines[0]).toHaveLength(lines[1]!.length);
  });

  it("are none of a plan without blocks, or of halves", () => {
    expect(() => drawPlan([])).toThrow("plan: expected block numbers 0, 1, …, got []");
    expect(() => planSvg([0, 0.5], "halves")).toThrow("got [0,0.5]");
  });

  it("are one square a depth as SVG, with the title escaped", () => {
    const svg = planSvg([0, 1, 1], "M < N");
    expect(svg.match(/<rect x=/g)).toHaveLength(3);
    expect(svg).toContain("<desc>2 layers of weights, 3 run, in the order 0 1 1.</desc>");
    expect(svg).toContain("M &lt; N");
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 420 172"/);
  });

  const part = (text: string, depths: number, passes: number, stops: readonly number[]) => {
    return { text, depths, passes, stops, meaning: `what ${text} means` };
  };

  it("frame parts, with dashes between passes, a mark where tokens may stop and a line for what needs one", () => {
    const svg = planSvg([0, 1, 2, 1, 2], "1 + 2*2 halt", [part("1", 1, 1, []), part("2*2 halt", 4, 2, [0, 1, 2, 3])]);
    expect(svg.match(/fill-opacity="0.05"/g)).toHaveLength(2);
    expect(svg.match(/stroke-dasharray/g)).toHaveLength(1);
    expect(svg.match(/<polygon/g)).toHaveLength(4);
    expect(svg).toContain(">2*2 halt: what 2*2 halt means<");
    expect(svg).not.toContain(">1: what 1 means<");
  });

  it("call parts by letters where a frame has no room for its text, and blocks by theirs", () => {
    const long = "1 loop(3, mean=2, injection=diagonal)";
    const svg = planSvg([0, 1, 2], "parts", [part(long, 1, 1, []), { ...part("sf", 2, 1, []), letters: ["s", "f:8"] }]);
    expect(svg).toContain(`>A = ${long}: what 1<`);
    expect(svg).toMatch(/>A<.*>B<.*>s<.*>f</s);
  });
});
