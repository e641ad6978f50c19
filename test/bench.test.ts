/** What `npm run bench` says and writes, apart from the times themselves. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { codeLines, kindsOf, linesThatRan } from "../bench/features/coverage.ts";
import { compare, type Fact, interleave, median } from "../bench/measure.ts";
import { packageFolder } from "../bench/peer.ts";
import { resultsJson, resultsPage, resultsTable, type Section } from "../bench/report.ts";
import { overRuns } from "../bench/runs.ts";
import { growthPage, growthSvg } from "../bench/scaling.ts";
import { commitNow } from "../bench/setting.ts";
import { partsOf } from "../bench/step-costs.ts";
import { input, matmul, relu } from "../src/graph/index.ts";

const REMEDY = "remove it, or name another file or folder";
const claim = compare("step", 0.7, [10, 30, 20], "PyTorch eager", [40, 40, 50]);
const memory: Fact = { name: "peak memory", ours: "300 MB", peer: "PyTorch", theirs: "600 MB", ratio: 0.5 };
const hour = { commit: "abc1234", date: "2026-11-16 04:00", load: 0.12 };
const section = (bench: string, rows: Section["rows"]): Section => ({ bench, rows, ...hour });
const setting = { machine: "2 cores of a processor", rounds: 15, threads: 2, before: "", order: ["first", "second"] };

describe("measuring", () => {
  it("takes the middle of an odd number of times and the mean of the middle two of an even number", () => {
    expect([median([5, 1, 9]), median([4, 1, 2, 9])]).toEqual([5, 3]);
  });

  it("lets contenders take turns, round by round", async () => {
    const order: string[] = [];
    const contender = (name: string) => async () => order.push(name);
    const times = await interleave({ a: contender("a"), b: contender("b") }, 2);
    expect(order).toEqual(["a", "b", "a", "b"]);
    expect(times.get("b")).toEqual([2, 4]);
  });

  it("divides the median of ours by the peer's", () => {
    expect(claim).toMatchObject({ ours_ms: 20, peer_ms: 40, ratio: 0.5, target: 0.7 });
  });
});

describe("JSON", () => {
  it("holds the claims with exactly the promised fields, and no facts beside them", () => {
    const extra = { ...claim, extra: 1 };
    const found = JSON.parse(resultsJson([section("first", [extra, memory])]));
    expect(found).toEqual([{ name: "step", ours_ms: 20, peer: "PyTorch eager", peer_ms: 40, ratio: 0.5, target: 0.7 }]);
    expect(Object.keys(found[0])).toEqual(["name", "ours_ms", "peer", "peer_ms", "ratio", "target"]);
  });

  it("is an empty list where no peer was present", () => {
    expect(resultsJson([section("first", [])])).toBe("[]");
  });
});

describe("the table", () => {
  it("says of each claim whether it holds", () => {
    const missed = compare("cutoffs", 0.001, [400], "Python", [133_000]);
    const lines = resultsTable([section("first", [claim, missed, memory])]).split("\n");
    expect(lines[1]).toMatch(/^step +20 ms +PyTorch eager +40 ms +0\.500 +≤ 0\.7 +holds$/);
    expect(lines[2]).toMatch(/400 ms +Python +133,000 ms +0\.0030 +≤ 0\.001 +MISSED$/);
    expect(lines[3]).toMatch(/300 MB +PyTorch +600 MB +0\.500/);
  });
});

describe("the page", () => {
  const page = resultsPage({ sections: [section("second", [claim])], ...setting });

  it("names machine, commit, date and load", () => {
    expect(page).toContain("Machine: 2 cores of a processor; 2 threads each");
    const row =
      "| second | step | 20 ms | PyTorch eager | 40 ms | 0.500 | ≤ 0.7 | holds | 15 | abc1234 | 2026-11-16 04:00 | 0.1 |";
    expect(page.split("\n")).toContain(row);
  });

  it("keeps the rows of benches that did not run, in the order of the benches", () => {
    const next = resultsPage({ sections: [section("first", [memory])], ...setting, before: page });
    const rows = next.split("\n").filter((line) => /^\| (first|second) /.test(line));
    expect(rows.map((row) => row.slice(2, 8))).toEqual(["first ", "second"]);
  });

  it("replaces the rows of benches that ran, and forgets benches that are gone", () => {
    const quicker = { ...claim, ours_ms: 12 };
    const again = resultsPage({ sections: [section("second", [quicker])], ...setting, before: page });
    expect(again.match(/^\| second /gm)).toHaveLength(1);
    expect(again).toContain("| 12 ms |");
    const gone = resultsPage({ sections: [], ...setting, before: page, order: ["first"] });
    expect(gone).not.toContain("| second |");
  });

  it("does not mix machines or numbers of threads", () => {
    const sections = [section("first", [memory])];
    expect(resultsPage({ ...setting, sections, before: page, machine: "another" })).not.toContain("| second |");
    expect(resultsPage({ ...setting, sections, before: page, threads: 1 })).not.toContain("| second |");
  });
});

describe("several runs", () => {
  const run = (ours: number, megabytes: number) => [
    section("first", [
      compare("step", 0.7, [ours], "PyTorch eager", [40]),
      { ...memory, ours: `${megabytes} MB`, ratio: megabytes / 600 },
    ]),
  ];
  const runs = [run(30, 300), run(20, 330), run(22, 270)];

  it("give medians, and the lowest and highest ratio, of claims and of facts", () => {
    const [{ rows }] = overRuns(runs) as [Section];
    expect(rows[0]).toMatchObject({ ours_ms: 22, ratio: 0.55, spread: { low: 0.5, high: 0.75, runs: 3 } });
    expect(rows[1]).toMatchObject({ ours: "300 MB", ratio: 0.5, spread: { low: 0.45, high: 0.55, runs: 3 } });
    const page = resultsPage({ ...setting, rounds: 7, sections: overRuns(runs) });
    expect(page).toContain("| 0.550 (0.500–0.750) | ≤ 0.7 | holds | 3 × 7 |");
  });

  it("tell a claim from a fact of the same name", () => {
    const same = runs.map(([{ rows } = section("first", [])]) => {
      return [
        section(
          "first",
          rows.map((row) => ({ ...row, name: "a", peer: "b" })),
        ),
      ];
    });
    const [{ rows }] = overRuns(same) as [Section];
    expect(rows.map(({ ratio, spread }) => [ratio, spread!.runs])).toEqual([
      [0.55, 3],
      [0.5, 3],
    ]);
  });

  it("count a row that a run lacks by those that have it, and the highest load", () => {
    const [{ rows, load }] = overRuns([...runs, [{ ...section("first", []), load: 3 }]]) as [Section];
    expect([rows[0]!.spread!.runs, load]).toEqual([3, 3]);
  });
});

describe("absent peers", () => {
  it("are named with the command that installs them", () => {
    const said: string[] = [];
    expect(packageFolder("jax-js", ["@nobody/none@1.2.3"], (text) => said.push(text))).toBeUndefined();
    expect(said).toEqual([
      "jax-js is absent: npm install --prefix DIR @nobody/none@1.2.3, and set LAYERWISE_PEERS=DIR",
    ]);
  });
});

describe("the command", () => {
  const bench = (...args: string[]) => spawnSync(process.execPath, ["--import", "tsx", "bench/run.ts", ...args]);

  it("refuses a bench it does not know, and names those it does", () => {
    const { status, stderr, stdout } = bench("--only", "nothing");
    expect([status, String(stdout)]).toEqual([2, ""]);
    expect(String(stderr)).toMatch(/expected --only with one of supernet, .*cutoffs.*, got nothing/);
  });

  it("prints only JSON, and writes the page where it is told", { timeout: 60_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), "layerwise-"));
    const out = join(folder, "results.md");
    const { status, stdout } = bench("--only", "cutoffs", "--json", "--rounds", "3", "--out", out);
    expect(status).toBe(0);
    const [row] = JSON.parse(String(stdout));
    expect(row).toMatchObject({ peer_ms: 133_000, target: 0.001 });
    expect(row.ratio).toBeCloseTo(row.ours_ms / 133_000, 12);
    expect(readFileSync(out, "utf8")).toMatch(/^\| cutoffs \| optimal cutoffs/m);
    rmSync(folder, { recursive: true });
  });

  it("makes several runs, and only those that are not there yet", { timeout: 60_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), "layerwise-"));
    const out = join(folder, "results.md");
    const earlier = section("cutoffs", [compare("earlier", 1, [1], "Python", [2])]);
    const setting = { commit: commitNow(), rounds: 1, threads: 1, cpu: false };
    const [first, second] = [1, 2].map((run) => join(folder, `run-${run}.json`)) as [string, string];
    writeFileSync(first, JSON.stringify({ ...setting, sections: [earlier] }));
    const args = ["--only", "cutoffs", "--threads", "1", "--runs", "2", "--keep", folder, "--out", out];
    const { status, stderr } = bench(...args, "--rounds", "1");
    expect([status, String(stderr)]).toEqual([0, expect.stringContaining("run 2 of 2")]);
    expect(JSON.parse(readFileSync(first, "utf8")).sections).toEqual([earlier]);
    const made = JSON.parse(readFileSync(second, "utf8"));
    expect(made).toMatchObject(setting);
    expect(made.sections[0].rows[0].name).toMatch(/^optimal cutoffs/);
    expect(readFileSync(out, "utf8").match(/^\| cutoffs \|.* 1 × 1 \|/gm)).toHaveLength(2);
    const other = bench(...args, "--rounds", "2");
    expect([other.status, String(other.stderr)]).toEqual([2, `bench: ${first}: expected rounds 2, got 1; ${REMEDY}\n`]);
    rmSync(folder, { recursive: true });
  });

  it.each([
    [["--runs", "2", "--record", "a.json"], "expected --record with one run"],
    [["--keep", "a"], "expected --keep with several runs"],
  ])("refuses %j", (args, message) => {
    const { status, stderr } = bench("--only", "cutoffs", ...args);
    expect([status, String(stderr)]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe("growth", () => {
  const parts = { products: 4, memory: 3, operations: 1, update: 0.5 };
  const sizes = { axis: "width", value: 256, factor: 2, threads: 2 };
  const row = { ...sizes, flopsPerToken: 3e6, stepMs: 10, tokensPerSecond: 51_200, torchMs: 20, parts };
  const rows = [{ ...row, value: 128, factor: 1, tokensPerSecond: 90_000 }, row];

  it("draws a line an axis, with a dot for each size", () => {
    const svg = growthSvg([...rows, { ...row, axis: "depth" }], "title");
    expect(svg.match(/<polyline/g)).toHaveLength(2);
    expect(svg.match(/<circle/g)).toHaveLength(3);
    expect(svg).toContain("<title>width 256</title>");
  });

  it("lists what a step takes, beside PyTorch's and beside what it should take, by threads", () => {
    const speeds = new Map([[2, { gflops: 100, gigabytesPerSecond: 20, microsecondsPerOperation: 3 }]]);
    const page = growthPage([...rows, { ...row, threads: 1, value: 7 }], "On a machine.", speeds);
    expect(page).toContain("(scaling.svg)");
    expect(page).toContain("100 GFLOP/s in large products, 20.0 GB/s in elementwise operations, 3.0 µs per operation");
    const cells = "| width | 256 | 3 M | 10 ms | 51,200 | 153.6 | 0.50 | 40 % | 30 % | 10 % | 5 % | 8.5 ms | 15 % |";
    expect(page.split("\n")).toContain(cells);
    expect(page).not.toContain("| width | 7 |");
  });

  it("expects of a step what its products, its other bytes and its operations would take", () => {
    const [x, w] = [input("x", [10, 20]), input("w", [20, 30])];
    const outputs = { y: relu(matmul(x, w)) };
    const speeds = { gflops: 1, gigabytesPerSecond: 1, microsecondsPerOperation: 1000 };
    const found = partsOf(outputs, 1000, speeds);
    expect(found.products).toBeCloseTo((2 * 10 * 20 * 30) / 1e6, 12);
    expect(found.memory).toBeCloseTo((2 * 10 * 30 * 4) / 1e6, 12);
    expect(found.operations).toBe(3); // with the name under which the result leaves
    expect(found.update).toBeCloseTo((7 * 4 * 1000) / 1e6, 12);
  });
});

describe("lines that ran", () => {
  const source = [
    'import { a } from "./a.js";',
    "export function used(x) {",
    "  if (x) {",
    "    return a;",
    "  }",
    "  return 1;",
    "}",
    "function unused() {",
    "  return 2;",
    "}",
    "",
  ].join("\n");
  const range = (from: string, to: string, count: number) => ({
    startOffset: source.indexOf(from),
    endOffset: source.indexOf(to) + to.length,
    count,
  });
  const counted = {
    url: "file:///a.js",
    functions: [
      { ranges: [{ startOffset: 0, endOffset: source.length, count: 1 }] },
      { ranges: [range("function used", "return 1;\n}", 1), range("{\n    return a", "a;\n  }", 0)] },
      { ranges: [range("function unused", "return 2;\n}", 0)] },
    ],
  };

  it("are those of functions that were called, without branches that were not taken", () => {
    expect(linesThatRan(source, counted)).toEqual({ lines: [0, 1, 2, 5, 6], inFunctions: [0, 1, 2, 3, 4, 5, 6] });
  });

  it("know what imports, and which lines are code", () => {
    const { imports, functions } = kindsOf(`const table = {\n  a: 1,\n};\n${source}`);
    expect([[...imports], [...functions]]).toEqual([[3], [4, 5, 6, 7, 8, 9, 10, 11, 12]]);
    expect(codeLines(`/** a\n * b\n */\n\nconst a = 1; // c\n  // d\n${source}`)).toBe(11);
  });
});
