import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { spreadDepths } from "./bench.ts";

const small = ["--width", "16", "--heads", "2", "--length", "8", "--batch", "2", "--rounds", "1", "--threads", "1"];

function bench(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [
    "--import",
    "tsx",
    "src/cli/main.ts",
    "bench",
    "depth",
    ...small,
    ...args,
  ]);
  return { status, stdout: String(stdout), stderr: String(stderr) };
}

describe("layerwise bench depth", () => {
  it("gives one row a mean depth, as JSON alone", () => {
    const { status, stdout } = bench("--mean", "2", "3.8", "--json");
    const rows = JSON.parse(stdout);
    expect([status, rows.length]).toEqual([0, 2]);
    expect(Object.keys(rows[0])).toEqual(["batch", "length", "meanDepth", "cap", "adaptive_ms", "fixed_ms", "ratio"]);
    expect(rows[1].meanDepth).toBeCloseTo(3.8, 0);
    expect(rows[1].ratio).toBeCloseTo(rows[1].adaptive_ms / rows[1].fixed_ms, 9);
  });

  it("refuses a mean deeper than the cap", () => {
    expect(bench("--mean", "7")).toMatchObject({ status: 2, stdout: "" });
  });
});

describe("spread depths", () => {
  it.each([1, 2, 3.8, 5.5, 6])("have the mean %d, and lie between 1 and the cap", async (mean) => {
    const depths = await spreadDepths(2048, 6, mean);
    expect(depths.reduce((a, b) => a + b) / 2048).toBeCloseTo(mean, 1);
    expect([Math.min(...depths) >= 1, Math.max(...depths) <= 6]).toEqual([true, true]);
    if (mean === 3.8) expect(new Set(depths).size).toBe(6);
  });
});
