/**
 * What a front is worth: from each seed one supernet, the winner of a race of its networks for each of several budgets, published patterns, patterns by hand and random
 * networks of equal latency, all retrained; τ between supernet and retrained perplexity. Goes on where it was stopped, and several
 * processes may share the folder: each takes what no other has begun.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { kendall } from "../src/analysis/rank.ts";
import { spreadOf } from "../src/base/spread.ts";
import { table } from "../src/base/table.ts";
import { parsePattern, patternBlocks, printPattern } from "../src/depth/pattern.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { writeAtomically } from "../src/files/atomic.ts";
import { parModel } from "../src/model/par/par.ts";
import { countParameters } from "../src/model/report.ts";
import { Run } from "../src/tasks/run.ts";
import { costOfPath, costOfPattern } from "../src/tasks/search/front/costs.ts";
import { keptFront } from "../src/tasks/search/front/front.ts";
import { patternOfPath } from "../src/tasks/search/front/paths.ts";
import { raceTable } from "../src/tasks/search/front/race.ts";
import { randomPaths } from "../src/tasks/search/front/random.ts";
import { openSupernet, supernetPerplexities } from "../src/tasks/search/front/supernet.ts";
import {
  type Found,
  measureCosts,
  readCosts,
  retrainFront,
  type SearchOptions,
  search,
  writeCosts,
} from "../src/tasks/search/index.ts";
import { lastModel } from "../src/tasks/search/stored.ts";
import type { Path } from "../src/train/path-program.ts";
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
  patterns: "(sf)x2(f)x6(i)x2,(sf)x3(f)x5i,(sf)x4(f)x4",
  /** Networks that race for each budget and seed. */
  race: "6",
  /** Random networks per budget and seed, of its latency or up to a tenth less. */
  random: "2",
  supernetSteps: "1500",
  networks: "600",
  steps: "1500",
  seeds: "1,2,3",
  threads: undefined,
  json: false,
});

const blocks = Number(values.blocks);
const seeds = values.seeds.split(",").map(Number);
const budgets = values.budgets.split(",").map(Number);
const listOf = (text: string) => text.split(",").filter(Boolean);
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

/** What is kept of a run that has ended. */
interface Ended {
  readonly perplexity: number;
  /** Of this process, if it ran the whole of it. */
  readonly cpuMs: number | null;
}

/** A piece of work and its folder. */
interface Work<E extends Ended> {
  readonly name: string;
  /** Carries it out, or goes on with what the folder has. */
  run(path: string): Promise<Omit<E, "cpuMs">>;
}

/** The end of a piece of work, as it is kept, otherwise it is carried out; undefined while another process has it. */
async function carriedOut<E extends Ended>({ name, run }: Work<E>): Promise<E | undefined> {
  const path = join(values.out, name);
  const ended = `${path}.json`;
  if (existsSync(ended)) return JSON.parse(await readFile(ended, "utf8")) as E;
  if (!(await claimed(`${path}.claim`))) return undefined;
  const isNew = !existsSync(path);
  const before = process.cpuUsage();
  const found = await run(path);
  const { user, system } = process.cpuUsage(before);
  const end = { ...found, cpuMs: isNew ? (user + system) / 1e3 : null } as E;
  await writeAtomically(ended, JSON.stringify(end));
  await rm(`${path}.claim`);
  return end;
}

/** A search or an ordinary training. */
const running = (options: SearchOptions) => async (path: string) => {
  const isNew = !existsSync(join(path, "config.yaml"));
  const session = isNew ? search({ ...options, say, into: await Run.create(path) }) : Run.resume(path, { engine, say });
  for await (const event of session) if (event.type === "note") say(event.text);
  const { perplexity } = (await session.result) as Found;
  return { perplexity };
};

