/** Runs of PAR Transformer-XLs, searched or retrained: opened from what a checkpoint holds, and trained to their end. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { reject } from "../base/errors.ts";
import type { Engine } from "../engine/engine.ts";
import type { ParModel } from "../model/par.ts";
import { RunFolder } from "../runs/folder.ts";
import type { StateTensor, TrainState } from "../train/events.ts";
import type { ParameterTensor } from "../train/memory.ts";
import { changes, environment } from "./environment.ts";
import { type Found, openSearch, type SearchConfig, type SearchSession, searchIn, type Tell } from "./search.ts";
import { firstWeights } from "./session.ts";
import { openEngine, TOKENIZER_FILE } from "./training.ts";

/** What a retrain run keeps besides the settings of its network. */
export interface RetrainNotes {
  /** The run or file whose pattern it is. */
  origin: string;
  /** The search whose weights it starts from, from its own folder; null: from scratch. */
  supernet: string | null;
  /** The run it is compared with, from its own folder. */
  baseline: string | null;
  /** True where that run is trained along with it. */
  trainsBaseline: boolean;
  /** Shape at which latency is measured. */
  latency: { length: number; memory: number };
}

export type ParConfig = SearchConfig & { task: "search" | "retrain"; retrain?: RetrainNotes };

/** The settings of a run of search or retrain. */
export function parConfig(yaml: string, source: string): ParConfig {
  const config = parse(yaml) as ParConfig;
  if (config?.task === "search" || config?.task === "retrain") return config;
  const remedy = "name a run of layerwise search or retrain";
  return reject({ who: source, needed: "task search or retrain", got: `${config?.task ?? "language"}`, remedy }, 2);
}

/** As many threads as when the run began, so that its numbers stay its own. */
export function engineOf(began: Readonly<Record<string, unknown>>): Promise<Engine> {
  return openEngine({ device: "cpu", threads: typeof began.threads === "number" ? began.threads : null });
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
  const session = await openSearch(withTokenizer(config, path), engine);
  const alive = state.progress.notes?.alive as ParModel["alive"] | undefined;
  const model = alive ? session.model.narrowed(alive) : session.model;
  return { config, session, model, weights: firstWeights(model.parameters, config.seed, state.weights) };
}

/** The tokenizer that a run keeps is its own, wherever it came from. */
function withTokenizer<T extends SearchConfig>(config: T, path: string): T {
  const kept = join(path, TOKENIZER_FILE);
  return existsSync(kept) ? { ...config, tokenizer: kept } : config;
}

/** Weights to start from, by name. */
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
): Promise<Found | undefined> {
  const run = await RunFolder.open(path);
  try {
    const stored = (await run.checkpoints()).length > 0 ? await run.readCheckpoint("last") : undefined;
    const found = join(path, ARCHITECTURE_FILE);
    if (stored?.state.progress.finished && existsSync(found)) return readFound(found);
    for (const change of changes(run.environment, await environment(engine)))
      tell(`not as when the run began: ${change}; results may differ in the last bit`);
    const config = withTokenizer(parConfig(run.config, `${path}/config.yaml`), path);
    const session = await openSearch(config, engine);
    if (stored || (await run.events()).length > 0) await run.cutBack(stored?.step ?? 0);
    const initial = !stored && first ? firstWeights(session.model.parameters, config.seed, await first()) : undefined;
    return await searchIn(run, initial ? { ...session, initial } : session, tell, stored?.state);
  } finally {
    run.close();
  }
}

export const ARCHITECTURE_FILE = "architecture.json";

export async function readFound(file: string): Promise<Found> {
  const { readFile } = await import("node:fs/promises");
  let found: unknown;
  try {
    found = JSON.parse(await readFile(file, "utf8"));
  } catch {
    found = null;
  }
  if (typeof (found as Found | null)?.pattern === "string") return found as Found;
  return reject({ who: file, needed: "JSON with a pattern, as layerwise search writes it", got: "something else" });
}
