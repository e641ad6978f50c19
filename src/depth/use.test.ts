import { describe, expect, it } from "vitest";
import { parseDepth, printDepth } from "./notation.ts";
import { type DepthUse, usedDepth } from "./use.ts";

const used = (text: string, use: DepthUse) => printDepth(usedDepth(parseDepth(text), use));

describe("depth at use time", () => {
  it.each<[string, DepthUse, string]>([
    ["1 + 2 loop(4, mean=2) + 1", { loops: 9 }, "1 + 2 loop(4, mean=2, use=9) + 1"],
    ["(2*3 halt)*2", { cap: 4 }, "(2*3 halt(cap=4))*2"],
    ["1*4 route(expert, threshold=0.5)", { threshold: 0.7, cap: 3 }, "1*4 route(expert, threshold=0.7, cap=3)"],
    ["1 route(token) + 1*4 route(expert)", { threshold: 0.7 }, "1 route(token) + 1*4 route(expert, threshold=0.7)"],
    ["4 exits(gate)", { exit: { kind: "difference", level: 0.1 } }, "4 exits(gate, rule=difference, level=0.1)"],
    ["4 exits(rule=entropy, level=2)", { exit: { kind: "last" } }, "4 exits(rule=last)"],
  ])("%s with %j is %s", (text, use, expected) => {
    expect(used(text, use)).toBe(expected);
  });

  it.each<[string, DepthUse, string]>([
    ["6", { loops: 2 }, 'loops in use: expected a depth with loop, got "6"; leave it out'],
    ["2 loop(3)", { cap: 2 }, "expected a depth with halt, route, drop"],
    ["1*4 route(token)", { threshold: 0.9 }, "threshold in use: expected a depth with route(expert)"],
    ["2*3 halt", { exit: { kind: "last" } }, "expected a depth with exits"],
    ["2*3 halt", { lops: 2 } as DepthUse, "did you mean loops?"],
  ])("%s is not to be had with %j", (text, use, message) => {
    expect(() => used(text, use)).toThrow(message);
  });
});
