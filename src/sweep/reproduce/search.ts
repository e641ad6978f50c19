/** Mandava et al. (PAR): networks of a supernet's front beside the (sf)-baseline and published patterns, all trained from scratch. */
import { existsSync } from "node:fs";
import { spreadOf } from "../../base/spread.ts";
import { formatNumber } from "../../base/table.ts";
import { parsePattern, patternBlocks, printPattern } from "../../depth/pattern.ts";
import type { Values } from "../../runs/settings.ts";
import { summarise } from "../../runs/summary.ts";
import { defaultEngine } from "../../tasks/engine.ts";
import { type MeasuredNetwork, measureNetworks } from "../../tasks/papers/networks.ts";
import type { Block } from "../../tasks/papers/report.ts";
import { type Front, frontSvg, keptFront } from "../../tasks/search/front/front.ts";
import { measureCosts, type SearchOptions, writeCosts } from "../../tasks/search/index.ts";
import { searchSettings } from "../../tasks/search/settings.ts";
import type { SweepEvent } from "../launcher.ts";
import type { SweepResult } from "../sweep.ts";
import { namedFolder, readSweep } from "../sweep-folder.ts";
import { against, type Claim, exactly, holds, type Measured, noHigher, spreadText } from "./claims.ts";
import { type Course, type Experiment, note, type Outcome, partTime, type ReproducePreset } from "./course.ts";
import { wikitext } from "./needs.ts";

/** A network of the table: what it is called, and what came of it. */
export interface SearchedNetwork extends Omit<MeasuredNetwork, "latenciesMs"> {
  /** `baseline`, `front 0.65`, a published pattern's; several where they are one network. */
  readonly names: readonly string[];
  /** Forward milliseconds of the whole network, over repetitions. */
  readonly latencyMs: Measured;
  /** What that is of the baseline's, repetition by repetition. */
  readonly ratio: Measured;
  /** Of the valid text, over seeds. */
  readonly perplexity: Measured;
}

/** What the search found, and what it is worth. */
export interface SearchFigures {
  readonly front: Front | null;
  readonly networks: readonly SearchedNetwork[];
  /** What the search took of a baseline's training. */
  readonly searchCost: number | null;
}

/** The budget of the paper's claim. */
export const BUDGET = 0.65;

/** The paper's figures on WikiText-103, as far as they are at hand. */
export const paperNetworks: Readonly<
  Record<string, { readonly pattern: string; readonly ratio: number; readonly perplexity: number }>
> = {
  baseline: { pattern: "(sf)x16", ratio: 1, perplexity: 22.7 },
  "par-wikitext103-base": { pattern: "(sfff)x6(f)x8", ratio: 0.65, perplexity: 22.7 },
};

interface Recipe {
  readonly blocks: number;
  readonly budgets: readonly number[];
  readonly published: readonly string[];
  readonly supernet: Values;
  readonly network: Values & { readonly steps: number };
  readonly repetitions: number;
}

const tinyNetwork = {
  ...{ corpus: "books", pieces: 300, width: 16, heads: 2, feedForward: 32, memory: 4, batch: 4, length: 8 },
  ...{ cutoffs: [40], evaluationBatch: 8, evaluationLength: 16, evaluateTokens: 512 },
  latency: { batch: 1, length: 8, memory: 8 },
};
const laptopNetwork = { corpus: "wikitext-2", pieces: 12_000, dropout: 0, rate: 0.003, warmup: 400 };

const recipes: Readonly<Record<ReproducePreset, Recipe>> = {
  tiny: {
    blocks: 4,
    budgets: [BUDGET],
    published: ["par-wikitext103-base"],
    supernet: {
      ...tinyNetwork,
      steps: 8,
      warmup: 2,
      networks: 8,
      rankBatches: 1,
      evaluateEvery: 8,
      checkpointEvery: 4,
    },
    network: { ...tinyNetwork, steps: 4, warmup: 1, evaluateEvery: 4, checkpointEvery: 2 },
    repetitions: 2,
  },
  laptop: {
    blocks: 12,
    budgets: [0.5, BUDGET, 0.8],
    published: ["par-wikitext103-base", "par-enwik8", "sandwich"],
    supernet: { ...laptopNetwork, steps: 1500, networks: 600, evaluateEvery: 500, checkpointEvery: 250 },
    network: { ...laptopNetwork, steps: 1500, evaluateEvery: 1500, checkpointEvery: 250 },
    repetitions: 5,
  },
};

