import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "./command.ts";

const folder = ownFolder("torture-test");

it("a run that is killed, starved and damaged ends as its twin, or says what is wrong", () => {
  const flags = ["--minutes", "0.15", "--seed", "3", "--tasks", "language", "--flips", "100", "--out", folder];
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", "bench/torture/run.ts", ...flags]);
  expect(status, `${stdout}${stderr}`).toBe(0);
  const { runs, killsAtOperations, wrong, flips } = JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
  expect({ wrong, silent: flips.silent, crashed: flips.crashed }).toEqual({ wrong: 0, silent: 0, crashed: 0 });
  expect(runs).toBeGreaterThan(0);
  expect(killsAtOperations).toBeGreaterThan(0);
});
