import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePattern, patternBlocks, patternHelp, printPattern, publishedPatterns, scalePattern } from "./pattern.ts";

const names = Object.keys(publishedPatterns);

describe("published patterns", () => {
  it.each(names)("%s stands for itself wherever a pattern is read, and in the help", (name) => {
    const text = publishedPatterns[name as keyof typeof publishedPatterns];
    expect(parsePattern(name)).toEqual(parsePattern(text));
    expect(patternHelp).toContain(text);
  });

  it("have the papers' depths", () => {
    expect(names.map((name) => parsePattern(name).length)).toEqual([32, 36, 24, 24, 32, 32]);
  });

  it.each([
    ["par-wikitext103-base/16", "(sfff)x3(f)x4"],
    ["par-wikitext103-base/12", "(sfff)x2(f)x4"],
    ["par-wikitext103-base/6", "s(f)x5"],
    ["baseline/6", "(sf)x3"],
    ["baseline/5", "sfsfs"],
    ["baseline/64", "(sf)x32"],
    ["sandwich/16", "(s)x4(fs)x4(f)x4"],
    ["par-enwik8/12", "sffsffffffff"],
  ])("%s is %s", (name, pattern) => {
    expect(parsePattern(name)).toEqual(parsePattern(pattern));
  });

  it("keep their share of attention at every depth, and are themselves at their own", () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.integer({ min: 1, max: 80 }), (name, blocks) => {
        const whole = parsePattern(name);
        const count = (of: readonly string[]) => of.filter((kind) => kind === "attention").length;
        const scaled = scalePattern(whole, blocks);
        const share = (count(whole) * blocks) / whole.length;
        expect(scaled).toHaveLength(blocks);
        expect(Math.abs(count(scaled) - Math.max(1, share))).toBeLessThanOrEqual(0.5);
        expect(scalePattern(whole, whole.length)).toEqual(whole);
      }),
    );
  });

  it.each(["baseline/0", "baseline/x", "baseline/2.5", "baseline/6/6", "baseline/1e9", "(sf)x99999999"])(
    "refuse %s",
    (text) => {
      expect(() => parsePattern(text)).toThrow("pattern: expected a whole number of blocks from 1");
    },
  );

  it("are named where a pattern cannot be read", () => {
    expect(() => parsePattern("basline")).toThrow("par-wikitext103-base");
  });
});

describe("a pattern", () => {
  it("is printed so that it is read as it was, sizes and all", () => {
    const size = fc.option(fc.integer({ min: 1, max: 9999 }), { nil: undefined });
    const sized = fc.record({ kind: fc.constantFrom("attention", "feed-forward" as const), size });
    const block = fc.oneof(sized, fc.constant({ kind: "identity" as const, size: undefined }));
    fc.assert(
      fc.property(fc.array(block, { minLength: 1 }), (pattern) => {
        const read = patternBlocks(printPattern(pattern)).map(({ kind, size }) => ({ kind, size }));
        expect(read).toEqual(pattern);
      }),
    );
  });

  it.each([
    ["sffsffi", "(sff)x2i"],
    ["sf:1024sf:1024i", "(s f:1024)x2 i"],
    ["s:8 f f f:64", "s:8 (f)x2 f:64"],
    ["( s f ) x 2 f:64", "(sf)x2 f:64"],
  ])("of %s is printed %s", (text, printed) => {
    expect(printPattern(patternBlocks(text))).toBe(printed);
    expect(parsePattern(printed)).toEqual(parsePattern(text));
  });

  it.each(["i:3", "s:0", "f:", "f:-1", "f:10 24", "(sf)x0", "(sf", "toString", ""])("%j is refused", (text) => {
    expect(() => patternBlocks(text)).toThrow("pattern: expected letters s (attention)");
  });
});
