import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { takeLock } from "../files/index.ts";
import { LOCK_FILE } from "../runs/index.ts";
import { fittedTable } from "./commands/runs.ts";
import { removeRuns } from "./removal.ts";

const folder = mkdtempSync(join(tmpdir(), "layerwise-removal-"));
const at = (name: string) => join(folder, name);

beforeAll(() => {
  for (const name of ["language", "search", "seeds", "glue"])
    cpSync(`fixtures/runs/${name}`, at(name), { recursive: true });
  for (const name of ["busy", "mixed"]) cpSync("fixtures/runs/language", at(name), { recursive: true });
  takeLock(join(at("busy"), LOCK_FILE));
  writeFileSync(join(at("mixed"), "thesis.tex"), "mine");
  mkdirSync(at("foreign"));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("runs remove", () => {
  it.each(["language", "search", "glue"])("removes a run of %s", async (name) => {
    await removeRuns([at(name)], { yes: true });
    expect(existsSync(at(name))).toBe(false);
  });

  it.each([
    ["busy", "expected a run that is not in training"],
    ["mixed", "thesis.tex"],
    ["foreign", "expected a run folder"],
    ["absent", "expected a run folder"],
  ])("refuses %s, and removes nothing beside it", async (name, message) => {
    await expect(removeRuns([at("seeds/seed-1"), at(name)], { yes: true })).rejects.toThrow(message);
    expect(existsSync(at("seeds/seed-1"))).toBe(true);
  });

  it("needs --yes where nobody can be asked", async () => {
    await expect(removeRuns([at("seeds/seed-1")], {})).rejects.toThrow("add --yes");
  });
});

describe("the list of runs", () => {
  const rows = [
    { run: "runs/one", task: "language books", layers: "6 of 2, cycle", step: "100 / 100", size: "1.5 MB" },
  ];

  it.each([120, 60, 40, 20])("fits %i columns", (width) => {
    const lines = fittedTable(rows, width).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(lines[1]).toContain("runs/one");
  });

  it("loses what matters least first", () => {
    expect(fittedTable(rows, 55)).not.toContain("size");
    expect(fittedTable(rows, 55)).toContain("layers");
  });
});
