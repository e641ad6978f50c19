/** Carries out a training run: opens what the config names, consumes the loop's events, and answers signals. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { formatNumber, table } from "../../base/table.ts";
import { stopOnSignals } from "../../cli/signals.ts";
import { Watch } from "../../cli/watch.ts";
import type { Engine } from "../../engine/engine.ts";
import { writeAtomically } from "../../files/atomic.ts";
import type { LanguageModel } from "../../model/language/language.ts";
import type { RunFolder } from "../../runs/folder.ts";
import { Evaluator, figures } from "../../train/evaluate.ts";
import type { EndEvent, Figures, TrainState } from "../../train/events.ts";
import { type Length, train } from "../../train/loop.ts";
import type { ParameterTensor } from "../../train/memory.ts";
import { schedule } from "../../train/schedule.ts";
import { TrainingStep } from "../../train/step.ts";
import { tasks } from "../tasks.ts";
import { type Data, firstWeights, groupsOf } from "./parts.ts";
import type { Config } from "./settings.ts";
import { openLanguage } from "./task.ts";
import type { Say, Task } from "./trainable.ts";

type Weights = ReadonlyMap<ParameterTensor, Float32Array>;

export const TOKENIZER_FILE = "tokenizer.model";

/** The parts of a run, opened. */
export interface Job {
  readonly config: Config;
  readonly engine: Engine;
  readonly task: Task;
}

/** The parts of a language model's run. */
export interface Workshop extends Job {
  readonly data: Data;
  readonly model: LanguageModel;
}

export async function openEngine(config: Pick<Config, "threads" | "device">): Promise<Engine> {
  const { ortEngine } = await import("../../engine/ort.ts");
  return ortEngine({ device: config.device, ...(config.threads === null ? {} : { threads: config.threads }) });
}

/** The tokenizer file that a run keeps, if it does. */
function keptTokenizer(runPath?: string): string | undefined {
  const kept = runPath === undefined ? undefined : join(runPath, TOKENIZER_FILE);
  return kept !== undefined && existsSync(kept) ? kept : undefined;
}

/** Opens data, tokenizer, model and engine; the tokenizer that a run keeps is preferred. */
export async function openJob(config: Config, say: Say, runPath?: string, engine?: Engine): Promise<Job> {
  const task = await tasks[config.task](config, say, keptTokenizer(runPath));
  return { config, task, engine: engine ?? (await openEngine(config)) };
}

/** The same, for what only a language model can do. */
export async function openWorkshop(config: Config, say: Say, runPath?: string, engine?: Engine): Promise<Workshop> {
  if (config.task !== "language") {
    const remedy = `see layerwise ${config.task} --help`;
    reject({ who: runPath ?? "config", needed: "a language model", got: `task ${config.task}`, remedy }, 2);
  }
  const task = await openLanguage(config, say, keptTokenizer(runPath));
  return { config, task, data: task.data, model: task.model, engine: engine ?? (await openEngine(config)) };
}

/** The job in a few rows. */
export function summary({ task, engine }: Job): string {
  const report = task.report();
  const million = (n: number) => `${formatNumber(n / 1e6, 2)} M`;
  const training = million(report.trainingFlopsPerToken);
  return table(
    [
      ...task.describe(),
      { what: "distinct parameters", value: million(report.parameters) },
      { what: "executed depth", value: `${report.executedDepth} (${report.uniqueBlocks} own weights)` },
      { what: "FLOPs per token", value: `${million(report.flopsPerToken)}, ${training} in training` },
      { what: "threads", value: `${engine.threads} on ${engine.device}` },
    ],
    [
      { key: "what", title: "" },
      { key: "value", title: "" },
    ],
  ).trim();
}

/** First weights out of the run that `init` names, and the step they are from; undefined where it names none. */
export async function openInitial(
  { config: { init, initStep, seed }, task }: Job,
  say: Say,
): Promise<{ step: number; weights: Weights } | undefined> {
  if (init === null) return undefined;
  const { RunFolder } = await import("../../runs/folder.ts");
  const { state, step, warnings } = await (await RunFolder.read(init)).readCheckpoint(initStep ?? "last");
  warnings.forEach(say);
  return { step, weights: firstWeights(task.parameters, seed, state.weights) };
}

