import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { zip } from "../../test/zip.ts";
import { UserError } from "../base/errors.ts";
import { openZip } from "./zip.ts";

const archive = zip({ "a/long.txt": "hello ".repeat(100), "b.txt": "x" });

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
/** The archive with another number in the directory's entry of its first member. */
const withField = (offset: number, value: number) => {
  const changed = Buffer.from(archive);
  changed.writeUInt32LE(value, archive.indexOf("PK\x01\x02") + offset);
  return changed;
};

describe("zip archives", () => {
  it("give their members back, deflated or stored", () => {
    const opened = openZip(archive, "x.zip");
    expect(opened.names).toEqual(["a/long.txt", "b.txt"]);
    expect(textOf(opened.read("a/long.txt"))).toBe("hello ".repeat(100));
    expect(textOf(opened.read("b.txt"))).toBe("x");
  });

  it("name a member that is missing", () => {
    expect(() => openZip(archive, "x.zip").read("c")).toThrow("x.zip: expected a member c, got a/long.txt, b.txt");
  });

  it.each([
    ["another checksum", 16, 1],
    ["a size below the content's", 24, 599],
    ["a size above the content's", 24, 601],
    ["a size that no such stream can have", 24, 2 ** 31 - 1],
    ["a size beyond all limits", 24, 2 ** 32 - 1],
  ])("with %s are refused", (_, offset, value) => {
    const refusal = "x.zip: a/long.txt: expected a zip archive, got damaged or other bytes";
    expect(() => openZip(withField(offset, value), "x.zip").read("a/long.txt")).toThrow(refusal);
  });

  it("may go unchecked where their writer leaves checksums out", () => {
    const opened = openZip(withField(16, 1), "x.zip", { checksums: false });
    expect(opened.read("a/long.txt")).toHaveLength(600);
  });

  it("answer damage with the content or a user error", () => {
    fc.assert(
      fc.property(fc.nat(archive.length - 1), fc.nat(255), fc.boolean(), (at, byte, cut) => {
        const hurt = Buffer.from(archive);
        hurt[at] = byte;
        try {
          const opened = openZip(cut ? hurt.subarray(0, at) : hurt, "x.zip");
          for (const name of opened.names) opened.read(name);
        } catch (error) {
          expect(error).toBeInstanceOf(UserError);
        }
      }),
      { numRuns: 500 },
    );
  });
});
