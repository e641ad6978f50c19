import { describe, expect, it } from "vitest";
import type { PieceTokenizer } from "../masked/documents.ts";
import { alignWords, plainWords } from "./alignment.ts";

/** Cuts at spaces, and words into pieces of at most three letters. */
const chunks = (text: string) =>
  text.split(" ").flatMap((word) => (`▁${word}`.match(/▁?[^▁]{1,3}/gu) ?? []) as string[]);
const tokenizer: PieceTokenizer = {
  size: 9,
  encode: (text) => Int32Array.from(chunks(text), (piece) => piece.length),
  encodePieces: (text) => chunks(String(text)),
  pieceOf: () => "",
  idOf: () => 0,
};
const word = (form: string, spaceAfter = true) => ({ form, spaceAfter });

describe("alignment of words and pieces", () => {
  it("gives every piece the word it is a part of", () => {
    const { pieces, words } = alignWords([word("Running"), word("home", false), word(".")], tokenizer);
    expect(pieces).toEqual(["▁run", "nin", "g", "▁hom", "e."]);
    expect([...words]).toEqual([0, 0, 0, 1, 1]);
  });

  it("gives a piece of two words to the one with more letters", () => {
    // did + n't: "did", "n't"; ca + n't: "can" is two thirds "ca"
    expect([...alignWords([word("did", false), word("n't")], tokenizer).words]).toEqual([0, 1]);
    expect([...alignWords([word("ca", false), word("n't")], tokenizer).words]).toEqual([0, 1]);
  });

  it("cuts plain text at spaces", () => {
    expect(plainWords("He left .")).toEqual([word("He"), word("left"), word(".", false)]);
  });
});
