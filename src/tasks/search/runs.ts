/** Runs of PAR Transformer-XLs, searched or retrained: opened from what a checkpoint holds, and trained to their end. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import type { ParModel } from "../../model/par/par.ts";
import { RunFolder, TOKENIZER_FILE } from "../../runs/folder.ts";
import { migrateRun } from "../../runs/migration.ts";
import { parseYaml, storedSettings } from "../../runs/settings-file.ts";
import type { StateTensor, TrainState } from "../../train/events.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import { defaultEngine } from "../engine.ts";
import { changes, environment } from "../environment.ts";
import { firstWeights } from "../first-weights.ts";
import {
  type Found,
  keptCosts,
  keptResult,
  modelAt,
  openSearch,
  prepareSearch,
  type RunningOptions,
  type SearchConfig,
  type SearchSession,
  searchIn,
  type Tell,
} from "./index.ts";
import { searchSettings } from "./settings.ts";

/** What a retrain run keeps besides the settings of its network. */
export interface RetrainNotes {
  /** The run, file or pattern it was made from. */
  origin: string;
  /** The search whose weights it starts from; null: from scratch. */
  supernet: string | null;
  /** The run it is compared with, seen from its own folder. */
  baseline: string | null;
  /** Whether that run is trained along with it. */
  trainsBaseline: boolean;
}

export type ParConfig = SearchConfig & { task: "search" | "retrain"; retrain?: RetrainNotes };

/** The settings of a run of search or retrain. */
export function parConfig(yaml: string, source: string): ParConfig {
  const { task, notes } = migrateRun(parseYaml(yaml, source));
  if (task === "search" || task === "retrain")
    return { task, ...notes, ...storedSettings(searchSettings, yaml, source) };
  const remedy = "name a run of layerwise search or retrain";
  return reject({ who: source, needed: "task search or retrain", got: task, remedy }, 2);
}

/** As many threads as when the run began, so that its numbers stay its own. */
export function engineOf(began: Readonly<Record<string, unknown>>): Promise<Engine> {
  return defaultEngine({ device: "cpu", threads: typeof began.threads === "number" ? began.threads : null });
}

type Stored = ReadonlyMap<string, StateTensor>;

/** A model as a checkpoint has it, with its weights. */
export interface Restored {
  readonly config: ParConfig;
  readonly session: SearchSession;
  readonly model: ParModel;
  readonly weights: ReadonlyMap<ParameterTensor, Float32Array>;
}

/** Opens data and model of a run; blocks that the search has cut down are built as they are left. */
export async function restore(path: string, yaml: string, state: TrainState, engine: Engine): Promise<Restored> {
  const config = parConfig(yaml, `${path}/config.yaml`);
  const session = await openSearch(withTokenizer(config, path), engine, { costs: await keptCosts(path) });
  const model = modelAt(session, state);
  return { config, session, model, weights: firstWeights(model.parameters, config.seed, state.weights) };
}

/** The tokenizer that a run keeps is its own, wherever it came from. */
export function withTokenizer<T extends SearchConfig>(config: T, path: string): T {
  const kept = join(path, TOKENIZER_FILE);
  return existsSync(kept) ? { ...config, tokenizer: kept } : config;
}

/** Weights to start from, by name; asked for only where a run has no checkpoint. */
export type FirstWeights = () => Promise<Stored>;

/**
 * Trains a run of search or retrain to its end, from the last checkpoint where there is one. Gives what it found, also where it was
 * finished already; undefined where it was stopped.
 */
export async function finishPar(
  path: string,
  engine: Engine,
  tell: Tell,
  first?: FirstWeights,
  options: RunningOptions = {},
): Promise<Found | undefined> {
  const run = await RunFolder.open(path);
  try {
    const stored = (await run.checkpoints()).length > 0 ? await run.readCheckpoint("last") : undefined;
    for (const warning of stored?.warnings ?? []) tell(warning);
    const found = await keptResult(path);
    if (stored?.state.progress.finished && found) return found;
    for (const change of changes(run.environment, await environment(engine)))
      tell(`not as when the run began: ${change}; results may differ in the last bit`);
    const config = withTokenizer(parConfig(run.config, `${path}/config.yaml`), path);
    run.keep = config.keep;
    const searches = config.task === "search" && typeof config.blocks === "number";
    const unmeasured = searches && !stored ? "measure" : undefined; // killed before it could write them down
    const session = await openSearch(config, engine, { costs: (await keptCosts(path)) ?? unmeasured });
    if (stored || (await run.events()).length > 0) await run.cutBack(stored?.step ?? 0);
    const initial = stored || !first ? {} : { initial: await startFrom(session, first) };
    return await searchIn(run, await prepareSearch({ ...session, ...initial }), tell, stored?.state, options);
  } finally {
    run.close();
  }
}

async function startFrom({ model, config }: SearchSession, first: FirstWeights) {
  return firstWeights(model.parameters, config.seed, await first());
}
