/** Searches as pictures need them: π frame by frame, cuts, what was found, seeds side by side, and networks by cost and quality. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parsePattern, printPattern, publishedPatterns } from "../depth/index.ts";
import { sha256 } from "../files/index.ts";
import type { FrontPoint, SearchCut, SearchData, SearchFrame, SeedState, StartRequest } from "./api.ts";
import type { Entry, RunIndex } from "./run-index.ts";
import type { Evaluation, RunSeries } from "./series.ts";

/** architecture.json, as far as it is shown. */
interface Found {
  readonly pattern: string;
  readonly perplexity: number | null;
  readonly cuts?: readonly SearchCut[];
  readonly latency?: { readonly chosenMs: number } | null;
  readonly targetMs?: number | null;
  readonly seed?: number;
  readonly seeds?: readonly Pick<SeedState, "seed" | "pattern" | "perplexity" | "ms" | "withinBudget">[];
}

/** retrain.json, as far as it is shown. */
interface Retrained {
  readonly networks: readonly {
    readonly name: string;
    readonly pattern: string;
    readonly latencyMs: number | null;
    readonly perplexity: number | null;
    readonly parameters: number;
  }[];
}

interface Costs {
  readonly rest: { readonly ms: number };
  readonly candidates: readonly { readonly name: string; readonly ms: number }[];
}

function readJson<T>(folder: string, file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, file), "utf8")) as T;
  } catch {
    return undefined;
  }
}

const foundIn = (path: string) => readJson<Found>(path, "architecture.json");

type Names = readonly (readonly string[])[];

/** Everything each block could be: the names it had when it had most of them. */
export function candidatesOf(evaluations: readonly Evaluation[]): Names {
  const names: (readonly string[])[] = [];
  for (const { choices = [] } of evaluations) {
    for (const [block, choice] of choices.entries()) {
      if (choice.names.length > (names[block]?.length ?? 0)) names[block] = choice.names;
    }
  }
  return names;
}

/** π at an evaluation; undefined where it says nothing of it. */
export function frameOf(evaluation: Evaluation, candidates: Names): SearchFrame | undefined {
  const { choices, step, minutes, temperature, pattern, perplexity, latency } = evaluation;
  if (!choices) return undefined;
  return {
    step,
    minutes,
    temperature,
    probabilities: candidates.map((names, block) => {
      const { names: left = [], probabilities = [] } = choices[block] ?? {};
      return names.map((name) => probabilities[left.indexOf(name)] ?? 0);
    }),
    left: candidates.map((_, block) => choices[block]?.names.length ?? 0),
    pattern: pattern ?? null,
    perplexity: perplexity ?? null,
    expectedMs: latency?.expectedMs ?? null,
    chosenMs: latency?.chosenMs ?? null,
  };
}

/** Which blocks lost candidates between evaluations; the result of a search knows their steps better. */
function cutsBetween(evaluations: readonly Evaluation[]): SearchCut[] {
  const cuts: SearchCut[] = [];
  for (const [i, { choices = [], step }] of evaluations.entries()) {
    for (const [block, { names: left }] of choices.entries()) {
      const before = evaluations[i - 1]?.choices?.[block]?.names ?? left;
      if (before.length > left.length)
        cuts.push({ step, block, cut: before.filter((name) => !left.includes(name)), left });
    }
  }
  return cuts;
}

/** Who gives the series of a run. */
export type SeriesOf = (entry: Entry) => RunSeries;

/** The command that an order amounts to. */
export type CommandOf = (order: StartRequest) => Promise<string>;

