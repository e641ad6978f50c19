import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { bleu, tokenise13a } from "./bleu.ts";

interface Case {
  name: string;
  translations: string[];
  references: string[][];
  lowercase: boolean;
  score: number;
  precisions: number[];
  brevityPenalty: number;
  systemLength: number;
  referenceLength: number;
}

/** Made by test/bleu/make.py with SacreBLEU. */
const { cases } = JSON.parse(readFileSync("test/bleu/cases.json", "utf8")) as { cases: Case[] };

describe("BLEU", () => {
  it.each(cases.map((each, i) => [`${i} ${each.name}`, each] as const))("agrees with SacreBLEU: %s", (_, each) => {
    const found = bleu(each.translations, each.references, each);
    expect([found.systemLength, found.referenceLength]).toEqual([each.systemLength, each.referenceLength]);
    // Double precision on both sides; only the order of a sum of four logarithms may differ.
    expect(found.score).toBeCloseTo(each.score, 9);
    expect(found.brevityPenalty).toBeCloseTo(each.brevityPenalty, 12);
    found.precisions.forEach((precision, n) => {
      expect(precision).toBeCloseTo(each.precisions[n]!, 9);
    });
  });

  it("keeps numbers and hyphenated words together, and takes punctuation apart", () => {
    expect(tokenise13a("A 1,024.5-litre (blue-white) tank.")).toEqual(
      ["A", "1,024.5", "-", "litre", "(", "blue-white", ")", "tank", "."], //
    );
  });

  it("asks for a reference to each translation", () => {
    expect(() => bleu(["a", "b"], [["a"]])).toThrow(
      "BLEU: expected as many references as translations, at least one, got 2 translations, 1 references",
    );
    expect(() => bleu([], [[]])).toThrow("got 0 translations, 0 references");
  });
});
