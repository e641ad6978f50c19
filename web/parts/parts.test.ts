import { describe, expect, it } from "vitest";
import { indexAt, joined, logTicks, smoothed, ticks } from "./curves.ts";
import { curveSentence, duration, figure, short } from "./format.ts";
import { inkOn, scale } from "./palette.ts";
import { letters } from "./patterns.ts";

describe("curves", () => {
  it("are smoothed without the bias of their start, and keep gaps", () => {
    expect(smoothed([4, 4, null, 4], 0.9).map((value) => value && Math.round(value * 1e9) / 1e9)).toEqual([
      4,
      4,
      null,
      4,
    ]);
    expect(smoothed([0, 1], 0.5)).toEqual([0, 2 / 3]);
    expect(smoothed([3, 1], 0)).toEqual([3, 1]);
  });

  it("share one axis, with gaps where one has no point", () => {
    expect(
      joined([
        { x: [1, 3], y: [5, 6] },
        { x: [2], y: [7] },
      ]),
    ).toEqual([
      [1, 2, 3],
      [5, null, 6],
      [null, 7, null],
    ]);
  });

  it("have round ticks, also on logarithmic axes and narrow ranges", () => {
    expect(logTicks(0.9, 120)).toEqual([1, 2, 5, 10, 20, 50, 100]);
    expect(logTicks(2.3, 5.1)).toEqual([2.5, 3, 3.5, 4, 4.5, 5]);
    expect(ticks(0, 100)).toEqual([0, 20, 40, 60, 80, 100]);
    expect(ticks(117.2, 119.3)).toEqual([117.5, 118, 118.5, 119]);
  });

  it("are found by step", () => {
    expect([5, 10, 17, 30].map((step) => indexAt([10, 20], step))).toEqual([-1, 0, 0, 1]);
  });

  it("are said in a sentence", () => {
    expect(curveSentence("loss", [0, 600, 1200], [5.1, 2.2, 2.3], "steps")).toBe(
      "loss 5.100 → 2.300 over 1,200 steps, lowest at 600.0",
    );
    expect(curveSentence("loss", [], [], "steps")).toBe("loss: no points yet");
  });
});

describe("numbers", () => {
  it("are written to what matters", () => {
    expect([5.10234, 12345, 0.00004, null, Number.NaN].map(figure)).toEqual([
      "5.102",
      "12,345",
      "4.0e−5",
      "–",
      "not a number",
    ]);
    expect([999, 1_080_000, 39_100_000].map(short)).toEqual(["999", "1.08 M", "39.1 M"]);
    expect([8_100, 252_000, 3_780_000].map(duration)).toEqual(["8.1 s", "4 min 12 s", "1 h 03 min"]);
  });
});

describe("a scale of colours", () => {
  it("rises evenly in lightness and carries text of contrast 4.5", () => {
    const light = Array.from({ length: 21 }, (_, i) => luminance(scale(i / 20)));
    expect(light).toEqual([...light].sort((a, b) => a - b));
    const contrasts = light.map((each, i) =>
      inkOn(scale(i / 20)) === "#ffffff" ? 1.05 / (each + 0.05) : (each + 0.05) / 0.05,
    );
    expect(Math.min(...contrasts)).toBeGreaterThan(4.5);
  });
});

const luminance = (colour: readonly number[]) => {
  const [r, g, b] = colour.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)) as [
    number,
    number,
    number,
  ];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

it("a pattern is its letters", () => {
  expect(letters("sf(s)x2(fi)x2").join("")).toBe("sfssfifi");
});
