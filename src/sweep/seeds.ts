/** A search from several seeds: a sweep over seeds alone, and the best of those within the budget. */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomically } from "../files/atomic.ts";
import { COSTS_FILE } from "../runs/folder.ts";
import { readSealed, sealedJson } from "../runs/sealed.ts";
import { storedSettings } from "../runs/settings-file.ts";
import type { Job } from "../tasks/job.ts";
import {
  FRONTS_FILE,
  type FrontAgreement,
  frontAgreement,
  frontAgreementText,
} from "../tasks/search/front/agreement.ts";
import { type Front, keptFront } from "../tasks/search/front/front.ts";
import { openSearchJob } from "../tasks/search/index.ts";
import { type SearchOptions, splitSearch } from "../tasks/search/options.ts";
import { ARCHITECTURE_FILE, type Found } from "../tasks/search/result.ts";
import { isSeedFolder, SEEDS_FILE, seedRun } from "../tasks/search/seed-folder.ts";
import { type Chosen, chooseSeed, seedsOf, seedTable } from "../tasks/search/seeds.ts";
import { type SearchConfig, searchDefaults, searchSettings, usualIn } from "../tasks/search/settings.ts";
import type { Given } from "../tasks/text-data.ts";
import { type Session, type Stoppable, startSession } from "../train/session.ts";
import { told } from "../train/world.ts";
import { hereLauncher } from "./here.ts";
import type { SweepEvent } from "./launcher.ts";
import { type SweepOptions, type SweepResult, sweeping } from "./sweep.ts";
import { beginSweep, openSweep, SWEEP_FILE } from "./sweep-folder.ts";
import { planSweep, type SweepSpec } from "./sweep-plan.ts";
import { together, worldOf } from "./together.ts";

/** A search, its seeds, and where it goes. */
export interface SeedSearchOptions extends Omit<SearchOptions, "into"> {
  /** So many from `seed` on, or these. */
  readonly seeds: number | readonly number[];
  /** The sweep's folder; one that holds the same search goes on. */
  readonly into: string;
  /** Where searches run, as for `sweep`. Default: one after another in this process. */
  readonly on?: SweepOptions["on"];
}

/** How a sweep goes on. */
export interface ResumeSweepOptions extends Given, Stoppable {
  /** Where trials run, as for `sweep`. Default: one after another in this process. */
  readonly on?: SweepOptions["on"];
}

/** What a sweep came to and, of a search from several seeds that have all ended, the one that was chosen. */
export interface ResumedSweep extends SweepResult {
  readonly found: (Found & Chosen) | null;
  /** Every budget's best network, where the chosen search was for a front. */
  readonly front?: Front | undefined;
  /** How far the fronts of the seeds agree, where there are several. */
  readonly agreement?: FrontAgreement | undefined;
}

/** Searches from several seeds, a run each, all judged by one measurement of latencies; the best is chosen. */
export function searchSeeds({ signal, ...asked }: SeedSearchOptions): Session<SweepEvent, ResumedSweep> {
  return startSession(async function* (stop) {
    const { seeds, into, on, ...single } = asked;
    const { settings, given } = splitSearch(single);
    const config = { ...searchDefaults, ...usualIn(settings), ...settings };
    const listed = seedsOf(seeds, config.seed);
    const world = await worldOf(on);
    if (!(await told(world, () => existsSync(join(into, SWEEP_FILE))))) {
      const job = await openSearchJob({ ...single, seed: listed[0]! }); // latencies are measured by all
      if ((world?.rank ?? 0) === 0) await keepCosts(into, job);
    }
    const options = { ...specOf(config, listed), into, on: on ?? hereLauncher(given) };
    return yield* together(world, given, () => concluded(options, stop));
  }, signal);
}

/** The first of several searches, to be described and tried. */
export async function openSeedsJob({ seeds, ...options }: Omit<SeedSearchOptions, "into">): Promise<Job> {
  const listed = seedsOf(seeds, options.seed ?? searchDefaults.seed);
  const job = await openSearchJob({ ...options, seed: listed[0]! });
  const several = { what: "seeds", value: `${listed.join(", ")}: a search each` };
  return { ...job, describe: () => [...job.describe(), several] };
}

/** Goes on with the sweep of a folder; one of version 0.1.0 over seeds becomes one first. */
export function resumeSweep(path: string, options: ResumeSweepOptions = {}): Session<SweepEvent, ResumedSweep> {
  return startSession(async function* (signal) {
    const { on, signal: _, ...given } = options;
    return yield* together(await worldOf(on), given, async function* () {
      await convertSeeds(path);
      const { plan } = await openSweep(path);
      const spec = plan.spec as unknown as SweepSpec;
      return yield* concluded({ ...spec, into: path, on: on ?? hereLauncher(given) }, signal);
    });
  }, options.signal);
}

/** Whether a folder holds a sweep, or becomes one when it goes on. */
export const isSweepFolder = (path: string): boolean => existsSync(join(path, SWEEP_FILE)) || isSeedFolder(path);

const specOf = ({ seed: _, ...settings }: SearchConfig, seeds: readonly number[]): SweepSpec => ({
  task: "search",
  settings: { ...settings },
  seeds,
});

/** What was measured when the first job was opened is for all of them. */
async function keepCosts(path: string, { files }: Job): Promise<void> {
  const costs = files[COSTS_FILE];
  if (costs === undefined) return;
  await mkdir(path, { recursive: true });
  await writeAtomically(join(path, COSTS_FILE), costs);
}

async function* concluded(
  options: Omit<SweepOptions, "signal">,
  signal: AbortSignal,
): AsyncGenerator<SweepEvent, ResumedSweep, void> {
  const { into } = options;
  const result = yield* sweeping({ ...options, spare: [ARCHITECTURE_FILE, SEEDS_FILE, FRONTS_FILE] }, signal);
  if (result.reason !== "finished" || !isSeedFolder(into)) return { ...result, found: null };
  const found = await chooseSeed(into, result.spec.seeds);
  yield { type: "note", text: seedTable(found) };
  const fronts = await frontsOf(into, found);
  const front = fronts.get(found.seed);
  if (fronts.size < 2) return { ...result, found, front };
  const agreement = frontAgreement(fronts);
  await writeAtomically(join(into, FRONTS_FILE), sealedJson(agreement));
  yield { type: "note", text: frontAgreementText(agreement) };
  return { ...result, found, front, agreement };
}

/** The fronts of all seeds that have one. */
async function frontsOf(path: string, { seeds }: Chosen): Promise<Map<number, Front>> {
  const fronts = new Map<number, Front>();
  for (const { seed } of seeds) {
    const front = await keptFront(seedRun(path, seed));
    if (front) fronts.set(seed, front);
  }
  return fronts;
}

/** What version 0.1.0 wrote of several seeds becomes a sweep; its runs stay where they are. */
async function convertSeeds(path: string): Promise<void> {
  const file = join(path, SEEDS_FILE);
  if (!existsSync(file)) return;
  const { value } = readSealed(await readFile(file, "utf8"), file, "put back a copy of it, or name one of its seeds");
  const kept = value as { config: string; seeds: readonly number[]; threads?: number };
  const stored = storedSettings(searchSettings, kept.config, file);
  const config = { ...stored, threads: kept.threads ?? stored.threads };
  const measured = join(seedRun(path, kept.seeds[0]!), COSTS_FILE);
  if (existsSync(measured)) await writeAtomically(join(path, COSTS_FILE), await readFile(measured));
  await beginSweep(path, await planSweep(specOf(config, kept.seeds), file), {}, [ARCHITECTURE_FILE, SEEDS_FILE]);
  await rm(file);
}
