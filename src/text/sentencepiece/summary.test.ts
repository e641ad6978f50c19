import { expect, it } from "vitest";
import { ENGLISH, smallModel } from "../../../test/tokenizer.models.ts";
import { summarise, summaryText } from "./summary.ts";

it("a summary counts pieces by kind and names the special ones", () => {
  const summary = summarise(smallModel(ENGLISH, { symbols: ["@-@"] }));
  expect(summary).toMatchObject({ type: "unigram", pieces: 22, normalisation: "identity", userSymbols: ["@-@"] });
  expect(summary.byKind).toMatchObject({ normal: 18, unknown: 1, control: 2, user: 1 });
  expect(summary.special).toEqual({
    unknown: { id: 0, piece: "<unk>" },
    bos: { id: 1, piece: "<s>" },
    eos: { id: 2, piece: "</s>" },
  });
  expect(summary.pieceLength.longest).toBe(4);
  expect(summaryText(summary)).toContain("22 (18 normal, 1 unknown, 2 control, 1 user");
});
