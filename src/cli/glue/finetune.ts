/** Fine-tuning on a GLUE task: opens model and texts, trains, evaluates each epoch, and leaves an ALBERT's run with its results. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { startProgress } from "../../base/progress.ts";
import type { Engine } from "../../engine/engine.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { type AlbertDescription, type DescribedAlbert, describedAlbert } from "../../model/albert-description.ts";
import { initialise } from "../../nn/index.ts";
import type { RunFolder } from "../../runs/folder.ts";
import { dataFolder } from "../../text/corpus.ts";
import { specialIds } from "../../text/documents.ts";
import { readGlue } from "../../text/glue.ts";
import { batchesInEpoch, type EncodedExample, encodeGlue, epochBatches, layOut } from "../../text/glue-batches.ts";
import type { GlueTask } from "../../text/glue-tasks.ts";
import { type OpenTokenizer, openTokenizer } from "../../text/tokenizerfile.ts";
import type { Batches } from "../../train/evaluate.ts";
import type { TrainState } from "../../train/events.ts";
import { train } from "../../train/loop.ts";
import type { Group } from "../../train/memory.ts";
import { adamw, lamb } from "../../train/optimiser.ts";
import { type Schedule, schedule } from "../../train/schedule.ts";
import { Divergence, TrainingStep } from "../../train/step.ts";
import { type AlbertRun, createAlbertRun, needTokenizer, openAlbertRun, transferred } from "../albertrun.ts";
import { environment } from "../environment.ts";
import { sortParameters } from "../grouping.ts";
import { Classifier, glueFigures, glueObjective, LENGTH, type Weights } from "./classifier.ts";
import { describeGlue, type GlueSettings, rateOf } from "./settings.ts";

export const RESULT_FILE = "result.json";

/** Figures of the dev set after an epoch. */
export interface EpochResult {
  readonly epoch: number;
  readonly step: number;
  readonly loss: number;
  /** By name: the task's metrics, and the mean depth of halting models. */
  readonly figures: Readonly<Record<string, number>>;
}

/** What a fine-tuning came to; the file of this name says that it is finished. */
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

/** Where weights come from: a run, or nowhere. */
export interface Origin {
  readonly from?: string | undefined;
}

export interface GlueJob {
  readonly task: GlueTask;
  readonly settings: GlueSettings;
  readonly tokenizer: OpenTokenizer;
  readonly description: AlbertDescription;
  readonly described: DescribedAlbert;
  readonly weights: Weights;
  readonly training: readonly EncodedExample[];
  readonly dev: readonly EncodedExample[];
  readonly pad: number;
}

/** Where GLUE's tasks lie. */
export const glueFolder = ({ glue, data }: Pick<GlueSettings, "glue" | "data">) =>
  glue ?? join(dataFolder(data ?? undefined), "glue");

type Say = (message: string) => void;

export type Texts = Pick<GlueJob, "training" | "dev">;

/** Opens everything a fine-tuning needs; texts that are known are not read again. */
export async function openGlueJob(
  task: GlueTask,
  settings: GlueSettings,
  origin: Origin,
  say: Say,
  known?: Texts,
): Promise<GlueJob> {
  const model = await openModel(task, settings, origin);
  const { tokenizer } = model.tokenizer;
  const length = Math.min(settings.length, model.described.model.options.length);
  const encoded = (split: string, limit?: number) => {
    const examples = readGlue(task, split, glueFolder(settings), { warn: say, ...(limit ? { limit } : {}) });
    const options = { output: process.stderr, total: examples.length, unit: "texts" };
    const progress = startProgress(`reading ${task.name} ${split}`, options);
    const found = encodeGlue(examples, tokenizer, length, (done) => progress.at(done));
    progress.end();
    return found;
  };
  const training = known?.training ?? encoded("train", settings.examples ?? undefined);
  const dev = known?.dev ?? encoded("dev");
  return { task, settings, ...model, training, dev, pad: specialIds(tokenizer).pad };
}

