import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refused } from "../../test/refusals.ts";
import { parsePattern, printPattern } from "./pattern.ts";
import {
  cycle,
  cycleReverse,
  middleCycle,
  middleSequence,
  type Plan,
  parsePlan,
  partsOf,
  printPlan,
  type Sharing,
  sequence,
  shareModes,
  uniqueOf,
} from "./plan.ts";

/** All 1 ≤ M ≤ N ≤ 24. */
const sizes: Sharing[] = Array.from({ length: 24 }, (_, n) =>
  Array.from({ length: n + 1 }, (_, m) => ({ unique: m + 1, depth: n + 1 })),
).flat();
const counts = (plan: Plan) => [...new Set(plan)].map((block) => plan.filter((each) => each === block).length);
const spread = (plan: Plan) => Math.max(...counts(plan)) - Math.min(...counts(plan));

it("a plan knows unique and depth, and no other option", () => {
  expect(() => cycle({ unique: 2, depth: 4, layers: 3 } as Sharing)).toThrow(
    "plan: expected unique and depth, got layers; leave it out",
  );
});

describe("sharing schedules", () => {
  it.each([
    ["sequence", 3, 6, "0,0,1,1,2,2"],
    ["cycle", 3, 6, "0,1,2,0,1,2"],
    ["cycle_rev", 3, 6, "0,1,2,2,1,0"],
    ["sequence", 3, 7, "0,0,0,1,1,2,2"],
    ["sequence", 5, 9, "0,0,1,1,2,2,3,3,4"],
    ["cycle", 3, 7, "0,1,2,0,1,2,0"],
    ["cycle_rev", 3, 7, "0,1,2,0,2,1,0"],
    ["cycle_rev", 3, 9, "0,1,2,0,1,2,2,1,0"],
    ["cycle_rev", 5, 9, "0,1,2,3,4,4,3,2,1"],
    ["cycle_rev", 6, 18, "0,1,2,3,4,5,0,1,2,3,4,5,5,4,3,2,1,0"],
    ["middle-cycle", 4, 6, "0,1,2,1,2,3"],
    ["middle-sequence", 4, 6, "0,1,1,2,2,3"],
    ["middle-cycle", 3, 6, "0,1,1,1,1,2"],
  ] as const)("%s with M = %i, N = %i is %s", (mode, unique, depth, text) => {
    expect(printPlan(shareModes[mode]({ unique, depth }))).toBe(text);
  });

  it("use every block at every size", () => {
    for (const sharing of sizes) {
      for (const schedule of [sequence, cycle, cycleReverse]) {
        const plan = schedule(sharing);
        expect([plan.length, uniqueOf(plan)]).toEqual([sharing.depth, sharing.unique]);
      }
    }
  });

  it("sequence and cycle spread the depths evenly, cycle_rev does up to N = 2M", () => {
    for (const sharing of sizes) {
      expect(spread(sequence(sharing))).toBeLessThanOrEqual(1);
      expect(spread(cycle(sharing))).toBeLessThanOrEqual(1);
      if (sharing.depth <= 2 * sharing.unique) expect(spread(cycleReverse(sharing))).toBeLessThanOrEqual(1);
    }
  });

  it("sequence never goes back, cycle always moves on, cycle_rev ends in reverse", () => {
    for (const sharing of sizes) {
      const { unique, depth } = sharing;
      expect(sequence(sharing)).toEqual([...sequence(sharing)].sort((a, b) => a - b));
      cycle(sharing).forEach((block, i) => {
        expect(block).toBe(i % unique);
      });
      const tail = cycleReverse(sharing).slice(depth - Math.min(unique, depth - unique));
      expect(tail).toEqual(tail.map((_, i) => unique - 1 - i));
    }
  });

  it("middle schedules leave first and last block unshared", () => {
    for (const sharing of sizes.filter(({ unique }) => unique >= 3)) {
      for (const plan of [middleCycle(sharing), middleSequence(sharing)]) {
        expect(uniqueOf(plan)).toBe(sharing.unique);
        expect([plan.indexOf(0), plan.lastIndexOf(0)]).toEqual([0, 0]);
        expect(plan.indexOf(sharing.unique - 1)).toBe(sharing.depth - 1);
      }
    }
  });

  it.each([
    [{ unique: 4, depth: 3 }, "unique 4, depth 3; lower unique or raise depth"],
    [{ unique: 0, depth: 3 }, "unique 0, depth 3"],
    [{ unique: 1.5, depth: 3 }, "unique 1.5, depth 3"],
  ])("refuse %o", (sharing, message) => {
    for (const schedule of Object.values(shareModes)) expect(() => schedule(sharing)).toThrow(message);
  });

  it("middle schedules ask for a block to share", () => {
    expect(() => middleCycle({ unique: 2, depth: 4 })).toThrow("plan middle-cycle: expected a first, a last and");
    expect(middleCycle({ unique: 2, depth: 2 })).toEqual([0, 1]);
  });
});

describe("plans as text", () => {
  it("are read with commas or spaces, and printed with commas", () => {
    expect(parsePlan("0,1, 2 2 1,0")).toEqual([0, 1, 2, 2, 1, 0]);
    for (const sharing of sizes) expect(parsePlan(printPlan(cycle(sharing)))).toEqual(cycle(sharing));
  });

  refused(parsePlan, [
    ["0,2,2", "got [0,2,2] without 1; number the blocks from 0 without gaps"],
    ["1,2", "got [1,2] without 0"],
    ["0,-1", 'got "0,-1"; write 0,1,2,2,1,0'],
    ["a", "expected block numbers with commas between"],
    ["", "expected block numbers with commas between"],
  ]);
});

describe("parts of layers", () => {
  const plan = [0, 1, 0];

  it("follow the plan all together by default", () => {
    expect(partsOf(plan)).toEqual(plan.map((i) => ({ attention: i, feedForward: i, norm: i })));
  });

  it("may be shared alone, and norms may belong to the depth", () => {
    const attention = partsOf(plan, { share: "attention", norms: "per-depth" });
    expect(attention.map((at) => [at.attention, at.feedForward, at.norm])).toEqual([
      [0, 0, 0],
      [1, 1, 1],
      [0, 2, 2],
    ]);
    const feedForward = partsOf(plan, { share: "feed-forward" });
    expect(feedForward.map((at) => [at.attention, at.feedForward, at.norm])).toEqual([
      [0, 0, 0],
      [1, 1, 1],
      [2, 0, 0],
    ]);
  });
});

describe("block patterns", () => {
  it("repeat groups", () => {
    const kinds = parsePattern("(sfff)x6(f)x8");
    expect(kinds).toHaveLength(32);
    expect(kinds.slice(0, 5)).toEqual(["attention", "feed-forward", "feed-forward", "feed-forward", "attention"]);
    expect(kinds.slice(-8)).toEqual(Array(8).fill("feed-forward"));
    expect(parsePattern("s i f")).toEqual(["attention", "identity", "feed-forward"]);
  });

  it("are printed so that they can be read again", () => {
    expect(printPattern(parsePattern("(sfff)x6(f)x8"))).toBe("(sfff)x6(f)x8");
    fc.assert(
      fc.property(fc.stringMatching(/^[sfi]{1,20}$/), (letters) => {
        const kinds = parsePattern(letters);
        expect(parsePattern(printPattern(kinds))).toEqual(kinds);
      }),
    );
  });

  it.each(["", "()", "(sf)x0", "(sf", "sfx", "(sf)x2)"])("%j is refused", (text) => {
    expect(() => parsePattern(text)).toThrow("pattern: expected letters s (attention)");
  });
});
