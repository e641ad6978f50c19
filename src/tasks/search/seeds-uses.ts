/** Searches from several seeds: they go on seed by seed, and are used by the run that was chosen. */
import { reject } from "../../base/errors.ts";
import { stopOnSignals } from "../../cli/signals.ts";
import { commandName } from "../command-name.ts";
import type { RunGroup } from "../kind.ts";
import { conclusion } from "./conclusion.ts";
import { keptResult } from "./run.ts";
import { seedRun } from "./seed-folder.ts";
import { type BestFound, engineOfSearch, searchSeeds } from "./seeds.ts";

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function resume(path: string): Promise<void> {
  const engine = await engineOfSearch(path);
  const stop = stopOnSignals(process.stderr);
  try {
    const running = { signal: stop.signal, output: process.stderr };
    process.stdout.write(`${conclusion(path, await searchSeeds(path, undefined, engine, say, running))}\n`);
  } finally {
    stop.release();
  }
}

async function chosen(path: string): Promise<string> {
  const best = (await keptResult(path)) as BestFound | undefined;
  if (best) return seedRun(path, best.seed);
  const remedy = `end it with \`${commandName()} resume ${path}\`, or name one of its seeds`;
  return reject({ who: path, needed: "a search whose seeds have all ended", got: "one that has not", remedy });
}

export const seedRuns: RunGroup = { resume, chosen };
