import { describe, expect, it } from "vitest";
import { refused } from "../../test/refusals.ts";
import { RandomStream } from "../base/random.ts";
import {
  type Depth,
  type DepthPart,
  type DepthWord,
  executedDepth,
  meanFraction,
  parseDepth,
  planOfDepth,
  printDepth,
  type Stack,
} from "./notation.ts";

const words: readonly DepthWord[] = [
  { name: "halt", options: {} },
  { name: "halt", options: { ponder: 0.02, biasInitial: -3, stepEmbedding: true } },
  { name: "loop", options: { most: 8, mean: 4.5, injection: "diagonal", gradientLoops: 2 } },
  { name: "exits", options: { gate: true, entropy: 1e-7 } },
  { name: "route", options: { choice: "expert", capacity: [1, 0.5, 0.25] } },
  { name: "drop", options: { dropout: 0.2, growing: true } },
  { name: "drop", options: { exitLoss: 0.1 } },
];
const patterns = ["sf", "(sff)x2f", "s f:1024", "(s:2 f:64)x3", "i"];

/** A depth at random, at most so many brackets deep. */
function drawn(random: RandomStream, nesting = 2): Depth {
  const pick = <T>(of: readonly T[]) => of[random.integer(of.length)]!;
  const stack = (): Stack => {
    const kind = random.integer(nesting > 0 ? 3 : 2);
    if (kind === 2) return { group: drawn(random, nesting - 1) };
    return kind === 1 ? { pattern: pick(patterns) } : { count: 1 + random.integer(12) };
  };
  const part = (): DepthPart => {
    const [blocks, word] = [stack(), random.integer(2) === 0 ? [pick(words)] : []];
    const relax: DepthWord[] = "group" in blocks ? [] : [{ name: "relax", options: { rank: 4, norms: true } }];
    const passes = word[0]?.name === "loop" ? 1 : 1 + random.integer(3);
    return { stack: blocks, passes, words: [...word, ...(random.integer(3) === 0 ? relax : [])] };
  };
  return Array.from({ length: 1 + random.integer(3) }, part);
}

describe("depth as text", () => {
  it("is read as it was printed, whatever it says", () => {
    const random = new RandomStream(1, "depths");
    const depths = Array.from({ length: 300 }, () => drawn(random)).filter((depth) => executedDepth(depth) <= 4096);
    expect(depths.length).toBeGreaterThan(200);
    for (const depth of depths) expect(parseDepth(printDepth(depth)), printDepth(depth)).toEqual(depth);
  });

  it.each([
    ["6", [0, 1, 2, 3, 4, 5]],
    ["2*3", [0, 1, 0, 1, 0, 1]],
    ["1 + 2*2 halt + 1", [0, 1, 2, 1, 2, 3]],
    ["1 + 2 loop(2) + 1", [0, 1, 2, 1, 2, 3]],
    ["(sf)x2", [0, 1, 2, 3]],
    ["(sf)*2", [0, 1, 0, 1]],
    ["(1 + 1*2)*2", [0, 1, 1, 0, 1, 1]],
  ])("%s says which block runs at each depth", (text, plan) => {
    expect(planOfDepth(parseDepth(text))).toEqual(plan);
    expect(executedDepth(parseDepth(text))).toBe(plan.length);
  });

  it.each([
    ["4*3", 1],
    ["4 loop(8, mean=2)", 0.25],
    ["1*4 route(expert)", 0.625],
    ["1*2 route(expert, capacity=1/0.5)", 0.75],
    ["(2 + 2 loop(3, mean=1))*2", 0.5],
    ["4 halt", undefined],
    ["(2 + 2 exits)*2", undefined],
  ])("%s runs a known fraction of its blocks in the mean, or says that tokens decide", (text, fraction) => {
    expect(meanFraction(parseDepth(text)[0]!)).toBe(fraction);
  });

  refused(parseDepth, [
    ["4x3", '"x3" at character 2; write 4*3 to run them 3 times with the same weights, 12 for weights of their own'],
    ["sfx3", "write (sf)*3 to run them 3 times with the same weights, (sf)x3 for weights of their own"],
    ["2 + 4*3 hlat", 'expected one of halt, loop, exits, route, drop, relax, got "hlat" at character 9; write halt'],
    ["4 loop", "expected what loop needs, in brackets, got its end; write loop(4)"],
    ["4 loop(8, maen=3)", "character 11; write mean"],
    ["4 loop(8, injection=ad)", 'expected one of none, add, linear, diagonal, got "ad)" at character 21; write add'],
    ["4 halt(ponder=1, ponder=2)", "expected ponder once"],
    ["4 halt(ponder=much)", 'expected a number, got "much)" at character 15'],
    ["(2 + 3", "got its end; close the bracket"],
    ["2 + 3)", 'got ")" at character 6; leave out the bracket'],
    ["2 +", "expected blocks: a count such as 4, letters such as (sf)x3, or parts in brackets, got its end"],
    ["0", "expected blocks"],
    ["4.5", "expected blocks"],
    ["4*3 loop(2)", "leave out *3"],
    ["4 halt exits", "put brackets around what halt is to decide"],
    ["(2 + 2)*2 relax(4)", "expected relax inside the brackets"],
    ["4*3 relax", "write relax(8) or relax(norms)"],
    ["99*999", "expected at most 4096 depths, got 98901"],
  ]);
});