const recipeOf = ({ preset }: Course) => recipes[preset];

/** The folder of the supernet's run. */
const supernetRun = (course: Course) => course.at("supernet", "seed-1");

async function* carryOut(course: Course): AsyncGenerator<SweepEvent, Outcome<SearchFigures>, void> {
  const reason = yield* trained(course);
  return { reason, ...(await figuresIn(course)) };
}

async function* trained(course: Course): AsyncGenerator<SweepEvent, SweepResult["reason"], void> {
  const { blocks, supernet, network } = recipeOf(course);
  const settings = { ...supernet, ...course.shared, blocks, front: true };
  const costs = course.at("costs.json");
  if (!existsSync(costs)) {
    yield note("measuring what candidates cost on this machine");
    await writeCosts(
      costs,
      await measureCosts(searchSettings.resolve([{ source: "supernet", values: settings }]) as SearchOptions),
    );
  }
  yield note(`one supernet of ${blocks} blocks, then networks of its front`);
  const searched = yield* course.sweep("supernet", { task: "search", settings, seeds: [1], costs });
  if (searched.reason !== "finished") return searched.reason;
  const wanted = wantedFrom(course, (await keptFront(supernetRun(course)))!);
  yield note(`${wanted.size} networks, ${course.seeds.length} seeds each`);
  const candidates = Object.fromEntries([...wanted.keys()].map((pattern) => [pattern, { blocks: pattern }]));
  const all = { task: "search", settings: { ...network, ...course.shared }, candidates, seeds: course.seeds };
  const { reason } = yield* course.sweep("networks", all);
  if (reason !== "finished") return reason;
  if (course.signal.aborted) return "stopped";
  await measured(course, [...wanted.keys()]);
  return "finished";
}

/** The networks to train by their patterns, with what each is called; one that has two names is trained once. */
function wantedFrom(course: Course, front: Front): Map<string, string[]> {
  const { blocks, budgets, published } = recipeOf(course);
  const wanted = new Map<string, string[]>();
  const want = (name: string, given: string) => {
    const pattern = printPattern(patternBlocks(given));
    wanted.set(pattern, [...(wanted.get(pattern) ?? []), name]);
  };
  want("baseline", `baseline/${blocks}`);
  for (const name of published) want(name, `${name}/${blocks}`);
  for (const budget of budgets) want(`front ${budget}`, within(front, budget));
  return wanted;
}

/** The best network within a share of the baseline's latency; where there is none, the cheapest, and the claim will say so. */
function within({ networks, baselineMs }: Front, budget: number): string {
  return (networks.findLast(({ ms }) => ms <= budget * baselineMs) ?? networks[0]!).pattern;
}

const networkRun = (course: Course, pattern: string, seed: number) => course.at("networks", namedFolder(pattern, seed));

/** Latencies are measured once all are trained, and kept: they belong to the machine of that hour. */
function measured(course: Course, patterns: readonly string[]): Promise<{ networks: MeasuredNetwork[] }> {
  return course.remembered("networks", async () => {
    const runs = Object.fromEntries(
      patterns.map((pattern) => [pattern, networkRun(course, pattern, course.seeds[0]!)]),
    );
    const { latency } = searchSettings.resolve([{ source: "networks", values: recipeOf(course).network }]);
    const engine = await defaultEngine(course.threads === null ? {} : { threads: course.threads });
    return { networks: await measureNetworks(engine, runs, latency, recipeOf(course).repetitions) };
  });
}

