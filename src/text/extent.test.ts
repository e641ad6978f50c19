import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesIn, wordsIn } from "./extent.ts";

/** Every unit that some rule knows, and pairs of surrogates whole and torn. */
const units = fc.oneof(
  fc.constantFrom(
    "\t",
    "\v",
    " ",
    "a",
    "\u0085",
    "\u00a0",
    "é",
    "\u1680",
    "\u180e",
    "\u200a",
    "\u200b",
    "\u2028",
    "\u3000",
    "\ufeff",
  ),
  fc.constantFrom("\ud83d", "\ude00", "😀", "中"),
  fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
);
const lines = fc.array(units, { maxLength: 30 }).map((parts) => parts.join(""));

describe("the extent of a line", () => {
  it("has the words that white space separates", () => {
    fc.assert(fc.property(lines, (line) => void expect(wordsIn(line)).toBe(line.match(/\S+/g)?.length ?? 0)));
  });

  it("tells every unit of white space as regular expressions do", () => {
    const wrong = Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit)).filter(
      (unit) => (wordsIn(unit) === 0) !== /\s/.test(unit),
    );
    expect(wrong).toEqual([]);
  });

  it("has the bytes of its UTF-8", () => {
    fc.assert(fc.property(lines, (line) => void expect(bytesIn(line)).toBe(Buffer.byteLength(line))));
  });
});
