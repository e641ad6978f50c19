/** What a fine-tuning came to: the dev set's figures after each epoch, out of the run's events, as a file and as a table. */
import { join } from "node:path";
import { writeAtomically } from "../../files/atomic.ts";
import type { RunFolder } from "../../runs/folder.ts";
import type { GlueTask } from "../../text/labelled/glue-tasks.ts";
import { Diverged } from "../../train/diverged.ts";
import type { EvaluationEvent } from "../../train/events.ts";

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
export interface GlueResult {
  readonly task: string;
  /** The metric that decides. */
  readonly metric: string;
  readonly epochs: readonly EpochResult[];
  /** The epoch with the best figure; the first of equals. */
  readonly best: number;
  /** Why there are no epochs. */
  readonly failed?: string;
}

/** An epoch's figures out of its evaluation. */
export const epochResult = ({ step, loss, scalars = {} }: EvaluationEvent, perEpoch: number): EpochResult => ({
  epoch: Math.round(step / perEpoch),
  ...{ step, loss, figures: scalars },
});

/** Sums up a run that has come to its end, and writes that down. */
export async function conclude(run: RunFolder, { name, metrics }: GlueTask, perEpoch: number): Promise<GlueResult> {
  const evaluations = (await run.events()).filter((event) => event.type === "evaluation");
  const epochs = evaluations.map((event) => epochResult(event, perEpoch));
  const metric = metrics[0]!;
  const scores = epochs.map(({ figures }) => figures[metric]!);
  const best = epochs[scores.indexOf(Math.max(...scores))]!.epoch;
  return written(run.path, { task: name, metric, epochs, best });
}

async function written(path: string, result: GlueResult): Promise<GlueResult> {
  await writeAtomically(join(path, RESULT_FILE), `${JSON.stringify(result)}\n`);
  return result;
}

/** Notes that a trial diverged, which is an answer too; other errors are thrown on. */
export async function noteDivergence(path: string, { name, metrics }: GlueTask, error: unknown): Promise<void> {
  if (!(error instanceof Diverged)) throw error;
  await written(path, { task: name, metric: metrics[0]!, epochs: [], best: 0, failed: error.message });
}

/** Rows of the table that a fine-tuning ends with. */
export function resultRows({ epochs, best }: GlueResult) {
  const shown = (name: string, value: number) => (name === "depth" ? value : 100 * value).toFixed(2);
  return epochs.map(({ epoch, loss, figures }) => ({
    epoch: `${epoch}${epoch === best ? " *" : ""}`,
    "dev loss": loss.toFixed(4),
    ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, shown(name, value)])),
  }));
}