/** Whether a piece of work is this process's now: nobody's before, or of a process that is gone. */
async function claimed(file: string): Promise<boolean> {
  await mkdir(dirname(file), { recursive: true });
  try {
    await writeFile(file, `${process.pid}`, { flag: "wx" });
    return true;
  } catch {
    const owner = Number(await readFile(file, "utf8").catch(() => "0"));
    if (owner > 0 && isAlive(owner)) return false;
    await rm(file, { force: true });
    return claimed(file);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** All pieces of work, those of others waited for. */
async function allOf<E extends Ended = Ended>(work: readonly Work<E>[]): Promise<E[]> {
  for (;;) {
    const ends: (E | undefined)[] = [];
    for (const each of work) ends.push(await carriedOut(each));
    if (ends.every((end) => end !== undefined)) return ends;
    await pause(5000);
  }
}

const costsFile = values.costs ?? join(values.out, "costs.json");
if (!existsSync(costsFile)) await writeCosts(costsFile, await measureCosts({ ...base, blocks, say }));
const costs = await readCosts(costsFile);

const supernetOf = (seed: number) => `supernet-seed-${seed}`;
const supernets = seeds.map((seed) => ({
  name: supernetOf(seed),
  run: running({
    ...base,
    blocks,
    front: true,
    networks: Number(values.networks),
    steps: Number(values.supernetSteps),
    seed,
    evaluateEvery: 500,
    costs,
  }),
}));
/** A network trained alone. */
const trainingOf = (pattern: string, seed: number) => ({
  pattern,
  seed,
  name: `networks/${pattern.replaceAll(/[() ]/g, "_")}-${values.steps}-seed-${seed}`,
  run: running({ ...base, blocks: pattern, steps: Number(values.steps), seed, costs }),
});
const canonical = (given: string) => printPattern(patternBlocks(given));
const written = [
  { name: "baseline", pattern: canonical(`baseline/${blocks}`) },
  ...listOf(values.patterns).map((pattern) => ({ name: "by hand", pattern: canonical(pattern) })),
  ...listOf(values.published).map((name) => ({ name, pattern: canonical(`${name}/${blocks}`) })),
];
// What needs no supernet is trained beside them, so that no process waits.
const early = seeds.flatMap((seed) => written.map(({ pattern }) => trainingOf(pattern, seed)));
const searches = (await allOf([...supernets, ...early])).slice(0, supernets.length);
const fronts = await Promise.all(seeds.map(async (seed) => (await keptFront(join(values.out, supernetOf(seed))))!));
const { baselineMs } = fronts[0]!;
const stored = await lastModel(join(values.out, supernetOf(seeds[0]!)));
const { choices } = stored.model;

/** The end of a race: what won it. */
interface Won extends Ended {
  readonly pattern: string;
}
const raceOf = (seed: number, budget: number): Work<Won> => ({
  name: `races/${budget}-seed-${seed}`,
  run: async (path) => {
    const { data, corpus: _, tokenizer: __, ...options } = base;
    const asked = { ...options, data, steps: Number(values.steps), race: Number(values.race), budget: `${budget}` };
    const session = retrainFront(join(values.out, supernetOf(seed)), { ...asked, baseline: false, into: path, say });
    const alone = (pattern: string) => join(values.out, `${trainingOf(pattern, seed).name}.json`);
    for await (const event of session) {
      if (event.type !== "note") continue;
      say(event.text);
      // A winner that was trained alone already, by the same settings, has the same end.
      const winner = /^training (\S+) /.exec(event.text)?.[1];
      if (winner === undefined || !existsSync(alone(winner))) continue;
      const { perplexity } = JSON.parse(await readFile(alone(winner), "utf8")) as Ended;
      return { pattern: winner, perplexity };
    }
    const { networks, race } = await session.result;
    say(raceTable(race!));
    const { pattern, perplexity } = networks[0]!;
    await writeAtomically(alone(pattern), JSON.stringify({ perplexity, cpuMs: null }));
    return { pattern, perplexity };
  },
});
const raced = seeds.flatMap((seed) => budgets.map((budget) => ({ seed, budget })));
const won = await allOf(raced.map(({ seed, budget }) => raceOf(seed, budget)));
const winner = (seed: number, budget: number) =>
  won[raced.findIndex((race) => race.seed === seed && race.budget === budget)]!.pattern;

const supernet = { model: stored.model, costs };
const msOf = (pattern: string) => costOfPattern(supernet, pattern);

/** A network by its letters, the names it goes by, and the seeds it is trained from. */
interface Network {
  readonly pattern: string;
  readonly names: string[];
  readonly seeds: Set<number>;
}
const wanted = new Map<string, Network>();
const want = (name: string, given: string, from: readonly number[]) => {
  const pattern = canonical(given);
  const network = wanted.get(pattern) ?? { pattern, names: [], seeds: new Set<number>() };
  if (!network.names.includes(name)) network.names.push(name);
  for (const seed of from) network.seeds.add(seed);
  wanted.set(pattern, network);
};
for (const { name, pattern } of written) want(name, pattern, seeds);
for (const seed of seeds) {
  for (const budget of budgets) {
    want(`front ${budget}`, winner(seed, budget), [seed]);
    const draw = {
      choices,
      seed,
      budget: `${budget}`,
      most: budget * baselineMs,
      costOf: (path: Path) => costOfPath(supernet, path),
    };
    for (const path of randomPaths(draw, Number(values.random)))
      want(`random ${budget}`, patternOfPath(choices, path), [seed]);
  }
}

const networks = [...wanted.values()];
const trainings = seeds.flatMap((seed) =>
  networks.filter((network) => network.seeds.has(seed)).map(({ pattern }) => trainingOf(pattern, seed)),
);
const trained = await allOf(trainings);
const perplexitiesOf = (pattern: string) =>
  trainings.flatMap((training, i) => (training.pattern === pattern ? [trained[i]!.perplexity] : []));
const perplexityFrom = (pattern: string, seed: number) =>
  trained[trainings.findIndex((training) => training.pattern === pattern && training.seed === seed)]!.perplexity;

/** Perplexities of networks with the weights of one supernet, on four times eight batches of valid text, whatever the front was measured on. */
async function perplexitiesIn(seed: number): Promise<number[]> {
  const run = join(values.out, supernetOf(seed));
  const parts = await openSupernet(run, { engine });
  const patterns = networks.map(({ pattern }) => pattern);
  const settings = { ...parts.settings, rankBatches: 8 };
  const found = await supernetPerplexities({ ...parts, settings }, run, patterns);
  return patterns.map((pattern) => found.get(pattern)!);
}
const inSupernets: number[][] = [];
for (const seed of seeds) inSupernets.push(await perplexitiesIn(seed));

const mean = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
const rows = networks.map(({ names, pattern }, i) => ({
  network: names.join(", "),
  pattern,
  ms: msOf(pattern),
  ratio: msOf(pattern) / baselineMs,
  parameters: countParameters(parModel({ ...stored.model.options, blocks: pattern }).parameters),
  depth: parsePattern(pattern).filter((kind) => kind !== "identity").length,
  supernet: mean(inSupernets.map((each) => each[i]!)),
  perplexities: perplexitiesOf(pattern),
  ...spreadOf(perplexitiesOf(pattern))!,
}));
const retrained = rows.map((row) => row.mean);
const taus = inSupernets.map((each) => kendall(each, retrained));
const tau = kendall(
  rows.map(({ supernet }) => supernet),
  retrained,
);
const raceCost = mean(won.flatMap(({ cpuMs }) => cpuMs ?? []));
const cpuOf = (ends: readonly Ended[]) => mean(ends.flatMap(({ cpuMs }) => cpuMs ?? []));
const baselinePattern = written[0]!.pattern;
const baselineCpu = cpuOf(trained.filter((_, i) => trainings[i]!.pattern === baselinePattern));
const cost = cpuOf(searches) / baselineCpu;
const spread = ({ mean, deviation }: { mean: number; deviation: number | null }) =>
  deviation === null ? mean.toFixed(2) : `${mean.toFixed(2)} ± ${deviation.toFixed(2)}`;

/** For each budget: what won the race among the networks of each seed's supernet, the best of the written ones that take no longer, and the random ones. */
const verdicts = budgets.map((budget) => {
  const found = seeds.map((seed) => {
    const pattern = winner(seed, budget);
    return { pattern, ms: msOf(pattern), perplexity: perplexityFrom(pattern, seed) };
  });
  const most = Math.max(...found.map(({ ms }) => ms));
  const rivals = rows.filter(({ network, ms }) => /baseline|by hand|par-|sandwich/.test(network) && ms <= most);
  const best = rivals.toSorted((a, b) => a.mean - b.mean)[0];
  const random = rows.flatMap((row) => (row.network.split(", ").includes(`random ${budget}`) ? row.perplexities : []));
  return {
    budget,
    found: found.map(({ pattern }) => pattern).join(" "),
    perplexity: spread(spreadOf(found.map(({ perplexity }) => perplexity))!),
    "best written": best ? `${best.pattern} ${spread(best)}` : "none",
    random: random.length > 0 ? spread(spreadOf(random)!) : "none",
  };
});

const result = { rows, tau, taus, searchCost: cost, raceCost: raceCost / baselineCpu, seeds: seeds.length, verdicts };
await writeAtomically(join(values.out, "front-bench.json"), `${JSON.stringify(result, null, 2)}\n`);
if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`);
else {
  const shown = rows
    .toSorted((a, b) => a.ms - b.ms)
    .map((row) => ({
      ...{ network: row.network, pattern: row.pattern, depth: row.depth },
      parameters: `${(row.parameters / 1e6).toFixed(3)} M`,
      "÷ baseline": row.ratio.toFixed(2),
      "in the supernets": row.supernet.toFixed(2),
      "valid perplexity": spread(row),
      trainings: row.perplexities.length,
    }));
  process.stdout.write(`${table(shown)}\n${table(verdicts)}\n`);
  process.stdout.write(
    `τ ${tau.toFixed(2)} over ${rows.length} networks (one supernet: ${taus.map((each) => each.toFixed(2)).join(", ")}), ${seeds.length} seeds; `,
  );
  const each = `a race ${(raceCost / baselineCpu).toFixed(2)}`;
  process.stdout.write(`the search took ${cost.toFixed(2)} of a baseline's training by CPU time, ${each}\n`);
}