async function figuresIn(course: Course): Promise<Omit<Outcome<SearchFigures>, "reason">> {
  const front = (await keptFront(supernetRun(course))) ?? null;
  const isMeasured = front !== null && existsSync(course.at("measured", "networks.json"));
  const networks = isMeasured ? await networksIn(course, wantedFrom(course, front)) : [];
  const patterns = front ? [...wantedFrom(course, front).keys()] : [];
  const runs = patterns.flatMap((pattern) => course.seeds.map((seed) => networkRun(course, pattern, seed)));
  const times = [await partTime("supernet", [supernetRun(course)]), await partTime("networks", runs)];
  return { figures: { front, networks, searchCost: isMeasured ? await costOf(course, patterns[0]!) : null }, times };
}

async function networksIn(course: Course, wanted: ReadonlyMap<string, readonly string[]>): Promise<SearchedNetwork[]> {
  const { networks } = await measured(course, [...wanted.keys()]);
  const { rows } = await readSweep(course.at("networks"));
  const [baseline] = networks;
  return networks.map(({ latenciesMs, ...network }) => {
    const trials = rows.find(({ name }) => name === network.pattern)?.trials ?? [];
    const asked = trials.filter(({ seed }) => course.seeds.includes(seed));
    return {
      ...network,
      names: wanted.get(network.pattern) ?? [],
      latencyMs: spreadOf(latenciesMs),
      ratio: spreadOf(latenciesMs.map((ms, i) => ms / baseline!.latenciesMs[i]!)),
      perplexity: spreadOf(asked.flatMap(({ figure }) => figure ?? [])),
    };
  });
}

/** Updates of the supernet and of networks may differ: what one of the baseline's trainings takes is the measure. */
async function costOf(course: Course, baseline: string): Promise<number | null> {
  const supernet = (await summarise(supernetRun(course))).elapsedMs;
  const others = await partTime(
    "baseline",
    course.seeds.map((seed) => networkRun(course, baseline, seed)),
  );
  return supernet === null || others.seconds === 0 ? null : supernet / 1000 / (others.seconds / others.trainings);
}

const networkNamed = (networks: readonly SearchedNetwork[], name: string) =>
  networks.find(({ names }) => names.includes(name));

const attentionIn = (pattern: string) => parsePattern(pattern).flatMap((kind, i) => (kind === "attention" ? [i] : []));

function claimsOn({ networks, searchCost }: SearchFigures): Claim[] {
  const [found, baseline] = [networkNamed(networks, `front ${BUDGET}`), networkNamed(networks, "baseline")];
  const blocks = found ? parsePattern(found.pattern).length : 0;
  const places = found ? attentionIn(found.pattern) : [];
  const early = found ? places.filter((place) => place < (2 * blocks) / 3).length : null;
  return [
    {
      sentence: `The found network takes ${BUDGET} of the (sf)-baseline's latency`,
      paper: `${paperNetworks["par-wikitext103-base"]!.ratio}`,
      ours: spreadText(found?.ratio ?? null, 3),
      verdict: noHigher(found?.ratio ?? null, exactly(BUDGET)),
    },
    {
      sentence: "Its perplexity is no worse than the baseline's",
      paper: "22.7 against 22.7",
      ours: against(found?.perplexity ?? null, baseline?.perplexity ?? null),
      verdict: noHigher(found?.perplexity ?? null, baseline?.perplexity ?? null),
    },
    {
      sentence: "Attention stands in the first two thirds of the found network",
      paper: "all of it in (sfff)x6(f)x8, at depths 1 to 21 of 32",
      ours: found ? `${early} of ${places.length} attention blocks, ${found.pattern}` : "–",
      verdict: holds(early, (count) => count > 0 && count === places.length),
    },
    {
      sentence: "About one block in five is attention (within one block)",
      paper: "6 of 32, 7 of 36, 5 of 24",
      ours: found ? `${places.length} of ${blocks}` : "–",
      verdict: holds(found ? places.length : null, (count) => Math.abs(count - blocks / 5) < 1),
    },
    {
      sentence: "The search costs less than two trainings of the baseline",
      paper: "below 2",
      ours: searchCost === null ? "–" : searchCost.toFixed(2),
      verdict: holds(searchCost, (cost) => cost < 2),
    },
  ];
}

