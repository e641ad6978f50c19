import { describe, expect, it } from "vitest";
import { smallModel } from "../../../test/tokenizer.models.ts";
import type { Model } from "./model.ts";
import { SentencePieceTokenizer } from "./tokenizer.ts";

/** Merges in this order; single letters last. */
const MERGES = ["ab", "▁ab", "bc", "abc", "cd"];
const scores = Object.fromEntries([...MERGES, ..."▁abcd"].map((piece, i) => [piece, -i]));

function pieces(text: string, change: (model: Model) => void = () => {}, symbols: string[] = []): string[] {
  const model = smallModel(scores, { trainer: { kind: "bpe" }, symbols });
  change(model);
  return new SentencePieceTokenizer(model, "test").encodePieces(text);
}

describe("BPE segmentation", () => {
  it("merges the best pair first", () => {
    expect(pieces("abcd")).toEqual(["▁ab", "cd"]);
    expect(pieces("cab")).toEqual(["▁", "c", "ab"]);
  });

  it("merges the leftmost of equal pairs first", () => {
    const model = smallModel({ "▁": -9, a: -9, aa: -1 }, { trainer: { kind: "bpe" } });
    expect(new SentencePieceTokenizer(model, "test").encodePieces("aaa")).toEqual(["▁", "aa", "a"]);
  });

  it("takes pieces apart that are not to be used", () => {
    const unused = (model: Model) => {
      model.pieces.find((piece) => piece.text === "▁ab")!.kind = "unused";
    };
    expect(pieces("ab", unused)).toEqual(["▁", "ab"]);
  });

  it("never merges the user's symbols", () => {
    expect(pieces("abab", undefined, ["ba"])).toEqual(["▁", "a", "ba", "b"]);
  });

  it("leaves unknown characters alone", () => {
    expect(pieces("a?b")).toEqual(["▁", "a", "?", "b"]);
  });
});

describe("word and character models", () => {
  it("take words, or characters, as they are", () => {
    const word = smallModel({ "▁the": -1, "▁cat": -1 }, { trainer: { kind: "word" } });
    expect([...new SentencePieceTokenizer(word, "test").encode("the dog cat")]).toEqual([3, 0, 4]);
    const char = smallModel({ "▁": -1, a: -1 }, { trainer: { kind: "char" }, symbols: ["<x>"] });
    expect(new SentencePieceTokenizer(char, "test").encodePieces("a<x>a")).toEqual(["▁", "a", "<x>", "a"]);
  });
});
