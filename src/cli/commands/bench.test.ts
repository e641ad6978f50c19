import { describe, expect, it } from "vitest";
import { layerwise } from "../../../test/command.ts";

const small = ["--width", "16", "--heads", "2", "--length", "8", "--batch", "2", "--rounds", "1", "--threads", "1"];

const bench = (...args: string[]) => layerwise("bench", "depth", ...small, ...args);

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
