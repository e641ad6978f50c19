import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sha256, sha256OfFile } from "./checksum.ts";

it("gives the published SHA-256 of abc, for bytes and for a file", async () => {
  const published = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const folder = mkdtempSync(join(tmpdir(), "layerwise-checksum-"));
  writeFileSync(join(folder, "abc"), "abc");
  expect([sha256("abc"), await sha256OfFile(join(folder, "abc"))]).toEqual([published, published]);
  rmSync(folder, { recursive: true });
});
