/** One search from several seeds: a run each, and the best of those within the budget. */
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { MeasuredCosts } from "../../analysis/latency.ts";
import { reject } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import { table } from "../../base/table.ts";
import { patternBlocks, printPattern } from "../../depth/pattern.ts";
import type { Engine } from "../../engine/engine.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { readSealed, sealedJson } from "../../runs/sealed.ts";
import { storedSettings } from "../../runs/settings-file.ts";
import { type Session, startSession } from "../../train/session.ts";
import { settingsIn } from "../changes.ts";
import { engineAsBegun } from "../engine.ts";
import type { Job, TaskEvent } from "../job.ts";
import { newRun } from "../new-run.ts";
import type { OpenRun, ResumeOptions, StoredRun } from "../open-run.ts";
import { performed, resumed } from "../perform.ts";
import { searchJob } from "./job.ts";
import type { SearchGiven } from "./parts.ts";
import { ARCHITECTURE_FILE, type Found, foundOf, keptResult, type SearchResult } from "./result.ts";
import { SEEDS_FILE, seedRun } from "./seed-folder.ts";
import { type SearchConfig, searchSettings } from "./settings.ts";
import { reopenSearch } from "./stored.ts";
import { openTimedSearch } from "./timed.ts";
import { open as openSearchRun, type ParUses } from "./uses.ts";

/** What is searched from which seeds. */
export interface SeedRequest {
  readonly config: SearchConfig;
  readonly seeds: readonly number[];
  /** As when it began, so that its numbers stay its own. */
  readonly threads?: number;
}

/** What the search from one seed came to. */
export interface SeedRow {
  readonly seed: number;
  readonly pattern: string;
  readonly perplexity: number;
  /** Of the network that was found, by measured costs. */
  readonly ms: number | null;
  readonly withinBudget: boolean;
}

/** The search that was chosen among seeds. */
export interface Chosen {
  readonly seed: number;
  readonly seeds: readonly SeedRow[];
}

/** The best of several searches, with a row for each; where they were stopped, the one that was under way. */
export interface SeedsResult extends SearchResult, Chosen {}

/** `3`: so many from the first on; a list: these. */
export function seedsOf(asked: number | readonly number[], first: number): readonly number[] {
  const listed = typeof asked === "number" ? Array.from({ length: countOf(asked) }, (_, i) => first + i) : asked;
  const fits = listed.length > 0 && listed.every((each) => Number.isSafeInteger(each) && each >= 0);
  if (fits && new Set(listed).size === listed.length) return listed;
  return reject(
    { who: "seeds", needed: `a number from 1 to ${LARGEST.seeds}, or a list such as 1,5,9`, got: `${asked}` },
    2,
  );
}

const countOf = (asked: number) => (Number.isSafeInteger(asked) && asked > 0 && asked <= LARGEST.seeds ? asked : 0);

/** `3` or `1,5,9`. */
export function parseSeeds(text: string): number | number[] {
  const numbers = text.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
  return numbers.length > 1 ? numbers : numbers[0]!;
}

