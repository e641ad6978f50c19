/**
 * What a front is worth: one supernet, its networks for several budgets, published patterns, patterns by hand and random networks of
 * equal latency, all retrained from several seeds; τ between supernet and retrained perplexity. Goes on where it was stopped.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { costOfNetwork } from "../src/analysis/latency.ts";
import { kendall } from "../src/analysis/rank.ts";
import { reject } from "../src/base/errors.ts";
import { RandomStream } from "../src/base/random.ts";
import { table } from "../src/base/table.ts";
import { parsePattern, patternBlocks, printPattern } from "../src/depth/pattern.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { writeAtomically } from "../src/files/atomic.ts";
import { parModel } from "../src/model/par/par.ts";
import { countParameters } from "../src/model/report.ts";
import { spreadOf } from "../src/sweep/spread.ts";
import { Run } from "../src/tasks/run.ts";
import { keptFront, pickWithin } from "../src/tasks/search/front/front.ts";
import { type Choices, drawPath, patternOfPath } from "../src/tasks/search/front/paths.ts";
import { openRanking } from "../src/tasks/search/front/stage.ts";
import {
  type Found,
  measureCosts,
  readCosts,
  type SearchOptions,
  search,
  writeCosts,
} from "../src/tasks/search/index.ts";
import { openSearch } from "../src/tasks/search/parts.ts";
import { lastModel } from "../src/tasks/search/stored.ts";
import { flagsOf, threadsOf } from "./flags.ts";

const { values } = flagsOf({
  data: undefined,
  corpus: "wikitext-2",
  /** None, '', where the corpus trains its own. */
  tokenizer: "wiki2_12k",
  /** Folder for runs and results; nothing is written elsewhere. */
  out: "runs/front-bench",
  /** A file of layerwise latency. Default: measured once, into the folder. */
  costs: undefined,
  blocks: "12",
  budgets: "0.5,0.65,0.8",
  published: "par-wikitext103-base,par-enwik8,sandwich",
  patterns: "(sf)x3(f)x5i",
  /** Random networks per budget, of its latency or up to a tenth less. */
  random: "2",
  supernetSteps: "1500",
  networks: "600",
  steps: "1500",
  seeds: "1,2,3",
  supernetSeed: "1",
  threads: undefined,
  json: false,
});

const blocks = Number(values.blocks);
const seeds = values.seeds.split(",").map(Number);
const say = (text: string) => void process.stderr.write(`${text}\n`);
const engine = await ortEngine(threadsOf(values.threads));
const base: SearchOptions = {
  corpus: values.corpus,
  tokenizer: values.tokenizer || null,
  data: values.data ?? null,
  dropout: 0,
  rate: 0.003,
  warmup: 400,
  evaluateEvery: Number(values.steps),
  checkpointEvery: 250,
  engine,
};

/** A run's result, from its folder where it has ended, otherwise trained to its end. */
async function carriedOut(name: string, options: SearchOptions): Promise<Found> {
  const path = join(values.out, name);
  const session = existsSync(join(path, "config.yaml"))
    ? Run.resume(path, { engine, say })
    : search({ ...options, say, into: await Run.create(path) });
  for await (const event of session) if (event.type === "note") say(event.text);
  return (await session.result) as Found;
}

const costsFile = values.costs ?? join(values.out, "costs.json");
if (!existsSync(costsFile)) await writeCosts(costsFile, await measureCosts({ ...base, blocks, say }));
const costs = await readCosts(costsFile);

const supernet = {
  ...base,
  blocks,
  front: true,
  networks: Number(values.networks),
  steps: Number(values.supernetSteps),
  seed: Number(values.supernetSeed),
  evaluateEvery: 500,
  costs,
};
const searched = await carriedOut("supernet", supernet);
const front = (await keptFront(join(values.out, "supernet")))!;
const stored = await lastModel(join(values.out, "supernet"));
const { choices } = stored.model;
const { baselineMs } = front;

const msOf = (pattern: string) =>
  costOfNetwork(
    costs,
    parModel({ ...stored.model.options, blocks: pattern, candidates: undefined }).choices.map(([choice]) => choice!),
  );

interface Network {
  readonly name: string;
  readonly pattern: string;
}
const wanted = new Map<string, Network>();
const want = (name: string, given: string) => {
  const pattern = printPattern(patternBlocks(given));
  const known = wanted.get(pattern);
  wanted.set(pattern, { name: known ? `${known.name}, ${name}` : name, pattern });
};
want("baseline", `baseline/${blocks}`);
for (const name of values.published.split(",").filter(Boolean)) want(name, `${name}/${blocks}`);
for (const pattern of values.patterns.split(",").filter(Boolean)) want("by hand", pattern);
const budgets = values.budgets.split(",").map(Number);
for (const budget of budgets) want(`front ${budget}`, pickWithin(front.networks, budget * baselineMs).pattern);
for (const budget of budgets) {
  for (let i = 1; i <= Number(values.random); i++) want(`random ${budget}`, randomNetwork(choices, budget, i));
}

