/** Runs of fine-tuning: texts predicted, splits evaluated, GLUE's submissions written, resumed. */
import { reject } from "../../base/errors.ts";
import { defined } from "../../base/options.ts";
import { hasGlueFile } from "../../text/files/glue.ts";
import { readLabelled, type TextFiles } from "../../text/files/labelled.ts";
import type { GlueExample } from "../../text/labelled/glue-examples.ts";
import { type GlueTask, glueTask, isGlue, RANGE, type Submission } from "../../text/labelled/glue-tasks.ts";
import type { TableTask } from "../../text/labelled/labelled-rows.ts";
import type { LabelledText, PlainText, TextTask } from "../../text/labelled/text-task.ts";
import type { TrainState } from "../../train/events.ts";
import type { Session } from "../../train/session.ts";
import type { ExportedFiles } from "../exports.ts";
import type { Say, TaskEvent } from "../job.ts";
import { type OpenRun, openRunBase, type ResumeOptions, type StoredRun } from "../open-run.ts";
import { type Reopened, resumeRun } from "../perform.ts";
import { needTokenizer } from "../pretrain/albert-run.ts";
import { type AlbertUses, albertUses } from "../pretrain/uses.ts";
import { adapterFiles } from "./adapter.ts";
import { guessesOf, type Scored, taskFigures } from "./classifier.ts";
import { curvePoints, curveThresholds, type DepthCurve } from "./depth-curve.ts";
import { atFullDepth, checkEarlyExit } from "./early-exit.ts";
import { gluedTexts, glueFolder, lengthFor, openExamples, ownTexts } from "./examples.ts";
import { type FinetuneParts, type FinetuneResult, finetuneJob, openFinetune } from "./job.ts";
import {
  type Prediction,
  type PredictOptions,
  predictTexts,
  type ScoringOptions,
  scoresOf,
  type Tuned,
} from "./predictions.ts";
import type { GlueSettings } from "./settings.ts";
import { timedScores } from "./timed-scores.ts";
import { beforeIn, reopenedModel, startOf, storedTuning } from "./tuned-run.ts";

/** Which texts a run is evaluated on. */
export interface FinetuneEvaluation extends ScoringOptions {
  /** Of a task of GLUE: train, dev (or valid); dev-mismatched of MNLI. Default: dev. */
  readonly split?: string | undefined;
  /** A file of labelled texts with the columns of the run's own instead. */
  readonly corpus?: string | undefined;
  /** A program's own texts instead. */
  readonly examples?: readonly LabelledText[] | undefined;
  /** Folder of GLUE's tasks. Default: as in training. */
  readonly glue?: string | undefined;
}

/** Figures of texts with labels. */
export interface FinetuneFigures {
  readonly task: string;
  readonly split: string;
  readonly texts: number;
  readonly loss: number;
  /** The task's metrics, and the mean depth where tokens halt. */
  readonly figures: Readonly<Record<string, number>>;
  /** Of the model alone: without reading and encoding the text. */
  readonly msPerText: number;
}

/** Which texts figures are measured on against depth, and under which thresholds. */
export interface CurveOptions extends Omit<FinetuneEvaluation, "threshold"> {
  /** Default: that of training, 0.9, 0.7, 0.5 and 0.3. */
  readonly thresholds?: readonly number[] | undefined;
}

/** A file for the benchmark: its name, its text, and how many texts it answers. */
export interface GlueSubmission {
  readonly file: string;
  readonly content: string;
  readonly texts: number;
}

/** What a run of one of GLUE's tasks can do besides. */
export interface GlueUses {
  /** Files under the names that the benchmark wants; those whose texts are not there are left out, but for the first. */
  submissions(
    how?: Pick<FinetuneEvaluation, "split" | "glue" | "onText"> & { readonly say?: Say | undefined },
  ): Promise<GlueSubmission[]>;
}

/** How a fine-tuning is resumed: with the texts it had, where a program gave them. */
export interface FinetuneResumeOptions extends ResumeOptions {
  readonly train?: readonly LabelledText[] | undefined;
  readonly dev?: readonly LabelledText[] | undefined;
}

