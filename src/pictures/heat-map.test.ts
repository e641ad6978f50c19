import { expect, it } from "vitest";
import { heatMap } from "./heat-map.ts";

it("a heat map shades every candidate and writes the largest share of each block in", () => {
  const text = heatMap(
    [
      [0.9, 0.05, 0.05],
      [0.25, 0.3, 0.45],
    ],
    ["attention", "feed-forward", "identity"],
  );
  expect(text.split("\n")).toEqual([
    "                 1      2",
    "attention    |█0.90█|░░░░░░|",
    "feed-forward |      |░░░░░░|",
    "identity     |      |▒0.45▒|",
  ]);
});

it("a heat map puts blocks that do not fit below the others", () => {
  const text = heatMap([[0.9], [0.8], [0.7]], ["attention"], false, 27);
  expect(text.split("\n")).toEqual([
    "              1      2",
    "attention |█0.90█|█0.80█|",
    "              3",
    "attention |▓0.70▓|",
  ]);
  expect(Math.max(...text.split("\n").map(({ length }) => length))).toBeLessThan(27);
});
