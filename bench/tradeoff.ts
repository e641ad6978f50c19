/** The trade-off on WikiText-2: searches under several budgets, what they found retrained beside the baseline and the published patterns, perplexity against latency. */
import { existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { measureCandidates, networkFlops, networkLatencies } from "../src/analysis/latency.ts";
import { spreadOf } from "../src/base/spread.ts";
import { formatNumber, table } from "../src/base/table.ts";
import { parsePattern, printPattern } from "../src/depth/pattern.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { writeAtomically } from "../src/files/atomic.ts";
import { parModel } from "../src/model/par/par.ts";
import { countParameters } from "../src/model/report.ts";
import { paretoFront, type TradeOff, tradeOffSvg } from "../src/pictures/trade-off-picture.ts";
import { hereLauncher } from "../src/sweep/here.ts";
import { sweep } from "../src/sweep/sweep.ts";
import { namedFolder, type SweepRow } from "../src/sweep/sweep-folder.ts";
import type { SweepSpec } from "../src/sweep/sweep-plan.ts";
import { type Found, readCosts, searchDefaults, writeCosts } from "../src/tasks/search/index.ts";
import { keptResult } from "../src/tasks/search/result.ts";
import { flagsOf, threadsOf } from "./flags.ts";
import { searching } from "./searching.ts";

const { values } = flagsOf({
  data: undefined,
  blocks: "6",
  budgets: "none,0.8,0.65,0.5",
  /** Published patterns to train beside the baseline, by name and with commas. */
  published: "par-wikitext103-base,par-enwik8,sandwich",
  /** Patterns of one's own to train beside them, with commas. */
  patterns: "",
  searchSteps: "1500",
  steps: "2000",
  threads: undefined,
  out: "runs/tradeoff",
  /** Seeds of the retrained networks; searches take the first. */
  seeds: "1",
  /** Where runs are made: here, local:N, redis://host. */
  on: "here",
  json: false,
});

const blocks = Number(values.blocks);
const seeds = values.seeds.split(",").map(Number);
const shape = searchDefaults.latency; // the paper's
const say = (text: string) => void process.stderr.write(`${text}\n`);
const engine = await ortEngine(threadsOf(values.threads));
const { seed: _, blocks: __, budget: ___, ...defaults } = searchDefaults;
const base = {
  ...defaults,
  corpus: "wikitext-2",
  tokenizer: "wiki2_12k",
  data: values.data ?? null,
  dropout: 0,
  evaluateEvery: 500,
};

const nameOf = { searches: (budget: string) => `budget ${budget}`, networks: (pattern: string) => pattern };

/** Runs a sweep of searches over named settings to its end; what each seed of each found, by name. */
async function swept(kind: "searches" | "networks", spec: Omit<SweepSpec, "task">): Promise<Map<string, Found[]>> {
  const into = join(values.out, `${blocks}-${kind}`);
  const on = values.on === "here" ? hereLauncher({ engine, say }) : values.on;
  const session = sweep({ ...spec, task: "search", costs: costsFile, into, on });
  for await (const event of session) if (event.type === "note") say(event.text);
  const { reason, rows: found } = await session.result;
  if (reason !== "finished") throw new Error(`${into}: ${reason}; the same command goes on`);
  const resultsOf = ({ trials }: SweepRow) => Promise.all(trials.map(async ({ run }) => (await keptResult(run))!));
  return new Map(await Promise.all(found.map(async (row) => [row.name!, await resultsOf(row)] as const)));
}

/** Runs of this bench before it made sweeps are moved to where their trials look for them. */
async function adopt(old: string, kind: keyof typeof nameOf, name: string, seed: number): Promise<void> {
  const from = join(values.out, `${blocks}-${old}`);
  const to = join(values.out, `${blocks}-${kind}`, namedFolder(nameOf[kind](name), seed));
  if (!existsSync(join(from, "config.yaml"))) return;
  await mkdir(dirname(to), { recursive: true });
  await rename(from, to);
}

interface Row extends TradeOff {
  readonly parameters: number;
  readonly executedDepth: number;
  readonly flopsPerToken: number;
  readonly trainingMs: number;
  readonly perplexities: readonly number[];
}

const optionsOf = (pattern: string | number) => {
  const { width, heads, feedForward: hidden, memory, factor } = base;
  return {
    vocabulary: 12_000,
    blocks: pattern,
    width,
    heads,
    hidden,
    memory,
    cutoffs: [250, 2500],
    projectionFactor: factor,
  };
};

const costsFile = join(values.out, `${blocks}-costs.json`);
if (!existsSync(costsFile)) await writeCosts(costsFile, await measureCandidates(engine, optionsOf(blocks), shape));
const costs = await readCosts(costsFile);

const scaled = (name: string) => printPattern(parsePattern(`${name}/${blocks}`));
const wanted = new Map<string, { name: string; kind: string; pattern: string; searchMs?: number }>();
const want = (row: { name: string; kind: string; pattern: string; searchMs?: number }) => {
  const known = wanted.get(row.pattern);
  wanted.set(row.pattern, known ? { ...known, name: `${known.name}, ${row.name}` } : row);
};
want({ name: "baseline", kind: "baseline", pattern: scaled("baseline") });
for (const name of values.published.split(",").filter(Boolean)) {
  want({ name, kind: "published", pattern: scaled(name) });
}
const budgets = values.budgets.split(",");
for (const budget of budgets) await adopt(`search-${budget}`, "searches", budget, seeds[0]!);
const searches = await swept("searches", {
  settings: { ...base, ...searching, budgetWeight: 2, blocks, steps: Number(values.searchSteps) },
  candidates: Object.fromEntries(
    budgets.map((each) => [nameOf.searches(each), { budget: each === "none" ? null : each }]),
  ),
  seeds: [seeds[0]!],
});
for (const budget of budgets) {
  const { pattern, elapsedMs: searchMs } = searches.get(nameOf.searches(budget))![0]!;
  want({ name: nameOf.searches(budget), kind: "found", pattern, searchMs });
}

for (const pattern of values.patterns.split(",").filter(Boolean)) {
  want({ name: "by hand", kind: "by hand", pattern: printPattern(parsePattern(pattern)) });
}

const networks = [...wanted.values()];
for (const { pattern } of networks) {
  for (const seed of seeds) {
    const old = `${pattern.replaceAll(/[()]/g, "_")}${seed === 1 ? "" : `-seed-${seed}`}`;
    await adopt(old, "networks", pattern, seed);
  }
}
const found = await swept("networks", {
  settings: { ...base, steps: Number(values.steps) },
  candidates: Object.fromEntries(networks.map(({ pattern }) => [pattern, { blocks: pattern }])),
  seeds,
});
const trained = networks.map(({ pattern }) => found.get(pattern)!);
const models = networks.map(({ pattern }) => parModel(optionsOf(pattern)));
const latencies = await networkLatencies(engine, models, shape);
const perplexitiesOf = (i: number) => trained[i]!.map(({ perplexity }) => perplexity);
const rows: Row[] = networks.map(({ name, kind, pattern }, i) => ({
  ...{ name, kind, pattern, latencyMs: latencies[i]!, perplexity: spreadOf(perplexitiesOf(i))!.mean },
  perplexities: perplexitiesOf(i),
  parameters: countParameters(models[i]!.parameters),
  executedDepth: parsePattern(pattern).filter((each) => each !== "identity").length,
  flopsPerToken: networkFlops(models[i]!, shape) / (shape.batch * shape.length),
  trainingMs: trained[i]!.reduce((sum, { elapsedMs }) => sum + elapsedMs, 0) / seeds.length,
}));

function spreadText(perplexities: readonly number[]): string {
  const { mean, deviation } = spreadOf(perplexities)!;
  return deviation === null ? mean.toFixed(2) : `${mean.toFixed(2)} ± ${deviation.toFixed(2)}`;
}

const baseline = rows[0]!;
const best = new Set(paretoFront(rows));
const shown = rows
  .toSorted((a, b) => a.latencyMs - b.latencyMs)
  .map((row) => ({
    ...{ network: row.name, pattern: row.pattern, depth: row.executedDepth },
    parameters: `${formatNumber(row.parameters / 1e6, 3)} M`,
    flops: `${formatNumber(row.flopsPerToken / 1e6, 2)} M`,
    latency: `${formatNumber(row.latencyMs, 2)} ms`,
    ratio: (row.latencyMs / baseline.latencyMs).toFixed(2),
    perplexity: spreadText(row.perplexities),
    front: best.has(row) ? "*" : "",
  }));
const titles = {
  ...{ network: "network", pattern: "pattern", parameters: "distinct parameters", depth: "executed depth" },
  ...{
    flops: "FLOPs per token",
    latency: "latency",
    ratio: "÷ baseline",
    perplexity: "valid perplexity",
    front: "front",
  },
};
const columns = Object.entries(titles).map(([key, title]) => ({ key, title }));
await writeAtomically(join(values.out, `${blocks}.json`), `${JSON.stringify({ costs, rows }, null, 2)}\n`);
await writeAtomically(
  join(values.out, `${blocks}.svg`),
  tradeOffSvg(rows, `WikiText-2, ${blocks} blocks: batch 1, segment 64, memory 640`),
);
process.stdout.write(values.json ? `${JSON.stringify(rows)}\n` : table(shown, columns));
