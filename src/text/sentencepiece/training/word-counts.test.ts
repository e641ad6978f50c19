import { describe, expect, it } from "vitest";
import { writeCharsmap } from "../charsmap.ts";
import { defaultNormaliserSpec } from "../model.ts";
import { fragmentsOf } from "./fragments.ts";
import { WordCounts } from "./word-counts.ts";

const spec = {
  ...defaultNormaliserSpec(),
  charsmap: writeCharsmap(
    new Map([
      ["A", "a"],
      ["\u00a0", " "],
    ]),
  ),
};

function countsOf(lines: readonly string[], split = true): Record<string, number> {
  const counts = new WordCounts(spec, split);
  for (const line of lines) counts.add(line);
  return Object.fromEntries(counts.finish());
}

describe("word counts", () => {
  it("count normalised words", () => {
    expect(countsOf(["A cat  a\u00a0cat", "", " cat"])).toEqual({ "▁a": 2, "▁cat": 3 });
  });

  it("see a literal mark as the line's normal form has it", () => {
    expect(countsOf(["a▁b c", "c"])).toEqual({ "▁a": 1, "▁b": 1, "▁c": 2 });
  });

  it("count whole lines where pieces may reach over spaces", () => {
    expect(countsOf(["a b", "a b"], false)).toEqual({ "▁a▁b": 2 });
  });

  it("leave out words that are too long", () => {
    const counts = new WordCounts(spec, true);
    counts.add(`a ${"b".repeat(10_000)}`);
    expect([...counts.finish().keys()]).toEqual(["▁a"]);
    expect(counts.skipped).toBe(1);
  });
});

describe("fragments", () => {
  const words = new Map([
    ["▁the", 90],
    ["▁th@-@e", 9],
    ["▁éz", 1],
  ]);

  it("are cut at symbols and at characters that are not covered", () => {
    const { characters, counts, starts, symbols } = fragmentsOf(words, ["@-@"], 0.99);
    const texts = Array.from(counts, (_, f) =>
      [...symbols.subarray(starts[f], starts[f + 1]! - 1)].map((symbol) => characters[symbol - 1]).join(""),
    );
    expect(Object.fromEntries(texts.map((text, i) => [text, counts[i]]))).toEqual({
      "▁the": 90,
      "▁th": 9,
      e: 9,
      "▁": 1,
    });
  });

  it("cover all characters where asked", () => {
    expect(fragmentsOf(words, [], 1).characters).toEqual(expect.arrayContaining(["é", "z", "@", "-"]));
  });
});
