import { describe, expect, it } from "vitest";
import { foldCharacter } from "./case-folding.ts";
import { writeCharsmap } from "./charsmap.ts";
import { defaultNormaliserSpec } from "./model.ts";
import { type Normalisation, normalisationRules } from "./normalisation-rules.ts";
import { Normaliser } from "./normaliser.ts";
import { toBytes, toText } from "./utf8.ts";

function normaliserFor(name: Normalisation): (text: string) => string {
  const spec = { ...defaultNormaliserSpec(), charsmap: writeCharsmap(normalisationRules(name)), addDummyPrefix: false };
  const normaliser = new Normaliser(
    { ...spec, removeExtraWhitespaces: false, escapeWhitespaces: false },
    [],
    false,
    name,
  );
  return (text) => {
    const bytes = toBytes(text);
    return toText(normaliser.output.slice(0, normaliser.run(bytes, bytes.length)));
  };
}

describe("the rules of a normalisation", () => {
  const nfkc = normaliserFor("nfkc");

  it("normalise every character as Unicode says", () => {
    const wrong: string[] = [];
    for (let code = 1; code <= 0x2fa1f; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const character = String.fromCodePoint(code);
      if (nfkc(character) !== character.normalize("NFKC")) wrong.push(code.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  it("compose sequences, Hangul in all its spellings included", () => {
    for (const text of ["e\u0301", "A\u030a", "각", "ㄱㅏ", "ﾡￂ", "カ\u3099", "ｶﾞ", "\u1100\u1161\u11a8x"]) {
      expect(nfkc(text)).toBe(text.normalize("NFKC"));
    }
  });

  it("fold case, one character to one", () => {
    const folding = normalisationRules("nfkc_cf");
    expect([..."AÉＡΣς", "E\u0301"].map((text) => folding.get(text))).toEqual([..."aéaσσé"]);
    expect([..."ßẞİıſΩǅᏀꭰ"].map(foldCharacter).join("")).toBe("ßßİısωǆᏀᎠ");
  });

  it("clean control characters and odd spaces where the name begins with nmt", () => {
    const cleaning = normalisationRules("nmt_nfkc");
    expect(["\t", "\u200b", "\u0007", "～"].map((text) => cleaning.get(text))).toEqual([" ", " ", "", undefined]);
  });
});