/** A fine-tuning, opened at a checkpoint. */
export interface FinetuneRun extends OpenRun<"finetune", FinetuneResult>, AlbertUses {
  readonly settings: GlueSettings;
  readonly task: TextTask;
  /** Where its texts stand, where they came out of files of labelled texts. */
  readonly files: TextFiles | undefined;
  /** Where the task is one of GLUE's. */
  readonly glue: GlueUses | undefined;
  /** What was learnt, as small files for the same model elsewhere; a run that trained all weights refuses. */
  adapter(): Promise<ExportedFiles>;
  /** Labels, scores and depths of texts. */
  predict(texts: readonly (string | PlainText)[], options?: PredictOptions): Promise<Prediction[]>;
  evaluate(how?: FinetuneEvaluation): Promise<FinetuneFigures>;
  /** Figures, mean depth and time where tokens halt at lower thresholds than in training; a model of fixed depth is refused. */
  curve(how?: CurveOptions): Promise<DepthCurve>;
  resume(options?: FinetuneResumeOptions): Session<TaskEvent, FinetuneResult>;
}

/** Opens a fine-tuning to use it. */
export async function open(stored: StoredRun): Promise<FinetuneRun> {
  const { settings, task, files } = storedFinetuning(stored.config, stored.path);
  const albert = await albertUses(stored, { task, length: settings.length });
  const length = lengthFor(settings, { described: albert });
  const own = { task, settings, files };
  const { say, use: { cap, threshold } = {} } = stored.options;
  const exit = { cap, threshold };
  const tuned = async (): Promise<Tuned> => ({
    engine: await stored.engine(),
    description: albert.description,
    described: albert,
    weights: albert.weights,
    tokenizer: needTokenizer(albert),
    length,
  });
  return {
    ...openRunBase("finetune", stored, resume),
    ...atFullDepth(albert, exit, stored.path),
    settings,
    task,
    files,
    glue: isGlue(task) ? { submissions: async (how) => submissions(await tuned(), task, settings, how) } : undefined,
    adapter: async () => adapterFiles(albert, { task, length }),
    predict: async (texts, options) => predictTexts(await tuned(), task, texts, { ...exit, ...defined(options ?? {}) }),
    evaluate: async (how) => evaluate(await tuned(), own, { ...exit, ...defined(how ?? {}) }, say),
    curve: async (how) => curve(await tuned(), own, { cap, ...defined(how ?? {}) }, say),
  };
}

type Own = Pick<Stored, "task" | "settings" | "files">;

async function evaluate(
  tuned: Tuned,
  own: Own,
  { cap, threshold, batch, onText, ...which }: FinetuneEvaluation,
  say?: Say,
): Promise<FinetuneFigures> {
  checkEarlyExit(tuned.description.model, { cap, threshold }, "evaluate");
  const { split, texts } = labelledTexts(own, which, say);
  const [scored] = await timedScores(tuned, texts, [{ cap, threshold }], { batch, onText });
  const measured = taskFigures(own.task, scored!, texts);
  return { task: own.task.name, split, texts: texts.length, ...measured, msPerText: scored!.msPerText };
}

async function curve(
  tuned: Tuned,
  own: Own,
  { thresholds: asked, cap, batch, onText, ...which }: CurveOptions,
  say?: Say,
): Promise<DepthCurve> {
  const { model } = tuned.description;
  const thresholds = curveThresholds(model, asked);
  checkEarlyExit(model, { cap }, "curve");
  const { split, texts } = labelledTexts(own, which, say);
  const points = await curvePoints(tuned, own.task, texts, thresholds, { cap, batch, onText });
  return { task: own.task.name, split, texts: texts.length, metric: own.task.metrics[0]!, points };
}

/** The texts that a run is measured on, and what they are called. */
function labelledTexts(
  { task, settings, files }: Own,
  { split: asked = "dev", examples, corpus, glue }: FinetuneEvaluation,
  say?: Say,
) {
  const split = asked === "valid" ? "dev" : asked;
  const own = examples ?? fileTexts(task, files, corpus ?? splitFile(files, split));
  if (!own && split.startsWith("test")) {
    reject({ who: task.name, needed: "a split with labels", got: split, remedy: "predict it instead" }, 2);
  }
  const texts = own ? ownTexts(task, "examples", own) : gluedTexts(task, split, placed(settings, glue), { say });
  return { split: examples ? "examples" : (corpus ?? split), texts };
}

const splitFile = (files: TextFiles | undefined, split: string) =>
  split === "train" || split === "dev" ? files?.[split] : undefined;

