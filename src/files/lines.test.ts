import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import { countLines, lineStretches, linesOfStretch, readLines } from "./lines.ts";

const root = ownFolder("lines");

function file(content: string | Uint8Array): string {
  const path = join(root, "text.txt");
  writeFileSync(path, content);
  return path;
}

describe("lines", () => {
  it("come without their ends, and a last one without newline counts", () => {
    expect([...readLines(file("a\r\n\nb\nc"))]).toEqual(["a", "", "b", "c"]);
    expect([...readLines(file("a\n"))]).toEqual(["a"]);
    expect([...readLines(file(""))]).toEqual([]);
  });

  it("are counted as they are read", () => {
    const text = fc
      .array(fc.constantFrom("a", "é", "\n", "\r\n", "\0"), { maxLength: 30 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, (content) => {
        const path = file(content);
        expect(countLines(path)).toBe([...readLines(path)].length);
      }),
      { numRuns: 50 },
    );
  });

  it("keep a NUL byte and lose only a leading byte order mark", () => {
    expect([...readLines(file("\ufeffa\0b\n\ufeffc"))]).toEqual(["a\0b", "\ufeffc"]);
  });

  it("may be longer than ten megabytes", () => {
    const long = "räuber ".repeat(1_400_000);
    expect([...readLines(file(`x\n${long}\ny\n`))]).toEqual(["x", long, "y"]);
  });

  it("can be a range", () => {
    expect([...readLines(file("0\n1\n2\n3\n"), { from: 1, to: 3 })]).toEqual(["1", "2"]);
  });

  it("are the same in stretches of any size, of any range", () => {
    const text = fc
      .array(fc.constantFrom("a", "long line", "\n", "\r\n", "\ufeff"), { maxLength: 30 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.nat(8), fc.nat(12), fc.integer({ min: 1, max: 20 }), (content, from, count, size) => {
        const [path, range] = [file(content), { from, to: from + count }];
        const stretches = [...lineStretches(path, range, size)];
        expect(stretches.flatMap((each) => [...linesOfStretch(each, path)])).toEqual([...readLines(path, range)]);
        for (const { bytes } of stretches.slice(0, -1)) expect(bytes.length).toBeGreaterThanOrEqual(size);
      }),
    );
  });

  it("span blocks in stretches too, and name their place in the file", () => {
    const path = file(Buffer.concat([Buffer.from(`${"x".repeat(99)}\n`.repeat(30_000)), Buffer.of(0xff, 10)]));
    const lines = () => [...lineStretches(path)].map((each) => [...linesOfStretch(each, path)].length);
    expect(lines).toThrow(`${path}: line 30001: expected UTF-8 text`);
    expect([...lineStretches(path)].map(({ first }) => first)).toEqual([0, 10486, 20972]);
  });

  it("name the line that is not UTF-8", () => {
    const path = file(Uint8Array.of(97, 10, 98, 0xff, 10));
    expect(() => [...readLines(path)]).toThrow(`${path}: line 2: expected UTF-8 text`);
  });
});
