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
