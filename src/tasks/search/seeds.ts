/** One search from several seeds: a run each, a table, and the best of those within the budget. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { table } from "../../base/table.ts";
import type { Engine } from "../../engine/engine.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { RunFolder } from "../../runs/folder.ts";
import { storedSettings } from "../../runs/settings-file.ts";
import { commandName } from "../command-name.ts";
import { ARCHITECTURE_FILE, beginSearch, keptCosts, type RunningOptions } from "./run.ts";
import { engineOf, finishPar } from "./runs.ts";
import type { Found, Tell } from "./search.ts";
import { isSeedFolder, SEEDS_FILE, seedRun } from "./seed-folder.ts";
import { type SearchConfig, searchSettings, searchYaml } from "./settings.ts";

/** What is searched from which seeds. */
export interface SeedRequest {
  readonly config: SearchConfig;
  readonly seeds: readonly number[];
  /** As when it began, so that its numbers stay its own. */
  readonly threads?: number;
}

export interface SeedRow {
  readonly seed: number;
  readonly pattern: string;
  readonly perplexity: number;
  /** Of the network that was found, by measured costs. */
  readonly ms: number | null;
  readonly withinBudget: boolean;
}

/** The best of several searches, with a row for each. */
export interface BestFound extends Found {
  readonly seed: number;
  readonly seeds: readonly SeedRow[];
}

/** `3`: so many from the first on; `1,5,9`: these. */
export function parseSeeds(text: string, first: number): number[] {
  const numbers = text.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
  const [count] = numbers;
  const listed = numbers.length > 1;
  const wrong = numbers.some((value) => !Number.isSafeInteger(value)) || new Set(numbers).size !== numbers.length;
  if (wrong || (!listed && count === 0)) {
    reject({ who: "seeds", needed: "a number from 1, or a list such as 1,5,9", got: JSON.stringify(text) }, 2);
  }
  return listed ? numbers : Array.from({ length: count! }, (_, i) => first + i);
}

/** Begins, or with no request goes on with, a search from several seeds; gives nothing where it was stopped. */
export async function searchSeeds(
  path: string,
  asked: SeedRequest | undefined,
  engine: Engine,
  tell: Tell,
  options: RunningOptions,
): Promise<BestFound | undefined> {
  const request = asked ? await keepRequest(path, { ...asked, threads: engine.threads }) : await keptRequest(path);
  const found = new Map<number, Found>();
  for (const seed of request.seeds) {
    tell(`seed ${seed}`);
    const result = await searchSeed(path, seed, request, engine, tell, options).catch((error: unknown) =>
      forget(path, error),
    );
    if (!result) return undefined;
    found.set(seed, result);
  }
  const best = bestOf(found);
  await writeAtomically(join(path, ARCHITECTURE_FILE), `${JSON.stringify(best, null, 2)}\n`);
  tell(seedTable(best));
  return best;
}

/** Begins, goes on with, or looks up one of the searches. All are judged by the same measurement: that of the first. */
async function searchSeed(
  path: string,
  seed: number,
  { config, seeds }: SeedRequest,
  engine: Engine,
  tell: Tell,
  options: RunningOptions,
): Promise<Found | undefined> {
  const run = seedRun(path, seed);
  if (existsSync(join(run, "config.yaml"))) return finishPar(run, engine, tell, undefined, options);
  const costs = await keptCosts(seedRun(path, seeds[0]!));
  return beginSearch(run, { ...config, seed }, engine, tell, options, costs);
}

/** A request that could not even begin leaves no folder behind. */
async function forget(path: string, error: unknown): Promise<never> {
  const begun = (await readdir(path)).some((name) => name !== SEEDS_FILE);
  if (!begun) await rm(path, { recursive: true });
  throw error;
}

async function keepRequest(path: string, request: SeedRequest): Promise<SeedRequest> {
  if (existsSync(path)) {
    const remedy = `choose another, or go on with \`${commandName()} resume ${path}\``;
    reject({ who: path, needed: "a new folder", got: "one that exists", remedy }, 2);
  }
  await mkdir(path, { recursive: true });
  const kept = { ...request, config: searchYaml(request.config) };
  await writeAtomically(join(path, SEEDS_FILE), `${JSON.stringify(kept, null, 2)}\n`);
  return request;
}

/** What was asked for when the search began. */
export async function keptRequest(path: string): Promise<SeedRequest> {
  const file = join(path, SEEDS_FILE);
  const { config, ...rest } = JSON.parse(await readFile(file, "utf8"));
  return { ...rest, config: storedSettings(searchSettings, config, file) };
}

/** The engine of a search that has begun, from one seed or several, as it was then. */
export async function engineOfSearch(path: string): Promise<Engine> {
  return engineOf(isSeedFolder(path) ? { ...(await keptRequest(path)) } : (await RunFolder.read(path)).environment);
}

/** The lowest perplexity among those within the budget; where none is, the cheapest. */
export function bestOf(found: ReadonlyMap<number, Found>): BestFound {
  const rows = [...found].map(([seed, { pattern, perplexity, latency, targetMs }]) => {
    const ms = latency?.chosenMs ?? null;
    return { seed, pattern, perplexity, ms, withinBudget: targetMs === null || (ms ?? Infinity) <= targetMs };
  });
  const within = rows.filter(({ withinBudget }) => withinBudget);
  const lowest = (list: readonly SeedRow[], of: (row: SeedRow) => number) =>
    list.reduce((a, b) => (of(b) < of(a) ? b : a));
  const { seed } = within.length > 0 ? lowest(within, (row) => row.perplexity) : lowest(rows, (row) => row.ms ?? 0);
  return { ...found.get(seed)!, seed, seeds: rows };
}

function seedTable({ seed, seeds }: BestFound): string {
  const rows = seeds.map((row) => ({
    ...{ seed: row.seed, pattern: row.pattern, perplexity: row.perplexity.toFixed(2) },
    ms: row.ms === null ? "" : row.ms.toFixed(2),
    note: `${row.withinBudget ? "" : "above the budget "}${row.seed === seed ? "chosen" : ""}`.trim(),
  }));
  return table(rows).trimEnd();
}
