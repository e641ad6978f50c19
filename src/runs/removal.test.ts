import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { takeLock } from "../files/lock.ts";
import { LOCK_FILE } from "./folder.ts";
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

describe("removing runs", () => {
  it.each(["language", "search", "glue"])("removes a run of %s", async (name) => {
    await removeRuns([at(name)], () => true);
    expect(existsSync(at(name))).toBe(false);
  });

  it.each([
    ["busy", "expected a run that is not in training"],
    ["mixed", "thesis.tex"],
    ["foreign", "expected a run folder"],
    ["absent", "expected a run folder"],
  ])("refuses %s, and removes nothing beside it", async (name, message) => {
    await expect(removeRuns([at("seeds/seed-1"), at(name)], () => true)).rejects.toThrow(message);
    expect(existsSync(at("seeds/seed-1"))).toBe(true);
  });

  it("leaves what nobody agrees to remove", async () => {
    expect(await removeRuns([at("seeds/seed-1")], () => false)).toBe(false);
    expect(existsSync(at("seeds/seed-1"))).toBe(true);
  });
});
