import { describe, expect, it } from "vitest";
import { parseDepth } from "./notation.ts";
import { outlineOf } from "./outline.ts";

const outline = (text: string) => outlineOf(parseDepth(text));

describe("the outline of a depth", () => {
  it("says what each part is, how often it runs, and where tokens may stop", () => {
    const [two, core] = outline("2 + 4*3 halt");
    expect(two).toEqual({ text: "2", depths: 2, passes: 1, meaning: "2 blocks", stops: [] });
    expect(core).toMatchObject({ text: "4*3 halt", depths: 12, passes: 3 });
    expect(core!.meaning).toBe("4 blocks, 3 times with the same weights; every token halts by itself");
    expect(core!.stops).toHaveLength(12);
  });

  it.each([
    ["(4)*3 halt", [3, 7, 11]],
    ["3*3 exits(gate, every=3)", [2, 5, 8]],
    ["5 exits(rule=difference, every=2)", [1, 3, 4]],
    ["1*3 route(token)", [0, 1, 2]],
    ["2 loop(3)", []],
    ["4 drop(0.2)", []],
  ])("has stops of %s after %j", (text, stops) => {
    expect(outline(text)[0]!.stops).toEqual(stops);
  });

  it("has the letters of patterns at every depth, and words of brackets", () => {
    expect(outline("(sf)x1*2")[0]!.letters).toEqual(["s", "f", "s", "f"]);
    expect(outline("(2*2 halt)*3 exits")[0]!.meaning).toContain("every token halts by itself; tokens leave at exits");
  });
});
