import { describe, expect, it } from "vitest";
import { choicePixels, choiceSvg } from "./choice-picture.ts";

const names = ["attention", "feed-forward", "identity"];
const choices = [
  { names, probabilities: [0.9, 0.05, 0.05] },
  { names: ["attention", "identity"], probabilities: [0.4, 0.6] },
  { names: ["feed-forward"], probabilities: [1] },
];
const milestone = { step: 500, choices };

/** Fill of each cell, column by column. */
const fillsOf = (svg: string) => [...svg.matchAll(/fill="(#[0-9a-f]{6})" stroke/g)].map((match) => match[1]);

describe("a picture of π", () => {
  it("is darker where a candidate is more probable, white where it was cut", () => {
    const [light, dark] = ["#ffffff", "#0a2554"];
    const fills = fillsOf(choiceSvg(milestone, names));
    expect(fills).toHaveLength(9);
    expect(fills.slice(6)).toEqual([light, dark, light]);
    expect(fills[4]).toBe(light); // the second block has no feed-forward
    expect(fills[3]! > fills[5]!).toBe(true); // 0.4 is lighter than 0.6
  });

  it("has its step, and the largest share of each block in its row", () => {
    const svg = choiceSvg(milestone, names);
    expect(svg).toContain(">π at step 500</text>");
    const written = [...svg.matchAll(/y="(\d+)"[^>]*>(\d\.\d\d)</g)].map((match) => [match[2], Number(match[1])]);
    const rows = [...svg.matchAll(/y="(\d+)"[^>]*>(?:attention|feed-forward|identity)</g)].map(([, y]) => Number(y));
    expect(written).toEqual([
      ["0.90", rows[0]],
      ["0.60", rows[2]],
      ["1.00", rows[1]],
    ]);
  });

  it("is the same in pixels", () => {
    const { width, height, data, palette } = choicePixels(milestone, names);
    const box = /<rect x="(\d+)" y="(\d+)" width="56" height="40" fill="#0a2554"/.exec(choiceSvg(milestone, names))!;
    const corner = (Number(box[2]) + 3) * width + Number(box[1]) + 3;
    expect(data).toHaveLength(width * height);
    expect([data[corner], data[corner - 56]]).toEqual([255, 0]);
    expect([...palette.subarray(0, 3), ...palette.subarray(-3)]).toEqual([255, 255, 255, 10, 37, 84]);
  });

  it("keeps its size while steps get longer", () => {
    const early = choicePixels({ step: 1, choices: choices.slice(0, 1) }, names);
    const late = choicePixels({ step: 1_000_000, choices: choices.slice(0, 1) }, names);
    expect([late.width, late.height]).toEqual([early.width, early.height]);
  });
});
