import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { zip } from "../../test/zip.ts";
import { LayerwiseError } from "../base/errors.ts";
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
    [
      "another checksum",
      16,
      1,
      "x.zip: a/long.txt: expected content with CRC-32 1, got da231f3; the archive is damaged",
    ],
    ["another method", 10, 99, "x.zip: a/long.txt: expected method 0 (stored) or 8 (deflated), got 99"],
    ["a size below the content's", 24, 599, "x.zip: a/long.txt: expected 599 bytes, got more"],
    ["a size above the content's", 24, 601, "x.zip: a/long.txt: expected 601 bytes, got 600"],
    ["a size that no such stream can have", 24, 2 ** 24, "x.zip: a/long.txt: expected at most"],
    [
      "a size beyond the limit",
      24,
      2 ** 32 - 1,
      "got 4294967295 with a/long.txt; if you trust the file, raise maxBytes",
    ],
    ["a header elsewhere", 42, 7, "x.zip: a/long.txt: expected its header at byte 7, got something else"],
  ])("with %s are refused", (_, offset, value, refusal) => {
    expect(() => openZip(withField(offset, value), "x.zip").read("a/long.txt")).toThrow(refusal);
  });

  it("unpack no more than they may, however often their directory names one member", () => {
    const many = zip(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`${i}`, "\0".repeat(1e6)])));
    const all = (options: object) => () => {
      const opened = openZip(many, "bomb.zip", options);
      return opened.names.reduce((sum, name) => sum + opened.read(name).length, 0);
    };
    expect(all({})).toThrow(/bomb\.zip: expected content that takes at most \d+ bytes of memory, got \d+ with 33/);
    expect(all({ maxBytes: 4e7 })()).toBe(4e7);
  });

  it("go unchecked only where no member has a checksum", () => {
    const without = Buffer.from(archive);
    for (let at = without.indexOf("PK\x01\x02"); at >= 0; at = without.indexOf("PK\x01\x02", at + 1))
      without.writeUInt32LE(0, at + 16);
    expect(openZip(without, "x.zip", { checksums: "ifAny" }).read("a/long.txt")).toHaveLength(600);
    expect(() => openZip(without, "x.zip").read("a/long.txt")).toThrow("CRC-32 0");
    expect(() => openZip(withField(16, 0), "x.zip", { checksums: "ifAny" }).read("a/long.txt")).toThrow("CRC-32 0");
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
          expect(error).toBeInstanceOf(LayerwiseError);
        }
      }),
      { numRuns: 500 },
    );
  });
});
