/** Carries a search out in a run folder: events, checkpoints, tokenizer, measured costs, and architecture.json at the end. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { candidateName, type MeasuredCosts } from "../../analysis/latency.ts";
import { Watch } from "../../cli/watch.ts";
import type { Engine } from "../../engine/engine.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { RunFolder } from "../../runs/folder.ts";
import type { TrainState } from "../../train/events.ts";
import { environment } from "../environment.ts";
import { costTable } from "./budget.ts";
import { openSearch } from "./job.ts";
import { ChoicePictures } from "./pictures.ts";
import { type Found, type PreparedSearch, prepareSearch, type SearchOptions, search, type Tell } from "./search.ts";
import { type SearchConfig, searchYaml } from "./settings.ts";

const COSTS_FILE = "costs.json";
export const ARCHITECTURE_FILE = "architecture.json";

export interface RunningOptions extends SearchOptions {
  /** Where a live line is shown, if it is a terminal. */
  readonly output?: NodeJS.WriteStream;
}

/** The costs that a run measured when it began. */
export async function keptCosts(path: string): Promise<MeasuredCosts | undefined> {
  const file = join(path, COSTS_FILE);
  return existsSync(file) ? JSON.parse(await readFile(file, "utf8")) : undefined;
}

/** What a search of this folder found; undefined while it has not ended. */
export async function keptResult(path: string): Promise<Found | undefined> {
  const file = join(path, ARCHITECTURE_FILE);
  return existsSync(file) ? JSON.parse(await readFile(file, "utf8")) : undefined;
}

/** Starts a search in a new folder: what candidates cost is measured first, unless it is known. */
export async function beginSearch(
  path: string,
  config: SearchConfig,
  engine: Engine,
  tell: Tell,
  options: RunningOptions = {},
  known?: MeasuredCosts,
): Promise<Found | undefined> {
  const costs = known ?? (typeof config.blocks === "number" ? "measure" : undefined);
  const session = await prepareSearch(await openSearch(config, engine, { costs })); // mistakes leave no folder
  const content = { config: searchYaml(config), environment: { ...(await environment(engine)) } };
  const run = await RunFolder.create(path, content, { keep: config.keep });
  try {
    return await searchIn(run, session, tell, undefined, options);
  } finally {
    run.close();
  }
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** Searches in a run folder, from the start or a checkpoint. Gives nothing where it was stopped: it can go on from its checkpoint. */
export async function searchIn(
  run: RunFolder,
  session: PreparedSearch,
  tell: Tell,
  resume?: TrainState,
  options: RunningOptions = {},
): Promise<Found | undefined> {
  const { model, costs, tokenizer } = session;
  const { total } = session.material.course;
  const watch = options.output?.isTTY ? new Watch(options.output, { totalSteps: total, minutes: null }) : undefined;
  const told: Tell = (text, isPicture = false) => {
    run.log(text);
    if (!watch) tell(text);
    else if (isPicture) watch.picture(text);
    else watch.say(text);
  };
  await writeAtomically(join(run.path, "tokenizer.model"), tokenizer.bytes);
  if (costs) await writeAtomically(join(run.path, COSTS_FILE), json(costs));
  if (costs && !resume) told(costTable(costs, model.choices));
  const pictures = await ChoicePictures.open(run, [...new Set(model.choices.flat().map(candidateName))]);
  const events = search(session, told, resume, options);
  try {
    for (;;) {
      const { value, done } = await events.next();
      if (done) {
        if (!value) return undefined; // stopped: there is no result yet
        await pictures.finish();
        await writeAtomically(join(run.path, ARCHITECTURE_FILE), json(value));
        return value;
      }
      if (value.type === "step") watch?.see(value);
      if (value.type === "checkpoint") await run.writeCheckpoint(value.state, { best: value.best });
      else run.append(value);
      if (value.type === "evaluation") await pictures.see(value);
    }
  } finally {
    watch?.wipe();
  }
}
