import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ENGLISH, smallModel } from "../../../test/tokenizer.models.ts";
import { SentencePieceTokenizer } from "./tokenizer.ts";

/** The best segmentation by trying all of them. */
function bestOf(text: string, scores: Readonly<Record<string, number>>): number {
  if (text === "") return 0;
  let best = Number.NEGATIVE_INFINITY;
  for (const [piece, score] of Object.entries(scores)) {
    if (text.startsWith(piece)) best = Math.max(best, score + bestOf(text.slice(piece.length), scores));
  }
  return best;
}

describe("unigram segmentation", () => {
  it("finds a path as good as any", () => {
    const tokenizer = new SentencePieceTokenizer(smallModel(ENGLISH), "test");
    const word = fc.stringMatching(/^[seat]{1,7}$/u);
    fc.assert(
      fc.property(word, (text) => {
        const pieces = tokenizer.encodePieces(text);
        const score = pieces.reduce((sum, piece) => sum + ENGLISH[piece]!, 0);
        expect(score).toBeCloseTo(bestOf(`▁${text}`, ENGLISH), 4); // sums of 32-bit floats
        expect(pieces.join("")).toBe(`▁${text}`);
      }),
    );
  });

  it("makes one unknown piece of a run of unknown characters", () => {
    const tokenizer = new SentencePieceTokenizer(smallModel(ENGLISH), "test");
    expect(tokenizer.encodePieces("ca日本t")).toEqual(["▁ca", "日本", "t"]);
    expect([...tokenizer.encode("日本 日本")]).toEqual([3, 0, 3, 0]);
  });

  it("falls back to bytes where the model can", () => {
    const tokenizer = new SentencePieceTokenizer(smallModel(ENGLISH, { trainer: { byteFallback: true } }), "test");
    expect(tokenizer.encodePieces("té")).toEqual(["▁", "t", "<0xC3>", "<0xA9>"]);
    expect(tokenizer.decode(tokenizer.encode("té \u0000日"))).toBe("té \u0000日");
  });

  it("keeps the user's symbols whole", () => {
    const tokenizer = new SentencePieceTokenizer(smallModel(ENGLISH, { symbols: ["@-@", "ca"] }), "test");
    expect(tokenizer.encodePieces("the@-@cat")).toEqual(["▁the", "@-@", "ca", "t"]);
  });

  it("follows the release asked for where two segmentations tie", () => {
    const model = smallModel({ "▁": -1, i: -4.3, ii: -5.1 });
    const current = new SentencePieceTokenizer(model, "test").encodePieces("iii");
    expect(current).toEqual(["▁", "i", "ii"]);
    expect(new SentencePieceTokenizer(model, "test", "0.2.0").encodePieces("iii")).toHaveLength(3);
  });

  it("never produces control pieces from text", () => {
    const tokenizer = new SentencePieceTokenizer(smallModel({ ...ENGLISH, "<": -5, ">": -5, "/": -5 }), "test");
    expect([...tokenizer.encode("<s></s>")].every((id) => id > 2)).toBe(true);
  });
});