/** All of a search. */
export async function searchData(
  entry: Entry,
  index: RunIndex,
  seriesOf: SeriesOf,
  commandOf: CommandOf,
): Promise<SearchData> {
  const runs = entry.row.kind === "seeds" ? seedRuns(entry, index) : [entry];
  const found = foundIn(entry.path);
  const shown = runs.find(({ row }) => row.settings.seed === found?.seed) ?? newest(runs) ?? entry;
  const series = seriesOf(shown);
  const evaluations = series.evaluations.filter(({ choices }) => choices !== undefined);
  const candidates = candidatesOf(evaluations);
  const own = shown === entry ? found : foundIn(shown.path);
  return {
    id: entry.id,
    shown: shown.id,
    candidates,
    frames: evaluations.flatMap((each) => frameOf(each, candidates) ?? []),
    cuts: own?.cuts ?? cutsBetween(evaluations),
    budgetMs: own?.targetMs ?? budgetOf(shown, evaluations),
    found: own ? { pattern: own.pattern, perplexity: own.perplexity, chosenMs: own.latency?.chosenMs ?? null } : null,
    seeds: entry.row.kind === "seeds" ? seedStates(runs, found, seriesOf) : [],
    front: await Promise.all(
      frontOf(shown, index, evaluations.at(-1)?.choices?.length).map(async (point) => ({
        ...point,
        retrain: await commandOf(point.order),
      })),
    ),
    cursor: series.cursor,
  };
}

const newest = (runs: readonly Entry[]) => runs.toSorted((a, b) => b.row.changedMs - a.row.changedMs)[0];

function seedRuns({ id }: Entry, index: RunIndex): Entry[] {
  return index.below(id).sort((a, b) => Number(a.row.settings.seed) - Number(b.row.settings.seed));
}

function seedStates(runs: readonly Entry[], found: Found | undefined, seriesOf: SeriesOf): SeedState[] {
  return runs.map((run) => {
    const { id, row } = run;
    const seed = Number(row.settings.seed);
    const known = found?.seeds?.find((each) => each.seed === seed);
    const evaluations = seriesOf(run).evaluations.filter(({ choices }) => choices !== undefined);
    const last = evaluations.at(-1);
    const frame = last && frameOf(last, candidatesOf(evaluations));
    return {
      seed,
      id,
      status: row.status,
      step: row.step,
      pattern: known?.pattern ?? frame?.pattern ?? null,
      perplexity: known?.perplexity ?? frame?.perplexity ?? null,
      ms: known?.ms ?? frame?.chosenMs ?? null,
      withinBudget: known?.withinBudget ?? null,
      chosen: found?.seed === seed,
      probabilities: frame?.probabilities ?? null,
    };
  });
}

/** `3.2ms` as it is; a fraction of the (sf)-baseline, by the costs that the search measured. */
function budgetOf({ path, row }: Entry, evaluations: readonly Evaluation[]): number | null {
  const found = /^\s*([\d.]+)\s*(ms)?\s*$/.exec(String(row.settings.budget ?? ""));
  if (!found) return null;
  if (found[2]) return Number(found[1]);
  const costs = readJson<Costs>(path, "costs.json");
  const blocks = evaluations[0]?.choices?.length;
  const baseline = costs && blocks ? patternMs(costs, `baseline/${blocks}`) : null;
  return baseline === null ? null : Number(found[1]) * baseline;
}

/** What a pattern costs; null where a block of it was not measured. */
function patternMs(costs: Costs, pattern: string): number | null {
  const kinds = parsePattern(pattern);
  const each = kinds.map((kind) => costs.candidates.find((candidate) => candidate.name === kind)?.ms);
  return each.includes(undefined) ? null : each.reduce<number>((sum, ms) => sum + ms!, costs.rest.ms);
}

/** Settings that networks must share for their perplexities and latencies to be compared. */
const COMMON = ["corpus", "width", "heads", "length"];
const tokenizers = new Map<string, string>();

/** Which tokenizer a run keeps, by its content: a retrained network names the file of its search. */
function tokenizerOf(path: string): string {
  const file = join(path, "tokenizer.model");
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return "";
  const key = `${file} ${stat.size} ${stat.mtimeMs}`;
  const known = tokenizers.get(key) ?? sha256(readFileSync(file));
  tokenizers.set(key, known);
  return known;
}

