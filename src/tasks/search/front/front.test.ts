import { describe, expect, it } from "vitest";
import { contendersWithin, type Front, type FrontNetwork, regularWithin } from "./front.ts";

const network = (pattern: string, ms: number, perplexity: number): FrontNetwork => {
  return { pattern, ms, ratio: ms / 10, parameters: 1, perplexity };
};
const finalists = [
  network("(sf)x4", 9, 50),
  network("sfs(f)x4i", 6, 51),
  network("sfs(f)x3(i)x2", 5.8, 51.1),
  network("(sff)x2(f)x2", 5, 52),
  network("sfs(f)x2(i)x3", 5.6, 52.2),
  network("(sff)x2(i)x2", 4.6, 53),
];
const front: Front = {
  ...{ networks: [finalists[3]!, finalists[1]!, finalists[0]!], finalists, chosen: "(sf)x4", baselineMs: 10 },
  ...{ targetMs: null, measured: 9, tokens: 9, shape: { batch: 1, length: 8, memory: 4 } },
};
const patterns = (most: number, count: number) => contendersWithin(front, most, count).map(({ pattern }) => pattern);

describe("contenders within a budget", () => {
  it("differ in more than how often their last block stands there", () => {
    expect(patterns(6, 2)).toEqual(["sfs(f)x4i", "(sff)x2(f)x2"]);
  });

  it("are others of the kind where too few are left, the best in the supernet first", () => {
    expect(patterns(6, 3)).toEqual(["sfs(f)x4i", "sfs(f)x3(i)x2", "(sff)x2(f)x2"]);
    expect(patterns(10, 9)).toEqual(finalists.map(({ pattern }) => pattern));
  });

  it("are those of the front where an older version kept no others", () => {
    const { finalists: _, ...older } = front;
    expect(contendersWithin(older, 7, 5).map(({ ms }) => ms)).toEqual([6, 5]);
  });

  it("have a regular one beside them: the first that is cheap enough", () => {
    const regular = [network("(sf)x4", 9, 0), network("(sf)x2(f)x4", 6, 0), network("(sf)x2(f)x3i", 5.8, 0)];
    expect([10, 6, 5.9, 3].map((most) => regularWithin({ ...front, regular }, most)?.pattern)).toEqual([
      "(sf)x4",
      "(sf)x2(f)x4",
      "(sf)x2(f)x3i",
      undefined,
    ]);
    expect(regularWithin(front, 10)).toBe(undefined); // of an older version
  });

  it("are refused where no network is so cheap", () => {
    expect(() => patterns(1, 2)).toThrow("budget: expected at least 5.00 ms, the cheapest network of the front");
  });
});
