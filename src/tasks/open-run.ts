/** What every opened run has, whatever its kind: where it lies, what was stored, and an engine when one is needed. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { once } from "../base/lazily.ts";
import type { DepthUse } from "../depth/use.ts";
import type { Engine } from "../engine/engine.ts";
import type { LoadedCheckpoint } from "../runs/checkpoints.ts";
import { type CheckpointChoice, RunFolder, TOKENIZER_FILE } from "../runs/folder.ts";
import { checkFile } from "../runs/identity.ts";
import type { RunSummary } from "../runs/summary.ts";
import type { Corpus } from "../text/corpus.ts";
import { openTokenizer } from "../text/files/tokenizer.ts";
import type { PairsCorpus } from "../text/pairs/pairs-corpus.ts";
import type { OpenTokenizer } from "../text/tokenizer.ts";
import type { Session, Stoppable } from "../train/session.ts";
import type { ResumeChanges } from "./changes.ts";
import { engineForUse } from "./engine.ts";
import type { Handed, TaskEvent } from "./job.ts";

/** How a run is opened. */
export interface OpenOptions extends Handed {
  /** Default: the best checkpoint where there is one, else the last. */
  readonly checkpoint?: CheckpointChoice | undefined;
  /** The run's text, where it was given by a program and has no name. */
  readonly corpus?: Corpus | undefined;
  /** The same of a translation's sentence pairs. */
  readonly pairs?: PairsCorpus | undefined;
  /** Other loops, cap, threshold or exit rule than in training, of a model that has them: a language model, a translation, or a fine-tuned model whose tokens halt, which then predicts and is evaluated so. */
  readonly use?: DepthUse | undefined;
}

/** How a run is resumed. */
export interface ResumeOptions extends Omit<OpenOptions, "checkpoint" | "use">, ResumeChanges, Stoppable {}

/** A run as it lies on disk, with one of its checkpoints. */
export interface StoredRun extends LoadedCheckpoint {
  readonly path: string;
  /** Its config.yaml. */
  readonly config: string;
  /** The tokenizer that it keeps, if it does. */
  readonly tokenizer: OpenTokenizer | undefined;
  readonly options: OpenOptions;
  /** The engine, opened when it is first needed. */
  engine(): Promise<Engine>;
}

/** A run, opened to be used; each kind adds what it can do. */
export interface OpenRun<K extends string, R> {
  readonly kind: K;
  readonly path: string;
  /** The step of the opened checkpoint. */
  readonly step: number;
  /** Status, figures and settings, read from the folder now. */
  summary(): Promise<RunSummary>;
  /** Goes on from the last checkpoint, exactly as if it had never stopped. */
  resume(options?: ResumeOptions): Session<TaskEvent, R>;
}

/** Reads a run's config and one checkpoint. */
export async function readStored(path: string, options: OpenOptions): Promise<StoredRun> {
  const run = await RunFolder.read(path);
  const hasBest = (await run.checkpoints()).some(({ best }) => best);
  const stored = await run.readCheckpoint(options.checkpoint ?? (hasBest ? "best" : "last"));
  for (const warning of [...run.warnings, ...stored.warnings]) options.say?.(warning);
  const engine = once(async () => options.engine ?? (await engineForUse(run.environment)));
  return { path, config: run.config, tokenizer: await keptTokenizer(path), options, engine, ...stored };
}

/** What all kinds share. */
export function openRunBase<K extends string, R>(
  kind: K,
  { path, step }: StoredRun,
  resume: (path: string, options: ResumeOptions) => Session<TaskEvent, R>,
): OpenRun<K, R> {
  return {
    kind,
    path,
    step,
    summary: async () => (await import("../runs/summary.ts")).summarise(path),
    resume: (options = {}) => resume(path, options),
  };
}

/** The tokenizer that a run keeps, if it does. */
export async function keptTokenizer(path: string): Promise<OpenTokenizer | undefined> {
  const file = join(path, TOKENIZER_FILE);
  await checkFile(path, TOKENIZER_FILE);
  return existsSync(file) ? openTokenizer(file) : undefined;
}
