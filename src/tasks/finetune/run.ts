/** The run folder of a fine-tuning: made, gone on with, and concluded. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { table } from "../../base/table.ts";
import { stopOnSignals } from "../../cli/signals.ts";
import type { Engine } from "../../engine/engine.ts";
import { describedAlbert } from "../../model/albert/description.ts";
import { initialise } from "../../nn/index.ts";
import { watchTuning } from "../../sweep/processes.ts";
import { openTokenizer } from "../../text/files/tokenizer.ts";
import { type GlueTask, glueTask } from "../../text/labelled/glue-tasks.ts";
import type { TrainState } from "../../train/events.ts";
import { commandName } from "../command-name.ts";
import { environment } from "../environment.ts";
import type { Say } from "../job.ts";
import { type AlbertRunConfig, createAlbertRun, parseAlbertRun } from "../pretrain/albert-run.ts";
import { resumeWith } from "../resuming.ts";
import { type GlueModel, type Origin, openGlueJob, openGlueModel, type Texts } from "./job.ts";
import { conclude, type GlueResult, RESULT_FILE, resultRows } from "./result.ts";
import { type GlueSettings, glueSchema } from "./settings.ts";
import { fineTune, type TuneOptions } from "./training.ts";

const COMMAND = "glue";
const TOKENIZER = "tokenizer.model";
const say = (text: string) => void process.stderr.write(`${text}\n`);
const print = (text: string) => void process.stdout.write(`${text}\n`);

export interface TuneRequest extends Pick<TuneOptions, "watcher" | "trial" | "signal"> {
  readonly task: GlueTask;
  readonly settings: GlueSettings;
  readonly origin: Origin;
  readonly engine: Engine;
  readonly say: Say;
  /** Where they are known already. */
  readonly texts?: Texts | undefined;
}

/** Fine-tunes into a new run folder; no result where it was stopped. */
export async function tuneInto(
  path: string,
  request: TuneRequest,
): Promise<{ result: GlueResult | undefined; texts: Texts }> {
  const { task, settings, engine, say, texts, trial = false } = request;
  const model = await openGlueModel(task, settings, request.origin);
  const job = openGlueJob(task, settings, model, say, texts);
  const { description, tokenizer, origin } = model;
  const training = { command: COMMAND, glueTask: task.name, trial, ...stored(origin), ...settings };
  const content = { description, training, tokenizer, environment: await environment(engine) };
  const run = await createAlbertRun(path, content, trial ? settings.epochs : settings.keep);
  try {
    return { result: await fineTune(run, job, engine, request), texts: job };
  } finally {
    run.close();
  }
}

/** YAML has no undefined. */
const stored = ({ from, fromStep }: Origin) => ({ from: from ?? null, fromStep: fromStep ?? null });

/** Whether `layerwise glue` made a run. */
export const isTuning = ({ training }: AlbertRunConfig) => training?.command === COMMAND;

/** What a run was made with, out of its config. */
function storedTuning(yaml: string, source: string) {
  const { model, heads, training = {} } = parseAlbertRun(yaml, source);
  const { command: _, glueTask: name, trial, from, fromStep, ...values } = training;
  if (trial) {
    const remedy = "give the search's command again: it goes on where it was stopped";
    reject({ who: source, needed: "a fine-tuning of its own", got: "a trial of a search", remedy }, 2);
  }
  const settings = { ...glueSchema.defaults, ...glueSchema.check(values, source) };
  const { keep, threads, device } = settings;
  const origin = { ...(from ? { from: `${from}` } : {}), ...(fromStep ? { fromStep: Number(fromStep) } : {}) };
  return { keep, threads, device, settings, task: glueTask(`${name}`), origin, description: { model, heads } };
}

type StoredTuning = ReturnType<typeof storedTuning>;

/** The model of a run whose weights a checkpoint will give; without one it is opened as at first. */
async function storedModel(path: string, stored: StoredTuning, resume: TrainState | undefined): Promise<GlueModel> {
  const { task, settings, origin, description } = stored;
  if (!resume) return openGlueModel(task, settings, origin);
  const described = describedAlbert(description);
  const weights = initialise(described.parameters, settings.seed);
  return { description, described, weights, origin, tokenizer: await openTokenizer(join(path, TOKENIZER)) };
}

/** Goes on from the last checkpoint, exactly as if it had never stopped, and prints how it ended. */
export const resumeTuning = (path: string): Promise<void> =>
  resumeWith(path, {
    settings: storedTuning,
    finished: async (run, { task, settings }, step) => {
      // A kill may have come between the last checkpoint and the result.
      if (!existsSync(join(path, RESULT_FILE))) await conclude(run, task, step / settings.epochs);
      return `${path} is finished: ${step} steps; measure it with ${commandName()} glue eval ${path}`;
    },
    train: async (run, stored, engine, resume) => {
      const { task, settings } = stored;
      const job = openGlueJob(task, settings, await storedModel(path, stored, resume), say);
      const watcher = watchTuning(process.stderr, task.metrics[0]!);
      report(path, await interruptibly((signal) => fineTune(run, job, engine, { watcher, resume, signal })));
    },
  });

/** Runs something that Ctrl-C stops after its step. */
export async function interruptibly<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = stopOnSignals(process.stderr);
  try {
    return await work(stop.signal);
  } finally {
    stop.release();
  }
}

/** Prints what a fine-tuning came to, or how to go on with one that was stopped. */
export function report(path: string, result: GlueResult | undefined, json = false): void {
  if (!result) {
    say(`stopped; go on with: ${commandName()} resume ${path}`);
    return;
  }
  print(json ? JSON.stringify({ run: path, ...result }) : table(resultRows(result)));
  if (!json) say(`* best ${result.metric}; next: ${commandName()} glue predict ${path} --out submission`);
}