const million = (value: number, digits = 2) => `${formatNumber(value / 1e6, digits)} M`;

function tablesOn({ front, networks }: SearchFigures): Block[] {
  if (!front) return [{ type: "text", text: "Not searched yet." }];
  const picture: Block = {
    type: "svg",
    name: "search-front",
    title: "The front in the supernet",
    svg: frontSvg(front),
  };
  if (networks.length === 0)
    return [{ type: "text", text: "The networks of the front are not all trained yet." }, picture];
  const byLatency = networks.toSorted((a, b) => (a.latencyMs?.mean ?? 0) - (b.latencyMs?.mean ?? 0));
  const { batch, length, memory } = front.shape;
  const rows = byLatency.map((network) => {
    const paper = network.names.map((name) => paperNetworks[name]).find((each) => each !== undefined);
    return [
      network.names.join(", "),
      network.pattern,
      million(network.parameters),
      `${network.executedDepth}`,
      million(network.flopsPerToken),
      `${spreadText(network.latencyMs)} ms`,
      spreadText(network.ratio),
      spreadText(network.perplexity),
      ...(paper ? [paper.pattern, paper.ratio.toFixed(2), `${paper.perplexity}`] : ["not at hand", "–", "–"]),
    ];
  });
  const head = [
    ...["network", "pattern", "parameters", "depth", "FLOPs/token", "latency", "÷ baseline", "valid perplexity"],
    ...["paper's pattern", "its ÷ baseline", "its perplexity"],
  ];
  const caption = `Paper: WikiText-103, latency beside its baseline. Here: whole networks timed in turns at batch ${batch}, segment ${length}, memory ${memory}; ± of latencies over repetitions, of perplexities over seeds. s attention, f feed-forward, i identity.`;
  return [{ type: "table", caption, head, rows }, tradeOffs(networks), picture];
}

const kindOf = (name: string) => (name === "baseline" || name.startsWith("front") ? name.split(" ")[0]! : "published");

function tradeOffs(networks: readonly SearchedNetwork[]): Block {
  const rows = networks.flatMap(({ names, pattern, latencyMs, perplexity }) =>
    latencyMs && perplexity
      ? [
          {
            name: names.join(", "),
            pattern,
            latencyMs: latencyMs.mean,
            perplexity: perplexity.mean,
            kind: kindOf(names.at(-1)!),
          },
        ]
      : [],
  );
  return { type: "trade-offs", name: "search-networks", title: "Trained from scratch, means over seeds", rows };
}

/** The baseline stands for every network, and for the supernet, which trains one network per update. */
async function expected(course: Course) {
  const { blocks, budgets, published, supernet, network } = recipeOf(course);
  const settings = searchSettings.resolve([
    { source: "networks", values: { ...network, ...course.shared, blocks: `baseline/${blocks}` } },
  ]);
  const networks = (1 + budgets.length + published.length) * course.seeds.length;
  const count = networks + Number(supernet.steps) / network.steps;
  return { tried: [{ order: { task: "search" as const, settings: { ...settings } }, count }], seconds: 0 };
}

/** The experiment. */
export const search: Experiment<SearchFigures> = {
  title: "Pay attention when required, at laptop size",
  source:
    "Mandava et al., Pay Attention when Required, arXiv 2009.04534; patterns and figures as reported there, as far as they are at hand.",
  differences: () => [
    "The paper searches 32 blocks on WikiText-103 and reports one network per dataset; here a supernet of 12 blocks is trained one network per update on WikiText-2, ranks its networks, and the best within each budget is trained from scratch from several seeds.",
    "Published patterns are scaled to as many blocks. Perplexities are per piece of a vocabulary trained here, so only their differences can be held against the paper's.",
  ],
  tiny: "four blocks, a few updates",
  needs: [wikitext],
  expected,
  carryOut,
  claims: claimsOn,
  tables: tablesOn,
};
