import { expect, it } from "vitest";
import { distanceSvg } from "./distance-picture.ts";

it("draws a dot per distance with the number of its tokens", () => {
  const svg = distanceSvg([
    { distance: 1, mean: 4, tokens: 30 },
    { distance: 3, mean: 5, tokens: 8 },
  ]);
  expect(svg.match(/<circle /g)).toHaveLength(2);
  expect(svg).toContain("8 tokens");
});
