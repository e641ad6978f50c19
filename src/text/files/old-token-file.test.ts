import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { LayerwiseError } from "../../base/errors.ts";
import { batchesFrom } from "../batches.contract.ts";
import { encodeTokens } from "./old-token-file.contract.ts";
import { decodeTokens } from "./old-token-file.ts";
import { openBatches } from "./tokens.ts";

const text = () => ({ ids: Uint16Array.of(5, 6, 7, 11999), lineEnds: Uint32Array.of(1, 1, 4), words: 3 });

describe("old token files", () => {
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

  it("that were built are a corpus still, for a tokenizer that has their pieces", async () => {
    const path = join(ownFolder("old-tokens"), "train.tokens");
    writeFileSync(path, encodeTokens(text()));
    const corpus = { name: "old", parts: new Map([["train", { kind: "tokens", path }]] as const) };
    const open = (size: number) =>
      openBatches(corpus, "train", { tokenizer: { size, encode: () => [] }, sha256: "" }, { batch: 1, length: 1 });
    expect([...batchesFrom(await open(12_000))].map(({ ids, targets }) => [...ids, ...targets])).toEqual([
      [5, 6],
      [7, 11_999],
    ]);
    await expect(open(11_999)).rejects.toThrow("expected ids below the tokenizer's 11999 pieces, got 11999");
  });
});
