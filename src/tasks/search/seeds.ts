/** Searches of one network from several seeds, a run each in one folder: the best of those within the budget stands for all. */
import { dirname, join } from "node:path";
import { reject } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import { table } from "../../base/table.ts";
import { patternBlocks, printPattern } from "../../depth/pattern.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { sealedJson } from "../../runs/sealed.ts";
import type { OpenRun, StoredRun } from "../open-run.ts";
import { ARCHITECTURE_FILE, type Found, keptResult } from "./result.ts";
import { seedRun } from "./seed-folder.ts";
import { open as openSearchRun, type ParUses } from "./uses.ts";

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

/** Chooses among the seeds of a folder that have all ended, and keeps the choice in it. Seeds that diverged are left out. */
export async function chooseSeed(path: string, seeds: readonly number[]): Promise<Found & Chosen> {
  const found = new Map<number, Found>();
  for (const seed of seeds) {
    const result = await keptResult(seedRun(path, seed));
    if (result) found.set(seed, result);
  }
  if (found.size === 0) reject({ who: path, needed: "a seed that trains", got: "none", remedy: "lower --rate" });
  const best = bestOf(found);
  await writeAtomically(join(path, ARCHITECTURE_FILE), sealedJson(best));
  return best;
}

/** A search from several seeds, opened as the run that was chosen. */
export interface SeedsRun extends Omit<OpenRun<"seeds", never>, "resume">, ParUses, Chosen {}

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
  const { resume: _, ...chosen } = await openSearchRun(stored);
  return { ...chosen, kind: "seeds", path, seed, seeds };
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

/** By what the choice was made: networks are compared by perplexity only as far as they may cost the same. */
function choiceLine({ seed, seeds }: Chosen, targetMs: number | null): string {
  const within = seeds.filter(({ withinBudget }) => withinBudget);
  if (targetMs !== null) {
    return within.length > 0
      ? `seed ${seed}: lowest valid perplexity of the ${within.length} of ${seeds.length} within ${targetMs.toFixed(2)} ms`
      : `seed ${seed}: the cheapest, since none keeps to ${targetMs.toFixed(2)} ms`;
  }
  const ms = seeds.flatMap((row) => row.ms ?? []);
  const [least, most] = [Math.min(...ms), Math.max(...ms)];
  const apart = most > EQUAL * least;
  const note = apart ? `, at ${least.toFixed(2)} to ${most.toFixed(2)} ms: --budget compares at equal latency` : "";
  return `seed ${seed}: lowest valid perplexity${note}`;
}

/** Latencies that are no more apart than this are equal: measured pieces add up to whole networks within as much. */
const EQUAL = 1.02;

/** The seeds as a table, how far they agree, and by what the choice was made. */
export function seedTable({ seed, seeds, targetMs }: Chosen & Pick<Found, "targetMs">): string {
  const rows = seeds.map((row) => ({
    seed: row.seed,
    pattern: row.pattern,
    perplexity: row.perplexity.toFixed(2),
    ms: row.ms === null ? "" : row.ms.toFixed(2),
    note: `${row.withinBudget ? "" : "above the budget "}${row.seed === seed ? "chosen" : ""}`.trim(),
  }));
  const lines = [table(rows).trimEnd(), agreementLine(seeds), choiceLine({ seed, seeds }, targetMs)];
  return lines.slice(0, seeds.length === 1 ? 1 : undefined).join("\n");
}