export async function newStep({ config, engine, task }: Job, initial?: Weights): Promise<TrainingStep> {
  const { batch, length, seed, accumulate, clipNorm, clipValue } = config;
  return TrainingStep.create({
    engine,
    ...task.objective({ batch, length, training: true }),
    groups: await groupsOf(config, task.parameters, engine),
    initial: initial ?? firstWeights(task.parameters, seed),
    seed,
    accumulate,
    ...(clipNorm === null ? {} : { clipNorm }),
    ...(clipValue === null ? {} : { clipValue }),
  });
}

const lengthOf = ({ steps, epochs, minutes }: Config): Length =>
  steps !== null ? { steps } : epochs !== null ? { epochs } : { minutes: minutes ?? 1 };

/** Evaluation each epoch, at most every 500 updates, unless the config says otherwise. */
function evaluationInterval(config: Config, perEpoch: number): number {
  return config.evaluateEvery ?? Math.max(1, Math.min(500, Math.ceil(perEpoch)));
}

export interface Outcome {
  readonly end: EndEvent;
  /** Figures of the last evaluation. */
  readonly last: Figures | undefined;
  /** Copies of the last weights. */
  readonly weights: Weights;
}

/** Trains in a run folder, from the start, from a checkpoint, or from another run's weights. */
export async function trainIn(
  run: RunFolder,
  job: Job,
  from: { resume?: TrainState | undefined; initial?: Weights | undefined },
  output: NodeJS.WriteStream,
): Promise<Outcome> {
  const { config, engine, task } = job;
  await writeAtomically(join(run.path, TOKENIZER_FILE), task.tokenizer.bytes);
  const say: Say = (message) => run.log(message);
  const [training, valid] = [await task.batches("train", say), await task.batches("valid", say)];
  const size = await task.textSize("valid");
  const step = await newStep(job, from.initial);
  const { batch, length: pieces } = config;
  // Compiled at the first evaluation: the first step need not wait for it.
  let evaluator: Evaluator | undefined;
  const stop = stopOnSignals(output);
  const length = lengthOf(config);
  const perEpoch = training.count / config.accumulate;
  const totalSteps =
    from.resume?.progress.totalSteps ??
    ("steps" in length ? length.steps : "epochs" in length ? Math.floor(length.epochs * perEpoch) : null);
  const watch = new Watch(output, { totalSteps, minutes: config.minutes });
  let [end, last]: [EndEvent | undefined, Figures | undefined] = [undefined, undefined];
  const events = train({
    step,
    batches: training,
    seed: config.seed,
    length,
    schedule: (total) =>
      schedule(config.schedule, {
        rate: config.rate,
        floor: config.floor,
        total,
        warmup: Math.min(config.warmup, total),
      }),
    shuffle: true,
    accumulate: config.accumulate,
    evaluate: async () => {
      evaluator ??= await Evaluator.create(engine, task.objective({ batch, length: pieces, training: false }).loss);
      last = figures(await evaluator.meanLoss(step.weights, valid), valid.count * valid.tokens, size);
      return last;
    },
    evaluateEvery: evaluationInterval(config, perEpoch),
    checkpointEvery: config.checkpointEvery,
    signal: stop.signal,
    ...(task.scalars ? { scalars: task.scalars } : {}),
    ...(config.patience === null ? {} : { patience: config.patience }),
    ...(from.resume ? { resume: from.resume } : {}),
  });
  try {
    for await (const event of events) {
      watch.see(event);
      if (event.type === "checkpoint") await run.writeCheckpoint(event.state, { best: event.best });
      else run.append(event);
      if (event.type === "end") end = event;
    }
    const weights = new Map([...step.weights].map(([parameter, data]) => [parameter, data.slice()]));
    return { end: end!, last, weights };
  } finally {
    watch.wipe();
    stop.release();
    await Promise.all([step.release(), evaluator?.release()]);
  }
}
