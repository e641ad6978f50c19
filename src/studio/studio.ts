/** The studio without its server: the index of runs, their series, models in use, jobs. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type LockHolder, lockHolder } from "../files/index.ts";
import { LOCK_FILE } from "../runs/index.ts";
import { Jobs } from "./jobs.ts";
import { Models } from "./models.ts";
import { Reports } from "./reports.ts";
import type { Entry } from "./run-index.ts";
import { RunIndex } from "./run-index.ts";
import { RunSeries } from "./series.ts";

/** Runs of which all events are kept in memory. */
const MOST_SERIES = 24;

/** What pages ask about. */
export class Studio {
  readonly index: RunIndex;
  readonly jobs: Jobs;
  readonly models = new Models();
  readonly say: (text: string) => void;
  readonly #reports: Reports;
  readonly #series = new Map<string, RunSeries>();

  constructor(folder: string, say: (text: string) => void) {
    this.index = new RunIndex(folder);
    this.jobs = new Jobs(this.index);
    this.say = say;
    this.#reports = new Reports(this.index);
  }

  /** Looks at the folder again; the first time, which may take long, for at most so many milliseconds. */
  async look(mostMs = Number.POSITIVE_INFINITY): Promise<void> {
    if (!existsSync(this.index.folder)) {
      this.index.completeMs ??= Date.now();
      return;
    }
    const looked = this.index.refresh().then(() => this.#reports.begin());
    const waits = this.index.completeMs === undefined && mostMs < Number.POSITIVE_INFINITY;
    await (waits ? Promise.race([looked, new Promise((resolve) => setTimeout(resolve, mostMs))]) : looked);
  }

  /** The series of a run, read up to now. Those that were not asked for longest are forgotten. */
  series(entry: Entry): RunSeries {
    const series = this.#series.get(entry.id) ?? new RunSeries(entry.path, tokensPerStep(entry));
    this.#series.delete(entry.id);
    this.#series.set(entry.id, series);
    if (this.#series.size > MOST_SERIES) this.#series.delete(this.#series.keys().next().value!);
    series.refresh();
    return series;
  }

  /** The live process that trains a run; of a folder of seeds that of the seed under way. */
  ownerOf({ id, path, row }: Entry): LockHolder | undefined {
    const folders = row.kind === "seeds" ? this.index.below(id).map((entry) => entry.path) : [path];
    const found = folders.map((folder) => lockHolder(join(folder, LOCK_FILE)));
    return found.find((each) => each?.live)?.holder;
  }

  async close(): Promise<void> {
    this.#reports.end();
    await this.index.close();
    await this.models.release();
  }
}

/** Tokens of a step, where settings say it; 0 where they do not. */
function tokensPerStep({ row: { kind, settings } }: Entry): number {
  if (kind === null || !["language", "search", "retrain", "pretrain"].includes(kind)) return 0;
  const of = (name: string) => Number(settings[name] ?? settings[`training.${name}`] ?? Number.NaN);
  const accumulate = settings.accumulate ?? settings["training.accumulate"] ?? 1;
  const tokens = of("batch") * of("length") * Number(accumulate);
  const hasPhases = (settings["training.longLength"] ?? null) !== null;
  return Number.isFinite(tokens) && !hasPhases ? tokens : 0;
}
