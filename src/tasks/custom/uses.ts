/** Runs of programs' own models: their weights by name, and training that goes on once the program gives model and data again. */
import { reject } from "../../base/errors.ts";
import { loadStateDict } from "../../model/state-dict.ts";
import { differences } from "../../runs/identity.ts";
import { parseYaml } from "../../runs/settings-file.ts";
import type { TrainState } from "../../train/events.ts";
import type { Trainable } from "../../train/objective.ts";
import { type Session, startSession } from "../../train/session.ts";
import type { Weights } from "../../train/stages.ts";
import type { TrainResult } from "../../train/train.ts";
import { type ResumeChanges, settingsIn } from "../changes.ts";
import type { TaskEvent } from "../job.ts";
import { type OpenRun, openRunBase, type StoredRun } from "../open-run.ts";
import { resumeRun } from "../perform.ts";
import { customJob, type TrainOptions } from "./job.ts";

/** A run of a program's own model, opened at a checkpoint. */
export interface CustomRun extends Omit<OpenRun<"custom", never>, "resume"> {
  readonly state: TrainState;
  /** The checkpoint's weights for a model with the same parameters. */
  weightsFor(model: Pick<Trainable, "parameters">): Weights;
  /** Goes on from the last checkpoint with the model, data and options it was begun with; a longer length or `set` is written down. */
  resume<M extends Trainable>(model: M, options: CustomResumeOptions): Session<TaskEvent, TrainResult<M>>;
}

/** The options of a run, and those that are to change. */
export type CustomResumeOptions = Omit<TrainOptions, "into" | "resume"> & Pick<ResumeChanges, "set">;

/** Opens a run of a program's own model. */
export async function open(stored: StoredRun): Promise<CustomRun> {
  const { path, state, step } = stored;
  return {
    ...openRunBase("custom", stored, resume),
    state,
    weightsFor: ({ parameters }) => loadStateDict(parameters, state.weights, `${path}, step ${step}`),
    resume: (model, options) => goOn(stored, model, options),
  };
}

function goOn<M extends Trainable>(
  { path, config }: StoredRun,
  model: M,
  { set = {}, ...options }: CustomResumeOptions,
): Session<TaskEvent, TrainResult<M>> {
  const { engine, signal } = options;
  const held = parseYaml(config, path);
  const given = Object.entries(settingsIn(options as ResumeChanges));
  const lengths = Object.fromEntries(given.filter(([key, value]) => held[key] !== value));
  return resumeRun(path, { engine, signal, set: { ...lengths, ...set } }, async (run) => {
    const job = await customJob(model, { ...options, ...set } as TrainOptions);
    const other = differences(parseYaml(job.config, path), parseYaml(run.config, path));
    if (other.length === 0) return job;
    const remedy = "give them as they were, or change them with `set`";
    return reject({ who: path, needed: "the options that the run was begun with", got: other.join(", "), remedy }, 2);
  });
}

/** Only the program that made the run has its model and data. */
export function resume(path: string): Session<TaskEvent, never> {
  // biome-ignore lint/correctness/useYield: it refuses before anything happens
  return startSession(async function* (): AsyncGenerator<TaskEvent, never, void> {
    const remedy = 'in the program that made it: (await Run.open(path, "custom")).resume(model, options)';
    return reject({ who: path, needed: "the model and data of the run", got: "only its folder", remedy }, 2);
  });
}
