/** The trade-off on WikiText-2: searches under several budgets, what they found retrained beside the baseline and the published patterns, perplexity against latency. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type MeasuredCosts, measureCandidates, networkFlops, networkLatencies } from "../src/analysis/latency.ts";
import { formatNumber, table } from "../src/base/table.ts";
import { parsePattern, printPattern } from "../src/depth/pattern.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { writeAtomically } from "../src/files/atomic.ts";
import { parModel } from "../src/model/par/par.ts";
import { countParameters } from "../src/model/report.ts";
import { paretoFront, type TradeOff, tradeOffSvg } from "../src/pictures/trade-off-picture.ts";
import { spreadOf } from "../src/sweep/comparison.ts";
import { Run } from "../src/tasks/run.ts";
import {
  type Found,
  type SearchOptions,
  type SearchResult,
  search,
  searchDefaults,
} from "../src/tasks/search/index.ts";
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
  json: false,
});

const blocks = Number(values.blocks);
const seeds = values.seeds.split(",").map(Number);
const shape = searchDefaults.latency; // the paper's
const say = (text: string) => void process.stderr.write(`${text}\n`);
const engine = await ortEngine(threadsOf(values.threads));
const base = {
  ...searchDefaults,
  corpus: "wikitext-2",
  tokenizer: "wiki2_12k",
  data: values.data ?? null,
  seed: seeds[0]!,
  dropout: 0,
  evaluateEvery: 500,
};

/** The result of a run, from its folder where it has ended, otherwise trained to its end. */
async function carriedOut(name: string, options: SearchOptions): Promise<Found> {
  const path = join(values.out, `${blocks}-${name}`);
  const session = existsSync(join(path, "config.yaml"))
    ? Run.resume(path, { engine, say })
    : search({ ...options, engine, say, into: await Run.create(path) });
  for await (const event of session) if (event.type === "note") say(event.text);
  return (await session.result) as SearchResult;
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
const costs: MeasuredCosts = existsSync(costsFile)
  ? JSON.parse(await readFile(costsFile, "utf8"))
  : await measureCandidates(engine, optionsOf(blocks), shape);
await writeAtomically(costsFile, JSON.stringify(costs));

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
for (const budget of values.budgets.split(",")) {
  say(`searching ${blocks} blocks, budget ${budget}`);
  const asked = budget === "none" ? null : budget;
  const config = { ...base, ...searching, budgetWeight: 2, blocks, budget: asked, steps: Number(values.searchSteps) };
  const found = await carriedOut(`search-${budget}`, { ...config, costs });
  want({ name: `budget ${budget}`, kind: "found", pattern: found.pattern, searchMs: found.elapsedMs });
}

for (const pattern of values.patterns.split(",").filter(Boolean)) {
  want({ name: "by hand", kind: "by hand", pattern: printPattern(parsePattern(pattern)) });
}

const networks = [...wanted.values()];
const trained: Found[][] = networks.map(() => []);
for (const seed of seeds) {
  for (const [i, { pattern, name }] of networks.entries()) {
    say(`training ${pattern} (${name}), seed ${seed}`);
    const config = { ...base, seed, blocks: pattern, steps: Number(values.steps) };
    const folder = `${pattern.replaceAll(/[()]/g, "_")}${seed === 1 ? "" : `-seed-${seed}`}`;
    trained[i]!.push(await carriedOut(folder, { ...config, costs }));
  }
}
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
