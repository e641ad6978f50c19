/** Training of a program's own model: its data and model are the program's, its run folder is like any other. */
import { stringify } from "yaml";
import { formatNumber } from "../../base/table.ts";
import { countParameters } from "../../model/report.ts";
import { lengthOf } from "../../train/loop.ts";
import type { Trainable } from "../../train/objective.ts";
import { type Session, startSession } from "../../train/session.ts";
import type { TrainResult, TrainOptions as TrainWithEngine } from "../../train/train.ts";
import { defaultEngine } from "../engine.ts";
import type { Job, TaskEvent } from "../job.ts";
import type { NewRun } from "../new-run.ts";
import { performed } from "../perform.ts";
import { trainJob } from "../trained-job.ts";

/** How a program's own model is trained. */
export interface TrainOptions extends Omit<TrainWithEngine, "engine" | "into"> {
  /** Default: the best there is here. */
  readonly engine?: TrainWithEngine["engine"] | undefined;
  /** A run folder to fill, as `Run.create` gives it. Default: nothing is kept. */
  readonly into?: NewRun | undefined;
  /** Checkpoints to keep besides the best. */
  readonly keep?: number | undefined;
}

export const CUSTOM_TASK = "custom";

/** Trains any model with parameters and an objective on any named batches. Iterate the session, or await its result. */
export function train<M extends Trainable>(model: M, options: TrainOptions): Session<TaskEvent, TrainResult<M>> {
  lengthOf(options);
  return startSession(async function* (signal) {
    const job = await customJob(model, options);
    return yield* performed(job, options.into, signal, options.resume);
  }, options.signal);
}

/** What config.yaml keeps: the plain values among the options. */
function plainOptions(options: TrainOptions): Record<string, unknown> {
  const isPlain = (value: unknown) => ["number", "string", "boolean"].includes(typeof value);
  return Object.fromEntries(Object.entries(options).filter(([, value]) => isPlain(value)));
}

/** The job of a program's own model. */
export async function customJob<M extends Trainable>(model: M, options: TrainOptions): Promise<Job<TrainResult<M>>> {
  const { into: _, keep = 3, signal: __, resume: ___, ...given } = options;
  const engine = given.engine ?? (await defaultEngine());
  return trainJob(
    model,
    { ...given, engine },
    {
      config: stringify({ task: CUSTOM_TASK, ...plainOptions(options) }),
      text: null,
      files: {},
      keep,
      describe: () => [{ what: "distinct parameters", value: formatNumber(countParameters(model.parameters)) }],
    },
  );
}
