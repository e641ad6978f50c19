import { describe, expect, it } from "vitest";
import { writeCharsmap } from "./charsmap.ts";
import { defaultNormaliserSpec, type NormaliserSpec } from "./model.ts";
import { Normaliser } from "./normaliser.ts";
import { toBytes, toText } from "./utf8.ts";

const RULES = new Map([
  ["A", "a"],
  ["e\u0301", "é"],
  ["\u00a0", " "],
  ["\u00ad", ""],
  ["½", "1⁄2"],
  ["¨", " \u0308"],
]);

function normalise(
  text: string | Uint8Array,
  spec: Partial<NormaliserSpec> = {},
  symbols: string[] = [],
  suffix = false,
) {
  const charsmap = writeCharsmap(RULES);
  const normaliser = new Normaliser({ ...defaultNormaliserSpec(), charsmap, ...spec }, symbols, suffix, "test");
  const bytes = typeof text === "string" ? toBytes(text) : text;
  return toText(normaliser.output.subarray(0, normaliser.run(bytes, bytes.length)));
}

describe("a normaliser", () => {
  it("applies the longest rule and keeps what has none", () => {
    expect(normalise("Ae\u0301e½z")).toBe("▁aée1⁄2z");
  });

  it("merges, trims and marks spaces, those that rules make included", () => {
    expect(normalise("  a \u00a0 b¨  ")).toBe("▁a▁b▁\u0308");
    expect(normalise(" \u00a0 ")).toBe("");
    expect(normalise("")).toBe("");
  });

  it("keeps spaces where the model does", () => {
    expect(normalise(" a  b ", { removeExtraWhitespaces: false })).toBe("▁▁a▁▁b▁");
    expect(normalise(" a  b", { removeExtraWhitespaces: false, addDummyPrefix: false })).toBe("▁a▁▁b");
    expect(normalise("a b", { escapeWhitespaces: false })).toBe(" a b");
  });

  it("puts the space behind where the model does", () => {
    expect(normalise("a b", {}, [], true)).toBe("a▁b▁");
  });

  it("leaves the user's symbols as they are", () => {
    expect(normalise("AAxA", {}, ["Ax"])).toBe("▁aAxa");
  });

  it("replaces each byte that is not UTF-8", () => {
    expect(normalise(Uint8Array.of(0x61, 0xff, 0xe2, 0x96))).toBe("▁a\ufffd\ufffd\ufffd");
  });

  it("knows whether words can be normalised one by one", () => {
    const wordwise = (rules: Map<string, string>, symbols: string[] = []) =>
      new Normaliser({ ...defaultNormaliserSpec(), charsmap: writeCharsmap(rules) }, [], false, "test").isWordwise(
        symbols,
      );
    expect(wordwise(RULES)).toBe(true);
    expect(wordwise(RULES, ["a b"])).toBe(false);
    expect(wordwise(new Map([["a b", "ab"]]))).toBe(false);
    expect(wordwise(new Map([[" b", "b"]]))).toBe(false);
    expect(wordwise(new Map([[" ", "_"]]))).toBe(true);
    expect(wordwise(new Map([["x", "▁"]]))).toBe(false);
  });
});
