import { describe, expect, it } from "vitest";
import { brokenJsonLine, jsonLine } from "./json-place.ts";

describe("places in JSON", () => {
  const text = '{\n "a": [1, {"b":\n "x\\"}"},\n -2.5e3],\n "c": {}, "d": [],\n "e": [\n  [null]]\n}\n';

  it("are lines of values by their path", () => {
    const line = (...path: (string | number)[]) => jsonLine(text, path);
    expect([line(), line("a"), line("a", 1), line("a", 1, "b"), line("a", 2), line("d")]).toEqual([1, 2, 2, 3, 4, 5]);
    expect([line("e", 0), line("e", 7), line("none")]).toEqual([7, 6, 1]);
  });

  it.each([
    ["a comma too many", '{\n"a": 1,\n}', 3],
    ["a comma too few", '{\n"a": 1\n\n"b": 2}', 4],
    ["an open string", '{\n"a": "x\n}', 2],
    ["an open list", "[1,\n2\n", 3],
    ["a word", "[\ntrue,\nyes]", 3],
    ["more than one value", "{}\n{}", 2],
    ["nothing", "", 1],
  ])("are where JSON is broken by %s", (_, broken, line) => {
    expect(() => JSON.parse(broken)).toThrow();
    expect(brokenJsonLine(broken)).toBe(line);
  });

  it("say nothing of what is not broken", () => {
    for (const whole of [text, "[]", " {} ", "3", '"\\u00e9"', "[0.5, -0, 1E+2, false]"]) {
      JSON.parse(whole);
      expect(brokenJsonLine(whole)).toBeUndefined();
    }
  });
});