/** The texts of a file with the columns that the run's own have. */
function fileTexts(task: TextTask, files: TextFiles | undefined, file: string | undefined) {
  if (file === undefined) return undefined;
  const form: TableTask = task.several ? "multi-label" : task.labels ? "classification" : "regression";
  return readLabelled(file, files ?? { task: form }, task);
}

const placed = ({ glue, data }: GlueSettings, asked: string | undefined) => ({ glue: asked ?? glue, data });

async function submissions(
  tuned: Tuned,
  task: GlueTask,
  settings: GlueSettings,
  { split = "test", glue, say, onText }: Parameters<GlueUses["submissions"]>[0] = {},
): Promise<GlueSubmission[]> {
  const place = placed(settings, glue);
  const found: GlueSubmission[] = [];
  for (const each of submissionsOf(task, split)) {
    const source = glueTask(each.task);
    if (found.length > 0 && !hasGlueFile(source, each.split, glueFolder(place))) {
      say?.(`${each.file} is left out: its texts are not under ${glueFolder(place)}`);
      continue;
    }
    const examples = numbered(gluedTexts(source, each.split, place, { say }), each.split);
    const scored = await scoresOf(tuned, examples, { onText });
    found.push({ file: each.file, texts: examples.length, content: submission(source, examples, scored) });
  }
  return found;
}

/** Which files to write: the benchmark's, or one of another split to look at. */
function submissionsOf(task: GlueTask, split: string): readonly Submission[] {
  return split === "test" ? task.submissions : [{ task: task.name, split, file: `${task.name}-${split}.tsv` }];
}

/** Test files name their texts; others are counted. */
function numbered(examples: readonly GlueExample[], split: string): readonly GlueExample[] {
  return split.startsWith("test") ? examples : examples.map((example, i) => ({ ...example, index: `${i}` }));
}

/** Lines of a submission: classes by name, numbers within their range. */
export function submission(
  task: GlueTask,
  examples: readonly Pick<GlueExample, "index">[],
  scored: Pick<Scored, "scores" | "classes">,
): string {
  const [least, most] = RANGE;
  const said = (guess: number) =>
    task.labels ? task.labels[guess]! : Math.min(most, Math.max(least, guess)).toFixed(3);
  const lines = Array.from(guessesOf(scored, task), (guess, i) => `${examples[i]!.index}\t${said(guess)}`);
  return `${["index\tprediction", ...lines].join("\n")}\n`;
}

/** What a run was made with, out of its config. */
function storedFinetuning(yaml: string, path: string) {
  const stored = storedTuning(yaml, path, ["glueTask", "textTask", "files", "trial"]);
  const { glueTask: name, textTask, files, trial } = stored.own;
  const task = textTask ? ({ name, ...textTask } as TextTask) : glueTask(`${name}`);
  return { ...stored, task, files: files as TextFiles | undefined, trial: trial === true };
}

type Stored = ReturnType<typeof storedFinetuning>;

/** Goes on with a fine-tuning. */
export function resume(path: string, options: FinetuneResumeOptions = {}): Session<TaskEvent, FinetuneResult> {
  return resumeRun(path, options, async (run, resume, given) => {
    const stored = storedFinetuning(run.config, path);
    if (stored.trial) {
      const remedy = "give the search's command again: it goes on where it was stopped"; // of version 0.1.0
      reject({ who: path, needed: "a fine-tuning of its own", got: "a trial of a search", remedy }, 2);
    }
    const parts = await reopened(path, stored, resume, { ...given, train: options.train, dev: options.dev });
    return finetuneJob(parts, await beforeIn(run, resume?.progress.step ?? 0, parts.model.described));
  });
}

/** The parts of a run whose weights a checkpoint gives; without one it is opened as at first. */
async function reopened(
  path: string,
  stored: Stored,
  resume: TrainState | undefined,
  handed: Reopened & FinetuneResumeOptions,
): Promise<FinetuneParts> {
  const { task, settings, files } = stored;
  const read = (split: "train" | "dev") => handed[split] ?? fileTexts(task, files, files?.[split]);
  const given = { ...handed, train: read("train"), dev: read("dev"), files };
  if (!resume) return openFinetune(task, settings, { ...given, ...startOf(stored) });
  const model = await reopenedModel(path, stored, given.tokenizer);
  const examples = openExamples(task, settings, model, given);
  return { task, settings, model, examples, files, engine: given.engine };
}