async function openModel(task: GlueTask, settings: GlueSettings, { from }: Origin) {
  if (from === undefined) {
    const tokenizer = await tokenizerOf(settings);
    const description = describeGlue(task, settings, { vocabulary: tokenizer.tokenizer.size });
    const described = describedAlbert(description);
    return { tokenizer, description, described, weights: initialise(described.parameters, settings.seed) };
  }
  if (existsSync(from) && !statSync(from).isDirectory()) {
    const remedy = `take it over first: layerwise import ${from} --out models/mine`;
    reject({ who: "--from", needed: "a run folder", got: `the file ${from}`, remedy }, 2);
  }
  const run = await openAlbertRun(from);
  const tokenizer = settings.tokenizer === null ? needTokenizer(run) : await tokenizerOf(settings);
  const description = describeGlue(task, settings, run.config.model);
  const described = describedAlbert(description);
  const { weights } = transferred(withoutClassifier(run), described, settings.seed);
  return { tokenizer, description, described, weights };
}

/** Another task's classes mean nothing here. */
function withoutClassifier({ path, state }: AlbertRun): Pick<AlbertRun, "path" | "state"> {
  const weights = new Map([...state.weights].filter(([name]) => !name.startsWith("classifier.")));
  return { path, state: { ...state, weights } };
}

async function tokenizerOf({ tokenizer, data }: GlueSettings): Promise<OpenTokenizer> {
  if (tokenizer !== null) return openTokenizer(tokenizer, data === null ? {} : { data });
  const remedy = "name one with --tokenizer";
  return reject({ who: "--scratch", needed: "a tokenizer with [CLS] and [SEP]", got: "none", remedy }, 2);
}

function groupsOf({ described, settings }: GlueJob): Group[] {
  const { matrices, hidden, rest } = sortParameters(described.parameters);
  const { optimiser, weightDecay } = settings;
  const made = (matrix: boolean) =>
    optimiser === "lamb"
      ? lamb({ weightDecay: matrix ? weightDecay : 0, adapt: matrix })
      : adamw({ epsilon: 1e-6, weightDecay: matrix ? weightDecay : 0 });
  return [
    { parameters: [...hidden, ...matrices], optimiser: made(true) },
    { parameters: rest, optimiser: made(false) },
  ];
}

/** Batches by their place over all epochs; every epoch is drawn anew. */
function batchesOf({ training, settings, task, described, pad }: GlueJob): Batches {
  const { batch: rows, seed } = settings;
  const count = batchesInEpoch(training.length, rows);
  const options = { rows, length: described.model.options.length, pad, regression: !task.labels };
  let drawn: { epoch: number; batches: EncodedExample[][] } | undefined;
  const pieces = training.reduce((total, { ids }) => total + ids.length, 0);
  return {
    count,
    tokens: Math.round((rows * pieces) / training.length),
    anew: true,
    at: (place) => {
      const epoch = Math.floor(place / count);
      if (drawn?.epoch !== epoch) drawn = { epoch, batches: epochBatches(training, rows, seed, epoch) };
      const { ids, mask, types, labels } = layOut(drawn.batches[place % count]!, options);
      return { ids, mask, types, labels };
    },
  };
}

/** What the caller is told on the way. */
export interface GlueWatcher {
  step?(step: number, total: number, loss: number): void;
  epoch?(result: EpochResult, best: boolean): void;
}

/** Remembers the epochs, writes them into the run, and tells the best by the task's first metric. */
class EpochLog {
  readonly epochs: EpochResult[] = [];
  readonly #run: RunFolder;
  readonly #metric: string;
  best: EpochResult | undefined;