/** Drawn as training draws paths: the first of nine tenths of the budget or more, or the dearest of a thousand within it. */
function randomNetwork(given: Choices, budget: number, seed: number): string {
  const random = new RandomStream(seed, `random network of ${budget}`);
  let dearest = { pattern: "", ratio: 0 };
  for (let tries = 0; tries < 1000; tries++) {
    const pattern = patternOfPath(given, drawPath(given, random));
    const ratio = msOf(pattern) / baselineMs;
    if (ratio > budget) continue;
    if (ratio > 0.9 * budget) return pattern;
    if (ratio > dearest.ratio) dearest = { pattern, ratio };
  }
  if (dearest.pattern !== "") return dearest.pattern;
  return reject({ who: "random network", needed: `one of ${budget} of the baseline's latency`, got: "none" });
}

const networks = [...wanted.values()];
const parts = { ...(await openSearch({ ...stored.settings, rankBatches: 8 }, { engine, costs })), model: stored.model };
const ranking = await openRanking(parts, stored.weights);
const paths = networks.map(({ pattern }) => {
  return patternBlocks(pattern).map((block, i) => {
    return choices[i]!.findIndex((choice) => patternOfPath([[choice]], [0]) === printPattern([block]));
  });
});
const inSupernet = (await ranking.losses(paths)).map(Math.exp);
await ranking.release();

const perplexities: number[][] = networks.map(() => []);
const trainingMs: number[] = [];
for (const seed of seeds) {
  for (const [i, { pattern, name }] of networks.entries()) {
    say(`training ${pattern} (${name}), seed ${seed}`);
    const folder = `networks/${pattern.replaceAll(/[() ]/g, "_")}-${values.steps}-seed-${seed}`;
    const found = await carriedOut(folder, { ...base, blocks: pattern, steps: Number(values.steps), seed, costs });
    perplexities[i]!.push(found.perplexity);
    if (i === 0) trainingMs.push(found.elapsedMs);
  }
}

const rows = networks.map(({ name, pattern }, i) => ({
  ...{ network: name, pattern, ms: msOf(pattern), ratio: msOf(pattern) / baselineMs },
  parameters: countParameters(parModel({ ...stored.model.options, blocks: pattern }).parameters),
  depth: parsePattern(pattern).filter((kind) => kind !== "identity").length,
  supernet: inSupernet[i]!,
  ...{ perplexities: perplexities[i]!, ...spreadOf(perplexities[i]!)! },
}));
const tau = kendall(
  rows.map(({ supernet: value }) => value),
  rows.map(({ mean }) => mean),
);
const cost = searched.elapsedMs / (trainingMs.reduce((a, b) => a + b, 0) / trainingMs.length);
const spread = ({ mean, deviation }: { mean: number; deviation: number | null }) =>
  deviation === null ? mean.toFixed(2) : `${mean.toFixed(2)} ± ${deviation.toFixed(2)}`;

/** For each budget: the found network, the best of the written ones that take no longer, and the random ones. */
const verdicts = budgets.map((budget) => {
  const named = (name: string) => rows.filter(({ network }) => network.split(", ").includes(name));
  const [found] = named(`front ${budget}`);
  const rivals = rows.filter(({ network, ms }) => !/^(front|random)/.test(network) && ms <= found!.ms);
  const best = rivals.toSorted((a, b) => a.mean - b.mean)[0];
  const random = spreadOf(named(`random ${budget}`).map(({ mean }) => mean));
  return {
    budget,
    found: `${found!.pattern} ${spread(found!)}`,
    "best written": best ? `${best.pattern} ${spread(best)}` : "none",
    random: random ? spread(random) : "none",
  };
});

const result = { rows, tau, searchCost: cost, seeds: seeds.length, verdicts };
await writeAtomically(join(values.out, "front-bench.json"), `${JSON.stringify(result, null, 2)}\n`);
if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`);
else {
  const shown = rows
    .toSorted((a, b) => a.ms - b.ms)
    .map((row) => ({
      ...{ network: row.network, pattern: row.pattern, depth: row.depth },
      parameters: `${(row.parameters / 1e6).toFixed(3)} M`,
      "÷ baseline": row.ratio.toFixed(2),
      "in the supernet": row.supernet.toFixed(2),
      "valid perplexity": spread(row),
    }));
  process.stdout.write(`${table(shown)}\n${table(verdicts)}\n`);
  process.stdout.write(`τ ${tau.toFixed(2)} over ${rows.length} networks, ${seeds.length} seeds; `);
  process.stdout.write(`the search took ${cost.toFixed(2)} of a baseline's training\n`);
}
