/** What is known before networks of a search are trained: its front, random networks beside it, and what the supernet says of them. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../../base/errors.ts";
import { once } from "../../../base/lazily.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { Path } from "../../../train/path-program.ts";
import { targetOf } from "../budget.ts";
import { MEMORY, originOf, settingsIn } from "../origin.ts";
import type { SearchParts } from "../parts.ts";
import { baselineOf, type RetrainRequest } from "../retrain.ts";
import { isSeedFolder, seedRun } from "../seed-folder.ts";
import type { SearchConfig } from "../settings.ts";
import { baselineMsOf, costOfPath, costOfPattern, mayBeRanked } from "./costs.ts";
import { FRONT_FILE, type Front, keptFront, mostOf, regularWithin } from "./front.ts";
import { patternOfPath } from "./paths.ts";
import { type RandomDraw, randomPaths } from "./random.ts";
import { openSupernet, supernetPerplexities } from "./supernet.ts";
import type { Wanted } from "./wanted.ts";

/** Which networks are trained; without `networks` and `race`, the one that was found. */
export interface AskedNetworks {
  /** So many, evenly over the front. */
  readonly networks?: number | undefined;
  /** So many of the best within the budget, as a race. */
  readonly race?: number | undefined;
  /** So many random ones of no more latency beside them. */
  readonly random?: number | undefined;
  /** Default: the search's own. */
  readonly budget?: string | undefined;
}

/** A request with the engine that it runs on. */
export type Equipped = RetrainRequest & { readonly given: { readonly engine: Engine } };

/** The search whose networks are trained. */
export interface Search {
  readonly run: string;
  readonly settings: SearchConfig;
  readonly front: Front | undefined;
  /** The network that it chose. */
  readonly found: string;
}

/** Finds the search, and its front where one is asked for. */
export async function searchOf(source: RetrainRequest["source"], asked: AskedNetworks): Promise<Search> {
  const { networks, race } = asked;
  if (networks !== undefined || race !== undefined) {
    const front = await frontOf(source, race === undefined ? "--front" : "--race");
    const run = source as string;
    return { run, settings: await settingsIn(run), front, found: front.chosen };
  }
  const { run, pattern: found, settings, name } = await originOf(source);
  if (run === null) {
    const remedy = "name its folder: its candidates and their costs are there";
    return reject({ who: "retrain --random", needed: "the run of a search", got: name, remedy }, 2);
  }
  return { run, settings, front: await keptFront(run), found };
}

/** What is known before the first network is trained. */
export interface Prepared {
  /** What networks may cost, in ms. */
  readonly most: number;
  readonly random: readonly Wanted[];
  readonly notes: readonly string[];
  perplexityOf(pattern: string): number | null;
}

/** Draws random networks, and ranks in the supernet what its front does not have. */
export async function prepare(
  { run, front, found, settings: own }: Search,
  settings: SearchConfig,
  { race, random: count = 0, budget }: AskedNetworks,
  { given, baseline, changes }: Equipped,
): Promise<Prepared> {
  const opened = once(() => openSupernet(run, { ...given, data: changes.data }));
  const most = front ? mostOf(front, budget) : mostOfFound(await opened(), found, own.budget, budget);
  const text = budget ?? own.budget ?? `${most}ms`;
  const drawn = count === 0 ? [] : randomWithin(await opened(), { budget: text, most, seed: settings.seed }, count);
  const regular = front && race !== undefined ? regularWithin(front, most) : undefined;
  const others = [...(regular ? [regular.pattern] : []), ...(baseline === true ? [baselineOf(found)] : []), ...drawn];
  const known = new Map(front?.finalists?.map(({ pattern, perplexity }) => [pattern, perplexity]));
  for (const { pattern, perplexity } of front?.networks ?? []) known.set(pattern, perplexity);
  const unknown = others.filter((pattern) => !known.has(pattern));
  if (front && unknown.length > 0 && !given.engine.world && isSameText(own, settings)) {
    for (const [pattern, perplexity] of await supernetPerplexities(await opened(), run, unknown)) {
      known.set(pattern, perplexity);
    }
  }
  const perplexityOf = (pattern: string) => known.get(pattern) ?? null;
  const isShort = drawn.length < count;
  return {
    most,
    random: drawn.map((pattern, i) => ({
      name: `${RANDOM}${i + 1}`,
      pattern,
      supernetPerplexity: perplexityOf(pattern),
    })),
    notes: isShort ? [`--random ${count}: ${drawn.length} different networks keep to the budget; all are trained`] : [],
    perplexityOf,
  };
}

/** What random networks are called, with a number behind it. */
export const RANDOM = "random-";

/** Of a search without a front: its budget, or what the found network takes where that is more. */
function mostOfFound(parts: SearchParts, found: string, own: string | null, asked: string | undefined): number {
  const ms = costOfPattern(parts, found);
  const most = asked === undefined && own === null ? ms : targetOf(asked ?? own!, baselineMsOf(parts));
  if (asked === undefined || most >= ms) return Math.max(most, ms);
  const needed = `at least ${ms.toPrecision(3)} ms, which the found network takes`;
  return reject({ who: "budget", needed, got: `${most.toPrecision(3)} ms`, remedy: "leave it out" }, 2);
}

function randomWithin(parts: SearchParts, draw: Pick<RandomDraw, "budget" | "most" | "seed">, count: number): string[] {
  const { choices } = parts.model;
  const costOf = (path: Path) => costOfPath(parts, path);
  const paths = randomPaths({ ...draw, choices, costOf, fits: (path) => mayBeRanked(parts, path) }, count);
  if (paths.length >= 2) return paths.map((path) => patternOfPath(choices, path));
  const needed = `two networks of at most ${draw.most.toPrecision(3)} ms`;
  return reject({ who: "random", needed, got: `${paths.length}`, remedy: "give --budget more" }, 2);
}

/** Perplexities in the supernet are of its own text. */
const isSameText = (own: SearchConfig, settings: SearchConfig) =>
  own.corpus?.replace(MEMORY, "") === settings.corpus?.replace(MEMORY, "");

/** The front that a search left; a folder of several seeds has one per seed. */
async function frontOf(source: RetrainRequest["source"], flag: string): Promise<Front> {
  const front = typeof source === "string" ? await keptFront(source) : undefined;
  if (front) return front;
  const seeds = typeof source === "string" ? seedsWithFront(source) : [];
  const own = typeof source === "string" ? `${source} without ${FRONT_FILE}` : "a result in memory";
  const got = seeds.length > 0 ? `${source}, a folder of seeds with a front each` : own;
  const remedy = seeds.length > 0 ? `name one of them: ${seeds.join(", ")}` : `leave ${flag} out`;
  return reject({ who: `retrain ${flag}`, needed: "the run of a search with --front", got, remedy }, 2);
}

/** Runs of seeds below a folder that have a front. */
function seedsWithFront(path: string): string[] {
  if (!isSeedFolder(path)) return [];
  const seeds = readdirSync(path).flatMap((name) => /^seed-(\d+)$/.exec(name)?.[1] ?? []);
  const runs = seeds.toSorted((a, b) => Number(a) - Number(b)).map((seed) => seedRun(path, Number(seed)));
  return runs.filter((run) => existsSync(join(run, FRONT_FILE)));
}
