import { createHash } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { sha256Of } from "./sha256.ts";

afterEach(() => vi.unstubAllGlobals());

describe("SHA-256", () => {
  it("is that of the published example, and Node's", async () => {
    expect(await sha256Of("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i & 255);
    expect(await sha256Of(bytes)).toBe(createHash("sha256").update(bytes).digest("hex"));
  });

  it("says what a page needs where there is none", async () => {
    vi.stubGlobal("crypto", {});
    await expect(sha256Of("abc")).rejects.toThrow("serve the page from https or localhost");
  });
});