/** A network before it is said how to train it. */
type Network = Omit<FrontPoint, "retrain">;

/** Networks that this search, searches like it and retrainings came to, and published patterns of as many blocks. */
function frontOf(shown: Entry, index: RunIndex, blocks: number | undefined): Network[] {
  const key = ({ row, path }: Entry) =>
    JSON.stringify([...COMMON.map((name) => row.settings[name]), tokenizerOf(path)]);
  const isNetwork = ({ row, glance }: Entry) => glance && (row.kind === "search" || row.kind === "retrain");
  const alike = [...index.entries].filter((entry) => isNetwork(entry) && key(entry) === key(shown));
  return [
    ...alike.flatMap(foundPoint),
    ...retrainedPoints(alike, readJson<Costs>(shown.path, "costs.json")),
    ...(blocks === undefined ? [] : publishedPoints(shown, blocks)),
  ];
}

function foundPoint({ id, path, row }: Entry): Network[] {
  const found = row.kind === "search" ? foundIn(path) : undefined;
  if (!found) return [];
  const { pattern, perplexity } = found;
  const ms = found.latency?.chosenMs ?? null;
  const order = { task: "retrain", of: id } as const;
  return [{ name: row.path, source: "search", id, pattern, ms, perplexity, parameters: null, order }];
}

/** Networks that were measured beside their baselines, and those that have ended and are not measured yet, or never will be. */
function retrainedPoints(entries: readonly Entry[], costs: Costs | undefined): Network[] {
  const retrained = entries.filter(({ row }) => row.kind === "retrain");
  const results = retrained.map((entry) => ({ entry, told: readJson<Retrained>(entry.path, "retrain.json") }));
  const measured = new Set(results.flatMap(({ entry, told }) => (told ? baselinePath(entry) : [])));
  return results.flatMap(({ entry, told }) => {
    if (told) return measuredPoints(entry, told);
    return entry.row.status !== "finished" || measured.has(entry.path) ? [] : [unmeasuredPoint(entry, costs)];
  });
}

function baselinePath({ path, row }: Entry): string[] {
  const baseline = row.settings["retrain.baseline"];
  return typeof baseline === "string" ? [join(path, baseline)] : [];
}

function measuredPoints({ id, row }: Entry, { networks }: Retrained): Network[] {
  return networks.map(({ name, pattern, latencyMs: ms, perplexity, parameters }) => ({
    name: name === "found" ? row.path : `${row.path} ${name}`,
    source: "retrain",
    id,
    pattern,
    ms,
    perplexity,
    parameters,
    order: { task: "retrain", of: id, pattern },
  }));
}

/** By the costs of the search, as published patterns are. */
function unmeasuredPoint({ id, row }: Entry, costs: Costs | undefined): Network {
  const pattern = printPattern(parsePattern(String(row.settings.blocks)));
  const perplexity = row.best?.name === "perplexity" ? row.best.value : null;
  const ms = costs ? patternMs(costs, pattern) : null;
  const order = { task: "retrain", of: id, pattern } as const;
  return { name: row.path, source: "retrain", id, pattern, ms, perplexity, parameters: row.parameters, order };
}

/** They are trained as the search was, so that they can stand beside what it found. */
function publishedPoints({ id, path }: Entry, blocks: number): Network[] {
  const costs = readJson<Costs>(path, "costs.json");
  return Object.keys(publishedPatterns).map((name) => {
    const pattern = printPattern(parsePattern(`${name}/${blocks}`));
    return {
      name: `${name}/${blocks}`,
      source: "published",
      id: null,
      pattern,
      ms: costs ? patternMs(costs, pattern) : null,
      perplexity: null,
      parameters: null,
      order: { task: "retrain", of: id, pattern },
    };
  });
}
