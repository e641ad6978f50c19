/** What commands ask of a stored run. Each kind of run answers in its own file; shared code never asks which it has. */
import { reject } from "../base/errors.ts";
import type { Row } from "../base/table.ts";
import type { GenerationOptions } from "../model/generation.ts";
import type { LoadedCheckpoint } from "../runs/checkpoints.ts";
import type { Split } from "../text/corpus.ts";
import type { SegmentChoices } from "./search/network.ts";

export type { SegmentChoices } from "./search/network.ts";

/** A run as it lies on disk, with one of its checkpoints. */
export interface StoredRun extends LoadedCheckpoint {
  readonly path: string;
  /** Its config.yaml. */
  readonly config: string;
  readonly environment: Readonly<Record<string, unknown>>;
}

export interface Measuring extends SegmentChoices {
  split: Split;
  /** Text to measure on, for runs that are not bound to one. */
  corpus?: string | undefined;
}

/** For runs whose corpus is their own. */
export function refuseCorpus({ corpus }: Pick<Measuring, "corpus">, path: string): void {
  if (corpus === undefined) return;
  reject({ who: path, needed: "an ALBERT's run for --corpus", got: "a run with its own", remedy: "leave it out" }, 2);
}

export type TextOptions = Omit<GenerationOptions, "prompt" | "stop"> &
  SegmentChoices & { prompt: string; stop?: string | undefined };

/** A run, opened to be used. */
export interface FinishedRun {
  /** Figures of a split; each kind has its own. */
  evaluate(how: Measuring): Promise<Row>;
  /** Continues a text; yields what is new in it. */
  continueText(options: TextOptions): AsyncIterable<string>;
  /** Files that make the model usable elsewhere, by name. */
  exported(): Promise<Readonly<Record<string, Uint8Array>>>;
}

export interface RunKind {
  open(run: StoredRun): Promise<FinishedRun>;
  /** Goes on from the last checkpoint, and prints how it ended. */
  resume(path: string): Promise<void>;
}

/** For kinds without memory and without a choice of blocks. */
export function refuseSegmentChoices({ evaluationMemory, mixture }: SegmentChoices, path: string): void {
  const given = [
    ...(evaluationMemory === undefined ? [] : ["--evaluation-memory"]),
    ...(mixture === undefined ? [] : ["--mixture"]),
  ];
  if (given.length === 0) return;
  const needed = "a run of layerwise search or retrain for these flags";
  reject({ who: path, needed, got: given.join(" and "), remedy: "leave them out" }, 2);
}
