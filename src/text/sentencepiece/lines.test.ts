import { describe, expect, it } from "vitest";
import { ENGLISH, smallModel } from "../../../test/tokenizer.models.ts";
import { lineDecoder, lineEncoder } from "./lines.ts";
import { SentencePieceTokenizer } from "./tokenizer.ts";
import { toBytes } from "./utf8.ts";

const tokenizer = new SentencePieceTokenizer(smallModel(ENGLISH), "test");

describe("lines", () => {
  it("become ids or pieces, and text again", () => {
    for (const pieces of [false, true]) {
      const line = lineEncoder(tokenizer, pieces)(toBytes("the cat sat"), "here");
      expect(lineDecoder(tokenizer, pieces)(toBytes(line), "here")).toBe("the cat sat");
    }
  });

  it("stay empty if they are", () => {
    expect(lineEncoder(tokenizer, false)(toBytes(""), "here")).toBe("");
    expect(lineDecoder(tokenizer, false)(toBytes("\r"), "here")).toBe("");
  });

  it("may hold bytes that are not text", () => {
    expect(lineEncoder(tokenizer, true)(Uint8Array.of(0x74, 0xff), "here")).toBe("▁ t \ufffd");
  });

  it("name what is not an id", () => {
    expect(() => lineDecoder(tokenizer, false)(toBytes("3 x"), "ids.txt: line 4")).toThrow(
      'ids.txt: line 4: expected ids from 0 to 20, got "x"',
    );
  });
});
