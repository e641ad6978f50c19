import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("docs/depth.md has examples that run", { timeout: 60_000 }, () => {
  const page = readFileSync(new URL("../../docs/depth.md", import.meta.url), "utf8");
  const [preamble, ...examples] = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1]!);
  const program = [
    preamble!.replace('"layerwise"', JSON.stringify(fileURLToPath(new URL("../index.ts", import.meta.url)))),
    ...examples.map((each) => `{\n${each}}`),
  ];
  const folder = mkdtempSync(join(tmpdir(), "layerwise-docs-"));
  writeFileSync(join(folder, "page.mts"), program.join("\n"));
  const { status, stderr } = spawnSync(process.execPath, ["--import", "tsx", join(folder, "page.mts")]);
  rmSync(folder, { recursive: true });
  expect([status, String(stderr)]).toEqual([0, ""]);
  expect(examples.length).toBeGreaterThanOrEqual(8);
});
