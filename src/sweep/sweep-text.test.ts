import { expect, it } from "vitest";
import { comparisonTable, contestantsNamed } from "./comparison.ts";
import { searchTable } from "./glue-search.ts";
import type { SweepTable, TrialState } from "./sweep-folder.ts";
import { sweepCsv, sweepPoints, sweepText, trialName } from "./sweep-text.ts";

const trial = (index: number, share: string, figure: number | null): TrialState =>
  ({
    index,
    round: 0,
    candidate: index,
    values: { share },
    name: null,
    seed: 1,
    status: "finished",
    figure,
    run: `r/${index}`,
    step: 9,
  }) as unknown as TrialState;
const row = (each: TrialState, mean: number | null) => ({
  round: 0,
  name: each.name,
  values: each.values,
  figure: mean === null ? null : { mean, deviation: null, values: [mean] },
  trials: [each],
});
const [first, second] = [trial(0, 'a, "b"', 7.25), trial(1, "cycle", null)];
const rows = [row(second, null), row(first, 7.25)];
const found = {
  path: "s",
  spec: { strategy: "grid", vary: { share: ["cycle"] }, candidates: {}, figure: "perplexity" },
  rows,
  best: rows[1],
} as unknown as SweepTable;

it("a sweep is a table of settings with the best runs below", () => {
  expect(trialName(first)).toBe('0: share a, "b", seed 1');
  expect(sweepText(found)).toMatch(/share +perplexity +status +trials\n.*a, "b" +7.25 +finished +0\nbest: r\/0$/s);
});

it("a sweep is CSV in the order of its trials, and points where there is a figure", () => {
  expect(sweepCsv(found)).toBe(
    'trial,round,share,seed,status,perplexity,run\n0,1,"a, ""b""",1,finished,7.25,r/0\n1,1,cycle,1,finished,,r/1\n',
  );
  expect(sweepPoints(found)).toEqual([{ name: trialName(first), figure: 7.25, values: first.values }]);
});

it("candidates go by their names, beside their settings", () => {
  const [named, candidates] = [{ ...first, name: "wide" }, { wide: { share: "cycle" } }];
  const spec = { ...found.spec, vary: {}, candidates };
  const sweep = { ...found, spec, rows: [{ ...row(named, 7.25), name: "wide" }] } as SweepTable;
  expect(trialName(named)).toBe("0: wide, seed 1");
  expect(sweepText(sweep)).toMatch(/^name +share +perplexity.*\nwide +a, "b" +7.25/);
  expect(sweepCsv(sweep)).toMatch(/^trial,round,name,share,seed,.*\n0,1,wide,"a, ""b""",1,/);
});

it("a search for settings is a table in percent", () => {
  const setting = { rate: 3e-5, batch: 16, epochs: 3, epoch: 2, mean: 0.9, deviation: null, values: [0.9] };
  expect(searchTable({ rows: [setting], metric: "accuracy" } as unknown as Parameters<typeof searchTable>[0])).toMatch(
    /3e-5 +16 +2 of 3 +90.00 +– +90.00/,
  );
});

it("rows of a comparison are named, and an unknown name is refused", () => {
  expect(contestantsNamed(["universal 1/6", "vanilla 6/6"]).map(({ name }) => name)).toEqual([
    "vanilla 6/6",
    "universal 1/6",
  ]);
  expect(contestantsNamed(undefined)).toHaveLength(9);
  expect(() => contestantsNamed(["vanilla"], "--only")).toThrow("--only: expected some of vanilla 6/6");
});

it("a comparison shows parameters, depth, FLOPs and time beside the perplexity", () => {
  const figures = { parameters: 2e6, executedDepth: 6, flopsPerToken: 3e6, tokensPerSecond: 1000, seconds: 2 };
  const perplexity = { mean: 9, deviation: 0.5, values: [8.5, 9.5] };
  const text = comparisonTable([{ ...contestantsNamed(["universal 1/6"])[0]!, ...figures, perplexity } as never]);
  expect(text).toMatch(/universal 1\/6 +2 M +6 +3 M +1,000 +2 +9 ± 0.5/);
});
