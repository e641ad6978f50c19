import { describe, expect, it } from "vitest";
import { htmlView, sentenceLines, svgView, terminalView } from "./depth-view.ts";

const tokens = [
  { piece: "[CLS]", depth: 6 },
  { piece: "▁run", depth: 1 },
  { piece: "ning", depth: 3 },
  { piece: "▁<b>", depth: 12 },
];

describe("a sentence by depth", () => {
  it("stands with its figures where there are no colours", () => {
    expect(terminalView(tokens, 12, false)).toBe("[CLS]₆ run₁ning₃ <b>₁₂");
  });

  it("keeps the pieces of a word on one line", () => {
    const word = ["▁he", "▁under", "st", "ood"].map((piece) => ({ piece, depth: 2 }));
    expect(sentenceLines(word, 13).map((line) => line.map(({ piece }) => piece))).toEqual([
      ["▁he"],
      ["▁under", "st", "ood"],
    ]);
  });

  it("is brighter where it is deeper on a dark terminal", () => {
    const view = terminalView(tokens, 12, true);
    expect(view).toContain("48;2;24;32;44m\x1b[38;2;255;255;255mrun");
    expect(view).toContain("48;2;222;240;255m\x1b[38;2;20;20;20m<b>");
  });

  it("is darker where it is deeper on a light one", () => {
    const view = terminalView(tokens, 12, true, "light");
    expect(view).toContain("48;2;240;244;255m\x1b[38;2;20;20;20mrun");
    expect(view).toContain("48;2;20;44;110m\x1b[38;2;255;255;255m<b>");
  });

  it("escapes pieces in HTML and SVG", () => {
    for (const picture of [htmlView([tokens], 12, "a & b"), svgView(tokens, 12, "a & b")]) {
      expect(picture).toContain("&lt;b&gt;");
      expect(picture).toContain("a &amp; b");
      expect(picture).not.toContain("<b>");
    }
  });
});
