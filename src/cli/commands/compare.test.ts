import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layerwise, ownFolder } from "../../../test/command.ts";
import { contestants, spreadOf } from "../../sweep/index.ts";

const folder = ownFolder("compare");

interface Row {
  readonly name: string;
  readonly executedDepth: number;
}

const compare = (...args: string[]) =>
  layerwise("compare", "--preset", "tiny", "--threads", "1", "--out", folder, ...args);

describe("layerwise compare", () => {
  it("has the paper's rows", () => {
    expect(contestants.map(({ name }) => name)).toEqual([
      ...["vanilla 6/6", "vanilla 3/3", "universal 1/6"],
      ...["sequence 3/6", "cycle 3/6", "cycle_rev 3/6", "sequence 3/9", "cycle 3/9", "cycle_rev 3/9"],
    ]);
  });

  it("trains one run a model and seed, and none of them twice", () => {
    const args = ["--steps", "6", "--evaluate-every", "3", "--seeds", "2", "--only", "vanilla 3/3,cycle 3/6", "--json"];
    const first = compare(...args);
    expect(first.status).toBe(0);
    const { rows } = JSON.parse(first.stdout);
    expect(rows.map((row: { name: string }) => row.name)).toEqual(["vanilla 3/3", "cycle 3/6"]);
    expect(rows[0].parameters).toBe(rows[1].parameters);
    expect(rows[1].executedDepth).toBe(2 * rows[0].executedDepth);
    expect(rows[1].flopsPerToken).toBeGreaterThan(rows[0].flopsPerToken);
    for (const { perplexity } of rows) {
      expect(perplexity.values).toHaveLength(2);
      expect(perplexity.deviation).toBeGreaterThan(0);
    }
    expect(readFileSync(join(folder, "comparison.svg"), "utf8")).toContain("cycle 3/6");
    const events = join(folder, "cycle-3-6", "seed-2", "events.jsonl");
    const before = statSync(events).mtimeMs;
    expect(JSON.parse(compare(...args).stdout).rows).toEqual(rows);
    expect(statSync(events).mtimeMs).toBe(before);
    const more = [...args, "--only", "vanilla 3/3,vanilla 6/6", "--dry-run"];
    const [unknown, known] = JSON.parse(compare(...more).stdout).rows;
    expect([known, unknown.perplexity, existsSync(join(folder, "vanilla-6-6"))]).toEqual([rows[0], null, false]);
    expect(unknown.parameters).toBeGreaterThan(known.parameters);
  });

  it("makes a sweep of a folder of version 0.1.0, which grows by models and seeds, also in other processes", () => {
    for (const name of ["sweep.yaml", "trials"]) rmSync(join(folder, name), { recursive: true });
    const args = ["--steps", "6", "--evaluate-every", "3", "--seeds", "1", "--json"];
    const events = join(folder, "cycle-3-6", "seed-1", "events.jsonl");
    const before = statSync(events).mtimeMs;
    const { rows } = JSON.parse(compare(...args, "--only", "cycle 3/6,vanilla 3/3").stdout);
    expect([rows.length, statSync(events).mtimeMs]).toEqual([2, before]);
    const more = compare(...args, "--only", "cycle 3/6,universal 1/6", "--on", "local:2");
    expect([more.status, more.stderr]).toEqual([0, expect.stringMatching(/^2 of 2 {2}\d: universal 1\/6, seed 1 /m)]);
    expect(JSON.parse(more.stdout).rows.map(({ perplexity }: { perplexity: unknown }) => perplexity !== null)).toEqual([
      true,
      true,
    ]);
    expect(layerwise("sweep", "show", folder).stdout).toMatch(/^name +unique +depth +share +perplexity/);
  });

  it("compares depth policies in two tables, in the same folder", () => {
    const names = "vanilla 3/3,looped,halting";
    const args = ["--models", "policies", "--steps", "6", "--evaluate-every", "3", "--seeds", "1", "--only", names];
    const vanilla = join(folder, "vanilla-3-3", "seed-1", "events.jsonl");
    const before = statSync(vanilla).mtimeMs;
    const first = compare(...args, "--json");
    expect([first.status, statSync(vanilla).mtimeMs]).toEqual([0, before]);
    const { parameters, flops } = JSON.parse(first.stdout).tables;
    expect(parameters.map((row: { name: string }) => row.name)).toEqual(["vanilla 3/3", "looped", "halting"]);
    const [looped, halting] = flops;
    expect([looped.meanDepth, looped.meanFlopsPerToken]).toEqual([6, looped.flopsPerToken]);
    expect(halting).toMatchObject({ depth: expect.stringContaining("3*4 halt"), executedDepth: 12 });
    expect(halting.meanFlopsPerToken).toBeLessThan(halting.flopsPerToken);
    expect(readFileSync(join(folder, "comparison.svg"), "utf8")).toContain("FLOPs per token in the mean");
    const shown = compare(...args, "--dry-run", "--seeds", "2").stdout;
    expect(shown).toMatch(/^At equal parameters\n\nmodel .*\nvanilla 3\/3 .* 2\nlooped .* 1\n/m);
    expect(shown).toContain("At equal FLOPs per token");
  });

  it("refuses settings that are not those of the runs, or that it decides itself", () => {
    const other = compare("--steps", "7", "--seeds", "1", "--only", "vanilla 3/3");
    expect([other.status, other.stderr]).toEqual([2, expect.stringContaining("expected runs with the same settings")]);
    expect(compare("--depth", "4").stderr).toContain(
      "got --depth; choose models with --only, or write them with --depths",
    );
    expect(compare("--only", "vanilla").stderr).toContain("--only: expected some of vanilla 6/6");
    const policies = ["--models", "policies", "--dry-run"];
    const unknown = compare(...policies, "--only", "cycle 3/9");
    expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining("expected some of vanilla 3/3")]);
    expect(compare("--models", "others").status).toBe(2);
  });

  it("compares depths in words, in one table, where a plain depth is a number", () => {
    const own = join(folder, "own");
    const sizes = ["--steps", "4", "--evaluate-every", "2", "--seeds", "1", "--out", own];
    const args = ["--depths", "1; 1*2  halt(biasInitial=-2)", "--depths", "2", ...sizes];
    const { rows } = JSON.parse(compare(...args, "--json").stdout);
    expect(rows.map(({ name, executedDepth }: Row) => [name, executedDepth])).toEqual([
      ["depth 1", 1],
      ["1*2 halt(biasInitial=-2)", 2],
      ["depth 2", 2],
    ]);
    expect(rows[1].meanDepth).toBeLessThanOrEqual(2);
    expect(rows[2].meanFlopsPerToken).toBe(rows[2].flopsPerToken);
    expect(compare(...args, "--dry-run").stdout).toMatch(/^model .*mean depth .*\ndepth 1 .* 1\n1\*2 halt/m);
  });

  it.each([
    ["3x2", "write 3*2"],
    ["6; 3*2; 3 * 2", "--depths: expected each depth once, got 3*2 twice"],
    ["6;", "depth"],
  ])("refuses the depths %j before anything is opened", (depths, message) => {
    const { status, stderr } = compare("--depths", depths, "--corpus", "nowhere", "--out", join(folder, "never"));
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it("refuses depths beside models by name, and those that a task cannot have", () => {
    expect(compare("--depths", "6", "--only", "cycle 3/6").stderr).toContain("got --only beside --depths");
    expect(compare("--depths", "6", "--models", "policies").stderr).toContain("got --models beside --depths");
    const letters = compare("--depths", "6; (sf)x3", "--task", "translate", "--corpus", "nowhere");
    expect([letters.status, letters.stderr]).toEqual([2, expect.stringContaining("(sf)x3")]);
    expect(existsSync(join(folder, "never"))).toBe(false);
  });

  it("the spread of one seed has no deviation", () => {
    expect(spreadOf([3])).toEqual({ mean: 3, deviation: null, values: [3] });
    expect(spreadOf([2, 4])!.deviation).toBeCloseTo(Math.SQRT2, 12);
    expect(spreadOf([])).toBeNull();
  });
});
