import { describe, expect, it } from "vitest";
import type { CandidateChoice } from "../../../model/par/par.ts";
import { computedBy, patternOfPath } from "./paths.ts";
import { randomPaths } from "./random.ts";

const block: readonly CandidateChoice[] = [{ kind: "attention" }, { kind: "feed-forward" }, { kind: "identity" }];
const choices = Array.from({ length: 12 }, () => block);
const costOf = (path: readonly number[]) => path.reduce((sum, place) => sum + [3, 1, 0][place]!, 4);
const draw = { choices, costOf, seed: 1, budget: "0.65", most: 18.2 };

describe("random networks within a cost", () => {
  it("are different ones within a tenth below it, the same for the same seed and budget", () => {
    const paths = randomPaths(draw, 20);
    expect(new Set(paths.map((path) => computedBy(choices, path))).size).toBe(20);
    for (const path of paths) {
      expect(costOf(path)).toBeLessThanOrEqual(18.2);
      expect(costOf(path)).toBeGreaterThan(0.9 * 18.2);
    }
    expect(randomPaths(draw, 3)).toEqual(paths.slice(0, 3));
    expect(randomPaths({ ...draw, seed: 2 }, 20)).not.toEqual(paths);
    expect(randomPaths({ ...draw, budget: "18.2ms" }, 20)).not.toEqual(paths);
  });

  it("are the dearest that keep to it where none is near, and as many as there are", () => {
    const two = [block, block];
    const cheap = randomPaths({ ...draw, choices: two, most: 4.9 }, 5);
    expect(cheap.map((path) => patternOfPath(two, path))).toEqual(["(i)x2"]);
    const all = randomPaths({ ...draw, choices: two, most: 100 }, 99);
    expect(all.map(costOf)).toEqual([10, 8, 8, 7, 6, 5, 4]);
  });

  it("keep to limits", () => {
    const hasAttention = (path: readonly number[]) => path.includes(0);
    expect(randomPaths({ ...draw, fits: hasAttention }, 9).every(hasAttention)).toBe(true);
    expect(randomPaths({ ...draw, fits: () => false }, 9)).toEqual([]);
  });
});
