/** Runs of search and retrain as they lie in their folders: settings, the model as a checkpoint has it, and how they go on. */
import { reject } from "../../base/errors.ts";
import { foundNetwork } from "../../model/par/found.ts";
import type { ParModel } from "../../model/par/par.ts";
import { loadStateDict } from "../../model/state-dict.ts";
import type { RunFolder } from "../../runs/folder.ts";
import { migrateRun } from "../../runs/migration.ts";
import { parseYaml, storedSettings as settingsIn } from "../../runs/settings-file.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { TrainState } from "../../train/events.ts";
import type { Weights } from "../../train/stages.ts";
import type { Job } from "../job.ts";
import { readStored, type StoredRun } from "../open-run.ts";
import type { Reopened } from "../perform.ts";
import { openData } from "../text-data.ts";
import { patternOfPath, turnsOf } from "./front/paths.ts";
import { searchJob } from "./job.ts";
import { modelAt, modelOf, type SearchGiven } from "./parts.ts";
import { keptCosts, keptResult, type SearchResult } from "./result.ts";
import { type SearchConfig, searchSettings } from "./settings.ts";
import { openTimedSearch } from "./timed.ts";

/** What a retrain run keeps besides the settings of its network. */
export interface RetrainNotes {
  /** The run, file or pattern it was made from. */
  readonly origin: string;
  /** The search that the first weights come from; null: from scratch. */
  readonly supernet: string | null;
  /** The run it is compared with, seen from its own folder. */
  readonly baseline: string | null;
  /** Whether that run is trained along with it. */
  readonly trainsBaseline: boolean;
}

/** The config.yaml of a run of search or retrain. */
export interface StoredSettings {
  readonly task: "search" | "retrain";
  readonly settings: SearchConfig;
  readonly notes: RetrainNotes | undefined;
}

/** Reads the config.yaml of a run of search or retrain; settings that it lacks have their defaults. */
export function storedSettings(yaml: string, path: string): StoredSettings {
  const source = `${path}/config.yaml`;
  const { task, notes } = migrateRun(parseYaml(yaml, source));
  if (task === "search" || task === "retrain") {
    const settings = settingsIn(searchSettings, yaml, source);
    return { task, settings, notes: notes.retrain as RetrainNotes | undefined };
  }
  const remedy = "name a run of search or retrain";
  return reject({ who: path, needed: "task search or retrain", got: task, remedy }, 2);
}

/** A model as a checkpoint has it: blocks that the search has cut down are built as they are left. */
export interface StoredModel {
  readonly settings: SearchConfig;
  readonly model: ParModel;
  readonly weights: Weights;
  readonly tokenizer: OpenTokenizer;
}

/** Builds the model of a stored run; of a search for a front, the network that was chosen, or candidates by turns until then. */
export async function storedModel(stored: StoredRun): Promise<StoredModel> {
  const supernet = await storedSupernet(stored);
  if (!supernet.settings.front) return supernet;
  const { choices } = supernet.model;
  const pattern = (await keptResult(stored.path))?.pattern ?? patternOfPath(choices, turnsOf(choices));
  return { ...supernet, ...foundNetwork(supernet.model, supernet.weights, pattern) };
}

/** Builds the model of a stored run with all that its blocks may be; its text stays closed where the run keeps its tokenizer. */
async function storedSupernet({
  path,
  config,
  state,
  step,
  options,
  tokenizer: kept,
}: StoredRun): Promise<StoredModel> {
  const { settings } = storedSettings(config, path);
  const tokenizer = kept ?? (await openData(settings, options)).tokenizer;
  const costs = (await keptCosts(path)) ?? null;
  const model = modelAt(modelOf(settings, tokenizer.tokenizer.size, costs), state);
  const weights = loadStateDict(model.parameters, state.weights, `${path}, step ${step}`);
  return { settings, model, weights, tokenizer };
}

/** The same of the last checkpoint in a folder. */
export const lastModel = async (path: string): Promise<StoredModel> =>
  storedSupernet(await readStored(path, { checkpoint: "last" }));

/** Opens the job of a run of search or retrain that was begun; `first` gives first weights where it has no checkpoint. */
export async function reopenSearch(
  run: RunFolder,
  resume: TrainState | undefined,
  given: Reopened,
  first?: (settings: StoredSettings) => Promise<SearchGiven["initial"]>,
): Promise<Job<SearchResult>> {
  const stored = storedSettings(run.config, run.path);
  const searches = stored.task === "search" && typeof stored.settings.blocks === "number";
  const unmeasured = searches && !resume ? "measure" : undefined; // killed before it could write them down
  const known: SearchGiven = {
    ...given,
    costs: (await keptCosts(run.path)) ?? unmeasured,
    initial: resume ? undefined : await first?.(stored),
  };
  const parts = await openTimedSearch(stored.settings, known, stored.task === "search");
  return searchJob(parts, run.config);
}
