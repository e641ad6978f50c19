/** A network of a front that is to be trained from scratch, and its run. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../../base/errors.ts";
import type { Engine } from "../../../engine/engine.ts";
import { RunFolder } from "../../../runs/folder.ts";
import type { TaskEvent } from "../../job.ts";
import { newRun } from "../../new-run.ts";
import { performed, resumed } from "../../perform.ts";
import { searchJob } from "../job.ts";
import { ordinary, yamlOf } from "../ordinary.ts";
import { openSearch } from "../parts.ts";
import type { SearchResult } from "../result.ts";
import { baselineOf, type RetrainRequest } from "../retrain.ts";
import type { SearchConfig } from "../settings.ts";
import { reopenSearch, storedSettings } from "../stored.ts";

/** A network to train. */
export interface Wanted {
  readonly name: string;
  readonly pattern: string;
  readonly supernetPerplexity: number | null;
}

/** What the baseline is called among networks. */
export const BASELINE = "baseline";

/** The baseline of a network, to be trained beside it. */
export const baselineWanted = (pattern: string): Wanted => {
  return { name: BASELINE, pattern: baselineOf(pattern), supernetPerplexity: null };
};

/** Trains a network to its end, or goes on with its run. */
export async function* trainedNetwork(
  { name, pattern }: Wanted,
  settings: SearchConfig,
  { path, given, source }: RetrainRequest & { given: { engine: Engine } },
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, SearchResult, void> {
  const run = path === undefined ? undefined : join(path, name);
  const own = ordinary(settings, pattern);
  if (run !== undefined && existsSync(join(run, "config.yaml"))) {
    await refuseOther(run, own);
    return yield* resumed(run, given, (...stored) => reopenSearch(...stored), signal);
  }
  const notes = { origin: `${source}`, supernet: null, baseline: null, trainsBaseline: false };
  const job = searchJob(await openSearch(own, given), yamlOf(own, notes));
  return yield* performed(job, run === undefined ? undefined : await newRun(run), signal);
}

/** Settings that make another training of a run. */
const DECISIVE = [
  "blocks",
  "seed",
  "steps",
  "epochs",
  "minutes",
  "batch",
  "accumulate",
  "length",
  "width",
  "rate",
] as const;

/** Networks are compared by one training: what a folder has of another is not taken for it. */
async function refuseOther(run: string, own: SearchConfig): Promise<void> {
  const { settings } = storedSettings((await RunFolder.read(run)).config, run);
  const other = DECISIVE.find((key) => `${settings[key]}` !== `${own[key]}`);
  if (other === undefined) return;
  const remedy = "give what it was begun with, or another --out";
  reject({ who: run, needed: `a run with ${other} ${own[other]}`, got: `${settings[other]}`, remedy }, 2);
}
