import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { zip } from "../../test/zip.ts";
import { UserError } from "../base/errors.ts";
import { openZip } from "./zip.ts";

const archive = zip({ "a/long.txt": "hello ".repeat(100), "b.txt": "x" });

describe("zip archives", () => {
  it("give their members back, deflated or stored", () => {
    const opened = openZip(archive, "x.zip");
    expect(opened.names).toEqual(["a/long.txt", "b.txt"]);
    expect(opened.read("a/long.txt").toString()).toBe("hello ".repeat(100));
    expect(opened.read("b.txt").toString()).toBe("x");
  });

  it("name a member that is missing", () => {
    expect(() => openZip(archive, "x.zip").read("c")).toThrow("x.zip: expected a member c, got a/long.txt, b.txt");
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
