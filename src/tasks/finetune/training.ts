/** Fine-tuning on a GLUE task: one training step over batches of any length, evaluated after each epoch, in an ALBERT's run folder. */
import type { Engine } from "../../engine/engine.ts";
import type { RunFolder } from "../../runs/folder.ts";
import { trainingBatches } from "../../text/labelled/glue-batches.ts";
import type { Batches } from "../../train/evaluate.ts";
import type { EndReason, Measured, TrainState } from "../../train/events.ts";
import { optimiserGroups } from "../../train/groups.ts";
import { trainLoop } from "../../train/loop.ts";
import { type Schedule, schedule } from "../../train/schedule.ts";
import { TrainingStep } from "../../train/step.ts";
import { Classifier, glueFigures, glueObjective, LENGTH } from "./classifier.ts";
import type { GlueJob } from "./job.ts";
import { conclude, type EpochResult, epochResult, type GlueResult } from "./result.ts";
import { rateOf } from "./settings.ts";

/** What the caller is told on the way. */
export interface GlueWatcher {
  step?(step: number, total: number, loss: number): void;
  epoch?(result: EpochResult, best: boolean): void;
}

export interface TuneOptions {
  readonly watcher?: GlueWatcher | undefined;
  /** A trial of a search keeps the weights of every epoch, but nothing to go on from: it is short, and begins again. */
  readonly trial?: boolean | undefined;
  /** Go on from here. */
  readonly resume?: TrainState | undefined;
  readonly signal?: AbortSignal | undefined;
}

const batchesOf = ({ training, settings, task, described, pad }: GlueJob): Batches =>
  trainingBatches(training, {
    ...{ rows: settings.batch, seed: settings.seed, pad },
    ...{ length: described.model.options.length, regression: !task.labels },
  });

const stepOf = (job: GlueJob, engine: Engine): Promise<TrainingStep> =>
  TrainingStep.create({
    engine,
    ...glueObjective(job.described, job.settings.batch),
    sizes: { [LENGTH]: job.described.model.options.length },
    groups: optimiserGroups(job.described.parameters, {
      optimiser: job.settings.optimiser,
      weightDecay: job.settings.weightDecay,
      settings: { adamw: { epsilon: 1e-6 } },
    }),
    initial: job.weights,
    seed: job.settings.seed,
    clipNorm: job.settings.clipNorm,
  });

/** A rise over the given part of the updates, then a line to 0. */
function scheduleOf({ settings, origin }: GlueJob): (total: number) => Schedule {
  const rate = rateOf(settings, origin.from === undefined);
  return (total) => schedule("linear", { rate, total, warmup: Math.round(settings.warmup * total) });
}

/** Loss, metrics and depth of the dev set; the task's first metric decides. */
async function measured({ task, dev, pad }: GlueJob, classifier: Classifier, step: TrainingStep): Promise<Measured> {
  const { loss, figures } = glueFigures(task, await classifier.score(step.weights, dev, { pad }), dev);
  return { loss, perplexity: Math.exp(loss), tokens: dev.length, scalars: figures, decisive: task.metrics[0]! };
}

/** Trains in a run folder to the end and writes the results there; none where it was stopped. */
export async function fineTune(
  run: RunFolder,
  job: GlueJob,
  engine: Engine,
  { watcher, trial, resume, signal }: TuneOptions = {},
): Promise<GlueResult | undefined> {
  const { settings, task } = job;
  const batches = batchesOf(job);
  const steps = settings.epochs * batches.count;
  const step = await stepOf(job, engine);
  const classifier = await Classifier.create(engine, job.described);
  const events = trainLoop({
    ...{ step, batches, seed: settings.seed, length: { steps }, schedule: scheduleOf(job), shuffle: false },
    accumulate: 1,
    evaluate: () => measured(job, classifier, step),
    evaluateEvery: batches.count,
    checkpointEvery: trial ? batches.count : settings.checkpointEvery,
    ...(signal ? { signal } : {}),
    ...(resume ? { resume } : {}),
  });
  let reason: EndReason | undefined;
  try {
    for await (const event of events) {
      if (event.type === "checkpoint") {
        const state = trial ? { ...event.state, moments: new Map() } : event.state;
        await run.writeCheckpoint(state, { best: event.best });
        continue;
      }
      run.append(event);
      if (event.type === "step") watcher?.step?.(event.step, steps, event.loss);
      if (event.type === "evaluation") watcher?.epoch?.(epochResult(event, batches.count), event.best);
      if (event.type === "end") reason = event.reason;
    }
  } finally {
    await Promise.all([step.release(), classifier.release()]);
  }
  return reason === "stopped" ? undefined : conclude(run, task, batches.count);
}