  constructor(run: RunFolder, metric: string) {
    [this.#run, this.#metric] = [run, metric];
  }

  async add(result: EpochResult, state: TrainState, texts: number): Promise<boolean> {
    const value = (each: EpochResult) => each.figures[this.#metric]!;
    const best = this.best === undefined || value(result) > value(this.best);
    if (best) this.best = result;
    this.epochs.push(result);
    const { step, loss, figures: scalars } = result;
    const figures = { loss, perplexity: Math.exp(loss), tokens: texts, scalars };
    this.#run.append({ type: "evaluation", step, split: "dev", best, ...figures });
    // Without moments: a fine-tuning is short, and begins again where it was stopped.
    await this.#run.writeCheckpoint({ ...state, moments: new Map() }, { best });
    return best;
  }
}

const stepOf = (job: GlueJob, engine: Engine): Promise<TrainingStep> =>
  TrainingStep.create({
    engine,
    ...glueObjective(job.described, job.settings.batch),
    sizes: { [LENGTH]: job.described.model.options.length },
    groups: groupsOf(job),
    initial: job.weights,
    seed: job.settings.seed,
    clipNorm: job.settings.clipNorm,
  });

/** A rise over the given part of the updates, then a line to 0. */
function scheduleOf({ settings }: GlueJob, { from }: Origin): (total: number) => Schedule {
  const rate = rateOf(settings, from === undefined);
  return (total) => schedule("linear", { rate, total, warmup: Math.round(settings.warmup * total) });
}

/** Trains in a run folder to the end and writes the results there. */
export async function fineTune(
  run: RunFolder,
  job: GlueJob,
  engine: Engine,
  origin: Origin,
  watcher: GlueWatcher = {},
): Promise<GlueResult> {
  const { settings, described, task, dev, pad } = job;
  const batches = batchesOf(job);
  const steps = settings.epochs * batches.count;
  const step = await stepOf(job, engine);
  const classifier = await Classifier.create(engine, described);
  const log = new EpochLog(run, task.metrics[0]!);
  const events = train({
    step,
    batches,
    seed: settings.seed,
    length: { steps },
    schedule: scheduleOf(job, origin),
    shuffle: false,
    accumulate: 1,
    evaluateEvery: Number.MAX_SAFE_INTEGER, // done here, where an epoch's checkpoint comes
    checkpointEvery: batches.count,
  });
  try {
    for await (const event of events) {
      if (event.type !== "checkpoint") run.append(event);
      if (event.type === "step") watcher.step?.(event.step, steps, event.loss);
      if (event.type !== "checkpoint") continue;
      const found = glueFigures(task, await classifier.score(step.weights, dev, { pad }), dev);
      const result = { epoch: Math.round(event.step / batches.count), step: event.step, ...found };
      watcher.epoch?.(result, await log.add(result, event.state, dev.length));
    }
  } finally {
    await Promise.all([step.release(), classifier.release()]);
  }
  const result = { task: task.name, metric: task.metrics[0]!, epochs: log.epochs, best: log.best!.epoch };
  await writeAtomically(join(run.path, RESULT_FILE), `${JSON.stringify(result)}\n`);
  return result;
}

export interface TuneRequest extends Origin {
  readonly task: GlueTask;
  readonly settings: GlueSettings;
  readonly engine: Engine;
  readonly say: Say;
  readonly watcher?: GlueWatcher;
  /** Where they are known already. */
  readonly texts?: Texts | undefined;
}

/** Fine-tunes into a new run folder. */
export async function tuneInto(path: string, request: TuneRequest): Promise<{ result: GlueResult; texts: Texts }> {
  const { task, settings, from, engine, say, watcher, texts } = request;
  const job = await openGlueJob(task, settings, request, say, texts);
  const training = { command: "glue", glueTask: task.name, from: from ?? null, ...settings };
  const { description, tokenizer } = job;
  const content = { description, training, tokenizer, environment: await environment(engine) };
  const run = await createAlbertRun(path, content, settings.epochs);
  try {
    return { result: await fineTune(run, job, engine, request, watcher), texts: job };
  } finally {
    run.close();
  }
}

/** Notes that a trial diverged, which is an answer too; other errors are thrown on. */
export async function noteDivergence(path: string, { name, metrics }: GlueTask, error: unknown): Promise<void> {
  if (!(error instanceof Error && error.cause instanceof Divergence)) throw error;
  const result: GlueResult = { task: name, metric: metrics[0]!, epochs: [], best: 0, failed: error.message };
  await writeAtomically(join(path, RESULT_FILE), `${JSON.stringify(result)}\n`);
}

/** Rows of the table that a fine-tuning ends with. */
export function resultRows({ epochs, best }: GlueResult) {
  return epochs.map(({ epoch, loss, figures }) => ({
    epoch: `${epoch}${epoch === best ? " *" : ""}`,
    "dev loss": loss.toFixed(4),
    ...Object.fromEntries(
      Object.entries(figures).map(([name, value]) => [
        name,
        name === "depth" ? value.toFixed(2) : (100 * value).toFixed(2),
      ]),
    ),
  }));
}
