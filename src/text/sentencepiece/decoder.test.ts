import { describe, expect, it } from "vitest";
import { ENGLISH, smallModel } from "../../../test/tokenizer.models.ts";
import { SentencePieceTokenizer } from "./tokenizer.ts";

const tokenizer = new SentencePieceTokenizer(smallModel(ENGLISH), "test");

describe("decoding", () => {
  it("turns marks into spaces and drops the first", () => {
    expect(tokenizer.decodePieces(["▁the", "▁cat", "s"])).toBe("the cats");
  });

  it("drops all leading spaces where extra ones are removed, else only one", () => {
    expect(tokenizer.decodePieces(["▁", "▁", "▁cat"])).toBe("cat");
    const model = smallModel(ENGLISH, { normaliser: { removeExtraWhitespaces: false } });
    expect(new SentencePieceTokenizer(model, "test").decodePieces(["▁", "▁", "▁cat"])).toBe("  cat");
  });

  it("shows nothing for control pieces and a sign for the unknown piece", () => {
    expect(tokenizer.decode([1, 0, 2])).toBe(" \u2047 ");
    expect(tokenizer.decodePieces(["▁the", "日本"])).toBe("the日本");
  });

  it("puts bytes together, one replacement for each that fits nowhere", () => {
    const model = smallModel(ENGLISH, { trainer: { byteFallback: true } });
    const bytes = new SentencePieceTokenizer(model, "test");
    expect(bytes.decodePieces(["▁cat", "<0xC3>", "<0xA9>", "<0xC3>", "s", "<0xFF>"])).toBe("caté\ufffds\ufffd");
  });

  it("names an id that does not exist", () => {
    expect(() => tokenizer.decode([3, 999])).toThrow(`test: expected an id from 0 to ${tokenizer.size - 1}, got 999`);
  });

  it("says what pieces and ids belong together", () => {
    expect(tokenizer.pieceOf(tokenizer.idOf("▁the"))).toBe("▁the");
    expect(tokenizer.idOf("nothing")).toBe(tokenizer.unknownId);
    expect([tokenizer.bosId, tokenizer.eosId, tokenizer.padId]).toEqual([1, 2, -1]);
  });
});
