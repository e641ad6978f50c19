import { readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { LayerwiseError } from "../../base/errors.ts";
import { cachedTokens, decodeTokens, encodeTokens, keyOf } from "./cache.ts";

const root = ownFolder("cache");
const text = () => ({ ids: Uint16Array.of(5, 6, 7, 11999), lineEnds: Uint32Array.of(1, 1, 4), words: 3 });

describe("token files", () => {
  it("give back what was written, in two or four bytes an id", () => {
    expect(decodeTokens(encodeTokens(text()), "x")).toEqual(text());
    const wide = { ids: Int32Array.of(1, 70_000), lineEnds: Uint32Array.of(2), words: 2 ** 33 };
    expect(decodeTokens(encodeTokens(wide), "x")).toEqual(wide);
  });

  it("show any flipped bit and any cut", () => {
    const bytes = encodeTokens(text());
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
        const flipped = bytes.slice();
        flipped[at]! ^= 1 << bit;
        expect(() => decodeTokens(flipped, "x")).toThrow(LayerwiseError);
        expect(() => decodeTokens(bytes.subarray(0, at), "x")).toThrow(LayerwiseError);
      }),
    );
  });

  it("refuse random bytes with a user error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(() => decodeTokens(bytes, "x")).toThrow(LayerwiseError);
      }),
    );
  });
});

describe("the cache", () => {
  it("makes tokens once", async () => {
    let made = 0;
    const make = () => {
      made++;
      return text();
    };
    const first = await cachedTokens(root, "once", make);
    expect(await cachedTokens(root, "once", make)).toEqual(first);
    expect(made).toBe(1);
    expect(readdirSync(root)).toEqual(["once.tokens"]);
  });

  it("rebuilds a damaged file and says so", async () => {
    const path = join(root, "hurt.tokens");
    await cachedTokens(root, "hurt", text);
    const whole = readFileSync(path);
    truncateSync(path, 20);
    const warnings: string[] = [];
    expect(await cachedTokens(root, "hurt", text, (message) => warnings.push(message))).toEqual(text());
    expect(warnings.join()).toContain("hurt.tokens: expected a token file with 32 bytes of header, got 20");
    expect(readFileSync(path)).toEqual(whole);
  });

  it("is keyed by facts, without confusing neighbours", () => {
    expect(keyOf("ab", "c")).not.toBe(keyOf("a", "bc"));
    expect(keyOf("ab", 1)).toBe(keyOf("ab", 1));
  });
});
