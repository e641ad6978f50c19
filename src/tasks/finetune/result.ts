/** What a fine-tuning came to: the dev set's figures after each epoch, and the file that keeps them. */

import { sealedJson } from "../../runs/sealed.ts";
import type { TextTask } from "../../text/labelled/text-task.ts";
import type { EvaluationEvent } from "../../train/events.ts";

/** Where a run keeps what it came to. */
export const RESULT_FILE = "result.json";

/** Figures of the dev set after an epoch. */
export interface EpochResult {
  readonly epoch: number;
  readonly step: number;
  readonly loss: number;
  /** By name: the task's metrics, and the mean depth of halting models. */
  readonly figures: Readonly<Record<string, number>>;
}

/** The file of this form says that a fine-tuning is finished. */
export interface TaskResult {
  readonly task: string;
  /** The metric that decides. */
  readonly metric: string;
  readonly epochs: readonly EpochResult[];
  /** The epoch with the best figure; the first of equals. */
  readonly best: number;
  /** Why there are no epochs, of a trial of version 0.1.0. */
  readonly failed?: string;
}

/** An epoch's figures out of its evaluation. */
export const epochResult = ({ step, loss, scalars = {} }: EvaluationEvent, perEpoch: number): EpochResult => ({
  epoch: Math.ceil(step / perEpoch),
  step,
  loss,
  figures: scalars,
});

/** Sums up a fine-tuning that has come to its end. */
export function taskResult({ name, metrics }: TextTask, epochs: readonly EpochResult[]): TaskResult {
  const metric = metrics[0]!;
  const scores = epochs.map(({ figures }) => figures[metric]!);
  const best = epochs[scores.indexOf(Math.max(...scores))]!.epoch;
  return { task: name, metric, epochs, best };
}

/** The text of the file. */
export const resultText = (result: TaskResult): string => sealedJson(result);
