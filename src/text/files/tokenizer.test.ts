import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openTokenizer } from "./tokenizer.ts";

const SHARED = "../shared/data";

describe.runIf(existsSync(SHARED))("a tokenizer", () => {
  it("is found by file and by name, with the hash of its bytes", async () => {
    const byName = await openTokenizer("sp250", { data: SHARED });
    const byFile = await openTokenizer(`${SHARED}/tokenizers/sp250.model`);
    expect(byName).toMatchObject({ name: "sp250", sha256: byFile.sha256 });
    expect(byName.tokenizer.size).toBe(250);
  });

  it("that is missing is refused with the names there are", async () => {
    await expect(openTokenizer("sp251", { data: SHARED })).rejects.toThrow(
      /one of albert-30k, sp250, wiki2_12k, got sp251/,
    );
  });
});
