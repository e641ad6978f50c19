import { describe, expect, it } from "vitest";
import { spreadOf } from "../../base/spread.ts";
import { reportFiles } from "../../tasks/papers/report.ts";
import { TOKEN_KINDS } from "../../text/masked/token-kinds.ts";
import { type AdaptFigures, adapt } from "./adapt.ts";
import type { Claim } from "./claims.ts";
import type { Experiment } from "./course.ts";
import { reportOf } from "./paper-report.ts";
import { type SearchedNetwork, type SearchFigures, search } from "./search.ts";
import { rowsAt, type ShareRow, share } from "./share.ts";

const around = (mean: number, by = 0.1) => spreadOf([mean - by, mean, mean + by])!;
const said = (claims: readonly Claim[]) => claims.map(({ verdict, ours }) => `${verdict}: ${ours}`);

/** Rows of a table with these scores; the shared ones at half the speed. */
function rowsWith(...scores: readonly number[]): ShareRow[] {
  return rowsAt({ unique: 3, depth: 6 }).map((row, i) => ({
    ...row,
    ...{ parameters: i === 1 ? 200 : 100, executedDepth: row.depth, flopsPerToken: 1e6, trainingFlopsPerToken: 3e6 },
    ...{ tokensPerSecond: row.depth === 3 ? 1000 : 500, seconds: 1, perplexity: around(30) },
    score: around(scores[i]!),
  })) as unknown as ShareRow[];
}

const networkOf = (name: string, pattern: string, ratio: number, perplexity: number): SearchedNetwork => ({
  names: [name],
  pattern,
  ...{ parameters: 1e6, executedDepth: 10, flopsPerToken: 1e6 },
  latencyMs: around(10 * ratio, 0.1),
  ratio: around(ratio, 0.01),
  perplexity: around(perplexity, 0.5),
});

const shape = { batch: 1, length: 64, memory: 640 };
const front = { networks: [], chosen: "", baselineMs: 10, targetMs: null, measured: 0, tokens: 0, shape };

describe("claims on made numbers", () => {
  it("share: better, worse, and within deviation of vanilla", () => {
    const figures = { translation: rowsWith(30, 31, 31, 29, 30.05), language: rowsWith(40, 39, 39, 39, 41) };
    expect(said(share.claims(figures))).toEqual([
      "agreed: 31.00 ± 0.10 against 30.00 ± 0.10",
      "not agreed: 29.00 ± 0.10 against 30.00 ± 0.10",
      "within deviation: 30.05 ± 0.10 against 30.00 ± 0.10",
      "agreed: 0.50, 0.50, 0.50 of its speed",
      "agreed: 39.00 ± 0.10 against 40.00 ± 0.10",
      "agreed: 39.00 ± 0.10 against 40.00 ± 0.10",
      "not agreed: 41.00 ± 0.10 against 40.00 ± 0.10",
      "agreed: 41.00 ± 0.10 against 39.00 ± 0.10",
    ]);
    expect(share.claims({ translation: [], language: [] })).toEqual([]);
  });

  it("search: the latency, the perplexity, where attention stands, and the cost", () => {
    const networks = [networkOf("baseline", "(sf)x6", 1, 50), networkOf("front 0.65", "(sfff)x2(f)x4", 0.655, 50.4)];
    const of = (figures: Partial<SearchFigures>) =>
      said(search.claims({ front, networks, searchCost: 1.4, ...figures }));
    expect(of({})).toEqual([
      "within deviation: 0.655 ± 0.010",
      "within deviation: 50.40 ± 0.50 against 50.00 ± 0.50",
      "agreed: 2 of 2 attention blocks, (sfff)x2(f)x4",
      "agreed: 2 of 12",
      "agreed: 1.40",
    ]);
    const worse = [networks[0]!, networkOf("front 0.65", "(f)x6(s)x6", 0.8, 55)];
    expect(of({ networks: worse, searchCost: 2.5 }).map((line) => line.split(":")[0])).toEqual(
      Array(5).fill("not agreed"),
    );
    expect(of({ networks: [], searchCost: null })).toEqual(Array(5).fill("not measured: –"));
  });

  const depths = (...means: readonly number[]) =>
    Object.fromEntries(TOKEN_KINDS.map((kind, i) => [kind, around(means[i]!)])) as unknown as AdaptFigures["depths"];
  const adapted: AdaptFigures = {
    cap: 6,
    depths: depths(2.4, 2.3, 3.2, 2.6, 2.2, 4.4, 2.7),
    ...{ maskedAccuracy: around(18), orderAccuracy: around(60) },
    finetuned: { accuracy: around(75), depth: around(2.5) },
  };

  it("adapt: which kinds of tokens run deeper than which", () => {
    expect(said(adapt.claims(adapted))).toEqual([
      "agreed: 3.20 ± 0.10 against 2.30 ± 0.10",
      "agreed: 3.20 ± 0.10 against 2.60 ± 0.10",
      "agreed: 2.60 ± 0.10 against 2.30 ± 0.10",
      "agreed: 2.60 ± 0.10 against 2.20 ± 0.10",
      "within deviation: 2.20 ± 0.10 against 2.30 ± 0.10",
    ]);
  });

  it("a report has verdicts, both tables, times and the command, as Markdown and as a page", () => {
    const experiment: Experiment<AdaptFigures> = adapt;
    const report = reportOf(experiment, {
      ...{ paper: "adapt", preset: "laptop", seeds: 3, threads: null, data: null, path: "runs/a", reason: "finished" },
      ...{ figures: adapted, claims: adapt.claims(adapted) },
      times: [{ part: "pre-training", trainings: 3, seconds: 10_800 }],
    });
    const { "report.md": markdown, "report.html": html } = reportFiles(report);
    expect(markdown).toContain("4 of 5 claims agreed, 1 within deviation. Size laptop, 3 seeds");
    expect(markdown).toContain("| \\[MASK/MASK\\] | 5.8 | 10.9 | 16.0 | 3.20 ± 0.10 |");
    expect(markdown).toContain("| pre-training | 3 | 3:00:00 |");
    expect(markdown).toContain("layerwise reproduce adapt --preset laptop --seeds 3 --out runs/a");
    expect(markdown).toContain("](figures/adapt-depths.svg)");
    expect(html).toContain('<td class="maybe">within deviation</td>');
  });
});
