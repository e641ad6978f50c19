import { describe, expect, it } from "vitest";
import { depthByWord, WORD_KINDS, wordKind } from "./word-depths.ts";

describe("depth by words", () => {
  it("tells kinds of pieces by their letters", () => {
    const kinds = ["▁the", "▁Alice", "▁rabbit", "bit", "▁1865", ",", "▁—", "ĠWith", "Ġhole"].map(wordKind);
    expect(kinds).toEqual([...WORD_KINDS, "punctuation", "function word", "other word"]);
  });

  it("gives rows by kind, and by fourths of surprise from the least", () => {
    const token = (piece: string, depth: number, surprise?: number) => ({
      piece,
      depth,
      surprise,
      cosines: [],
      halting: [],
    });
    const line = [token("▁the", 1, 3), token("▁cat", 4, 0.5), token("▁a", 3, 2), token("▁dog", 2, 1), token(".", 4)];
    const { kinds, surprises, tokens } = depthByWord([line], 4);
    expect(kinds.map(({ name, mean, atCap }) => [name, mean, atCap])).toEqual([
      ["function word", 2, 0],
      ["other word", 3, 0.5],
      ["punctuation", 4, 1],
    ]);
    expect(surprises.map(({ name, mean }) => [name, mean])).toEqual([
      ["1: 0.50 to 0.50 nats", 4],
      ["2: 1.00 to 1.00 nats", 2],
      ["3: 2.00 to 2.00 nats", 3],
      ["4: 3.00 to 3.00 nats", 1],
    ]);
    expect(tokens[4]).toMatchObject({ text: 0, kind: "punctuation" });
  });
});
