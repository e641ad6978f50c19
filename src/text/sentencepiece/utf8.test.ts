import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toBytes, toTextBytewise, validLength } from "./utf8.ts";

describe("UTF-8", () => {
  it("accepts every character and gives its length", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 1 }), (character) => {
        const bytes = toBytes(character);
        expect(validLength(bytes, 0, bytes.length)).toBe(bytes.length);
      }),
    );
  });

  it.each([
    ["an overlong slash", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a number above U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
    ["a lone continuation byte", [0x80]],
    ["a cut sequence", [0xe2, 0x96]],
  ])("refuses %s", (_, bytes) => {
    expect(validLength(Uint8Array.from(bytes), 0, bytes.length)).toBe(0);
  });

  it("replaces each bad byte by itself", () => {
    expect(toTextBytewise(Uint8Array.of(0x61, 0xe2, 0x96, 0x62))).toBe("a\ufffd\ufffdb");
  });
});