/** Searches seed by seed, into runs in the folder where one is given; those that it has already go on. */
export async function* searchingSeeds(
  { config, seeds }: SeedRequest,
  path: string | undefined,
  given: SearchGiven & { readonly engine: Engine },
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, SeedsResult, void> {
  const found = new Map<number, SearchResult>();
  const reopen = { engine: given.engine, corpus: given.corpus, say: given.say };
  for (const seed of seeds) {
    yield { type: "note", text: `seed ${seed}` };
    const place = path === undefined ? undefined : seedRun(path, seed);
    let result: SearchResult;
    if (place !== undefined && existsSync(join(place, "config.yaml"))) {
      result = yield* resumed(place, reopen, (...stored) => reopenSearch(...stored), signal);
    } else {
      // All are judged by the same measurement: that of the first.
      const job = await seedJob({ ...config, seed }, given, found.get(seeds[0]!)?.costs ?? given.costs);
      if (path !== undefined) await keepRequest(path, { config, seeds, threads: given.engine.threads });
      result = yield* performed(job, place === undefined ? undefined : await newRun(place), signal);
    }
    found.set(seed, result);
    if (result.reason === "stopped") return { ...result, seed, seeds: rowsOf(found) };
  }
  const best = bestOf(found);
  if (path !== undefined) await writeAtomically(join(path, ARCHITECTURE_FILE), sealedJson(foundOf(best)));
  yield { type: "note", text: seedTable(best) };
  return best;
}

async function seedJob(
  config: SearchConfig,
  given: SearchGiven,
  known: MeasuredCosts | "measure" | undefined,
): Promise<Job<SearchResult>> {
  const costs = known ?? (typeof config.blocks === "number" ? "measure" : undefined);
  return searchJob(await openTimedSearch(config, { ...given, costs }));
}

/** Written once the first search is about to begin: a request that could not begin leaves no folder behind. */
async function keepRequest(path: string, { config, ...request }: SeedRequest): Promise<void> {
  const file = join(path, SEEDS_FILE);
  if (existsSync(file)) return;
  await mkdir(path, { recursive: true });
  await writeAtomically(file, sealedJson({ config: searchSettings.yaml(config), ...request }));
}

/** What was asked for when the search began. */
async function keptRequest(path: string): Promise<SeedRequest> {
  const file = join(path, SEEDS_FILE);
  const { value } = readSealed(await readFile(file, "utf8"), file, "put back a copy of it, or name one of its seeds");
  const { config, ...rest } = value as Omit<SeedRequest, "config"> & { config: string };
  return { ...rest, config: storedSettings(searchSettings, config, file) };
}

/** Goes on with a search from several seeds. */
export function resume(path: string, options: ResumeOptions = {}): Session<TaskEvent, SeedsResult> {
  return startSession(async function* (signal) {
    if (Object.keys(settingsIn(options)).length > 0) {
      const remedy = `change one of its seeds, such as ${seedRun(path, 1)}`;
      reject(
        { who: path, needed: "a run of one seed, to change its settings", got: "a search from several", remedy },
        2,
      );
    }
    const request = await keptRequest(path);
    const engine = options.engine ?? (await engineAsBegun({ threads: request.threads }));
    return yield* searchingSeeds(request, path, { engine, corpus: options.corpus, say: options.say }, signal);
  }, options.signal);
}

/** A search from several seeds, opened as the run that was chosen. */
export interface SeedsRun extends OpenRun<"seeds", SeedsResult>, ParUses, Chosen {}

/** The folder of the chosen run. */
export async function within(path: string): Promise<string> {
  const { seed } = await keptChoice(path);
  return seedRun(path, seed);
}

async function keptChoice(path: string): Promise<Found & Chosen> {
  const found = await keptResult(path);
  if (found) return found as Found & Chosen;
  const remedy = `end it with \`layerwise resume ${path}\`, or name one of its seeds`;
  return reject({ who: path, needed: "a search whose seeds have all ended", got: "one that has not", remedy });
}

/** Opens the chosen run to use it. */
export async function open(stored: StoredRun): Promise<SeedsRun> {
  const path = dirname(stored.path);
  const { seed, seeds } = await keptChoice(path);
  const chosen = await openSearchRun(stored);
  return { ...chosen, kind: "seeds", path, seed, seeds, resume: (options) => resume(path, options) };
}

function rowsOf(found: ReadonlyMap<number, Found>): SeedRow[] {
  return [...found].map(([seed, { pattern, perplexity, latency, targetMs }]) => {
    const ms = latency?.chosenMs ?? null;
    return { seed, pattern, perplexity, ms, withinBudget: targetMs === null || (ms ?? Infinity) <= targetMs };
  });
}

/** The lowest perplexity among those within the budget; where none is, the cheapest. */
export function bestOf<F extends Found>(found: ReadonlyMap<number, F>): F & Chosen {
  const rows = rowsOf(found);
  const within = rows.filter(({ withinBudget }) => withinBudget);
  const lowest = (list: readonly SeedRow[], of: (row: SeedRow) => number) =>
    list.reduce((a, b) => (of(b) < of(a) ? b : a));
  const { seed } = within.length > 0 ? lowest(within, (row) => row.perplexity) : lowest(rows, (row) => row.ms ?? 0);
  return { ...found.get(seed)!, seed, seeds: rows };
}

/** The share of seeds that took each block's commonest candidate: 1 where all agree. */
export function agreement(patterns: readonly string[]): number[] {
  const letters = [...new Set(patterns.join(""))].map((kind) => ({ kind })); // candidates of a program's own, too
  const networks = patterns.map((pattern) => patternBlocks(pattern, letters).map((block) => printPattern([block])));
  return (networks[0] ?? []).map((_, i) => {
    const taken = networks.map((units) => units[i]);
    return Math.max(...taken.map((unit) => taken.filter((other) => other === unit).length)) / taken.length;
  });
}

function agreementLine(seeds: readonly SeedRow[]): string {
  const shares = agreement(seeds.map(({ pattern }) => pattern));
  const mean = shares.reduce((a, b) => a + b, 0) / shares.length;
  return `agreement per block ${shares.map((share) => share.toFixed(2)).join(" ")}, mean ${mean.toFixed(2)}`;
}

function seedTable({ seed, seeds }: Chosen): string {
  const rows = seeds.map((row) => ({
    seed: row.seed,
    pattern: row.pattern,
    perplexity: row.perplexity.toFixed(2),
    ms: row.ms === null ? "" : row.ms.toFixed(2),
    note: `${row.withinBudget ? "" : "above the budget "}${row.seed === seed ? "chosen" : ""}`.trim(),
  }));
  return seeds.length === 1 ? table(rows).trimEnd() : `${table(rows).trimEnd()}\n${agreementLine(seeds)}`;
}
