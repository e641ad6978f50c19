/** What training asks of a task. Language models and translation are siblings; shared code never asks which it has. */
import type { Engine } from "../../engine/engine.ts";
import type { Objective } from "../../model/language/language.ts";
import type { ModelReport } from "../../model/report.ts";
import type { Parameter } from "../../nn/index.ts";
import type { Split } from "../../text/files/corpus.ts";
import type { OpenTokenizer } from "../../text/files/tokenizer.ts";
import type { Batches, TextSize } from "../../train/evaluate.ts";
import type { LoopOptions } from "../../train/loop.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import type { Config } from "./settings.ts";

export type Say = (message: string) => void;

export interface Task {
  readonly parameters: readonly Parameter[];
  /** Kept in the run folder. */
  readonly tokenizer: OpenTokenizer;
  objective(size: { batch: number; length: number; training: boolean }): Objective;
  /** Scalar inputs of the objective that follow the step. */
  readonly scalars?: LoopOptions["scalars"];
  batches(split: Split, say: Say): Promise<Batches>;
  /** How much text the predicted pieces of a split stand for. */
  textSize(split: Split): Promise<TextSize>;
  report(): ModelReport;
  /** Data and plan, in a few rows. */
  describe(): { what: string; value: string }[];
  /** What to print after training: a sample, and what one may do next. */
  afterword(path: string, engine: Engine, weights: ReadonlyMap<ParameterTensor, Float32Array>): Promise<string>;
}

/** Opens a task; `kept` is the tokenizer file of an existing run. */
export type OpenTask = (config: Config, say: Say, kept?: string) => Promise<Task>;
