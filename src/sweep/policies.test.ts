import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import { spreadOf } from "../base/spread.ts";
import { parseDepth, printDepth } from "../depth/notation.ts";
import { languageModel } from "../model/language/language.ts";
import { reportOn } from "../model/report.ts";
import { languageSettings } from "../tasks/language/settings.ts";
import { compare, figuresSoFar, type Result } from "./comparison.ts";
import { type PolicyContestant, policies, policyTables, policyTablesText } from "./policies.ts";

const folder = ownFolder("policies");
const sizes = { vocabulary: 12_000, width: 128, heads: 4, length: 64 };

const written = policies.flatMap((row) => (typeof row.depth === "string" ? [{ ...row, depth: row.depth }] : []));
const reportOf = (depth: string) => reportOn(languageModel({ ...sizes, depth }), sizes);

const settings = languageSettings.resolve([
  languageSettings.preset("tiny"),
  { source: "test", values: { width: 16, steps: 2, evaluateEvery: 1, evaluateTokens: 512, threads: 1, keep: 1 } },
]);
const only = (...names: string[]) => policies.filter(({ name }) => names.includes(name));

const measured = (row: PolicyContestant, more: object): Result<PolicyContestant> => ({
  ...row,
  parameters: 1e6,
  uniqueBlocks: 3,
  executedDepth: 6,
  flopsPerToken: 4e6,
  trainingFlopsPerToken: 12e6,
  tokensPerSecond: 1000,
  perplexity: spreadOf([50, 52]),
  seconds: 1,
  ...more,
});

describe("the comparison of depth policies", () => {
  it("has depths as they are printed", () => {
    for (const { depth } of written) expect(printDepth(parseDepth(depth))).toBe(depth);
  });

  it("has rows of equal parameters and, where the depth is fixed, of equal FLOPs", () => {
    const vanilla = reportOf("3");
    const reports = written.map(({ name, depth }) => ({ name, ...reportOf(depth) }));
    for (const { name, parameters, uniqueBlocks } of reports) {
      expect(uniqueBlocks, name).toBe(3);
      // Low-rank parts of rank 8 are 5 % of the model.
      expect(parameters / vanilla.parameters, name).toBeLessThan(1.06);
    }
    const [six, looped] = [reportOf("6"), reports.find(({ name }) => name === "looped")!];
    expect(looped.flopsPerToken / six.flopsPerToken).toBeCloseTo(1, 2);
  });

  it("has two tables, which show how many seeds have finished", () => {
    const [vanilla, , , looped, , halting] = policies.map((row) => measured(row, {}));
    const rows = [vanilla!, looped!, { ...halting!, meanDepth: 2.5, meanFlopsPerToken: 2e6 }];
    const unfinished = { perplexity: null, meanDepth: null, meanFlopsPerToken: null, tokensPerSecond: null };
    const tables = policyTables([...rows.slice(0, 2), measured(halting!, unfinished)]);
    expect(tables.parameters.map(({ name }) => name)).toEqual(["vanilla 3/3", "looped", "halting"]);
    expect(tables.flops.map(({ name }) => name)).toEqual(["looped", "halting"]);
    expect(tables.flops.map(({ meanDepth }) => meanDepth)).toEqual([6, null]);
    const text = policyTablesText(rows);
    expect(text).toMatch(/^halting +1 M +2\.5 +6 +2 M +4 M +1,000 +1 +51 ± 1\.41 +2$/m);
    expect(text).toMatch(/^looped +1 \+ 1 loop\(4, injection=add\) \+ 1$/m);
  });

  it("trains rows of any depth, measures the mean depth, and goes on", async () => {
    const own = { name: "own", depth: "2*2 halt(biasInitial=-2)" };
    const options = { settings, rows: [own], seeds: 1, folder: join(folder, "own") };
    const before = await figuresSoFar(options);
    expect(before[0]).toMatchObject({ executedDepth: 4, meanDepth: null, meanFlopsPerToken: null, perplexity: null });
    const { rows } = await compare(options).result;
    expect(rows[0]!.meanDepth).toBeGreaterThan(1);
    expect(rows[0]!.meanDepth).toBeLessThanOrEqual(4);
    expect(rows[0]!.meanFlopsPerToken).toBeLessThanOrEqual(rows[0]!.flopsPerToken);
    const again = await compare({ ...options, rows: [{ ...own, depth: "2*2   halt(biasInitial=-2)" }] }).result;
    expect(again.rows[0]!.perplexity).toEqual(rows[0]!.perplexity);
  });

  it("refuses what does not go with written depths", async () => {
    const options = { rows: only("halting"), seeds: 1, folder };
    await expect(figuresSoFar({ ...options, settings: { ...settings, halt: true } })).rejects.toThrow(
      'expected all of it in one text, got halt beside "3*4 halt',
    );
    const bad = { settings, rows: [{ name: "bad", depth: "3x2" }], seeds: 1, folder };
    await expect(figuresSoFar(bad)).rejects.toThrow("write 3*2");
  });
});
