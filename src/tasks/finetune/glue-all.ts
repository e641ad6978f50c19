/** GLUE as a whole: one fine-tuning per task whose files are there, their average, and the benchmark's submission as a zip. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Zippable, zipSync } from "fflate";
import { reject } from "../../base/errors.ts";
import type { Row } from "../../base/table.ts";
import type { Engine } from "../../engine/engine.ts";
import { writeAtomically } from "../../files/atomic.ts";
import { readSealed, sealedJson } from "../../runs/sealed.ts";
import { hasGlueFile, readGlue } from "../../text/files/glue.ts";
import { type GlueTask, glueTask, glueTasks } from "../../text/labelled/glue-tasks.ts";
import { figuresOf } from "../../text/labelled/metrics.ts";
import { relayed, type Session, type Stoppable, startSession } from "../../train/session.ts";
import { defaultEngine } from "../engine.ts";
import type { NoteEvent, TaskEvent } from "../job.ts";
import { newRun } from "../new-run.ts";
import { performed } from "../perform.ts";
import type { AlbertSource } from "../pretrain/origin.ts";
import { Run } from "../run.ts";
import { glueFolder } from "./examples.ts";
import { finetuneJob, openFinetune } from "./job.ts";
import { RESULT_FILE, type TaskResult } from "./result.ts";
import type { GlueSettings } from "./settings.ts";
import type { GlueSubmission } from "./uses.ts";

/** What is fine-tuned, and where to. */
export interface GlueAllOptions extends Stoppable {
  readonly settings: GlueSettings;
  /** A folder: a run per task, report.json and submission.zip. What is finished in it stays, what was begun goes on. */
  readonly out: string;
  /** The ALBERT to begin with. Default: new weights for each task. */
  readonly from?: AlbertSource | undefined;
  /** Names of tasks. Default: all whose train and dev files are there. */
  readonly tasks?: readonly string[] | undefined;
  readonly engine?: Engine | undefined;
}

/** How a task went. */
export interface GlueAllRow {
  readonly task: string;
  /** The run; null where the commonest class is the answer. */
  readonly run: string | null;
  /** Of the dev set at the best epoch. */
  readonly figures: Readonly<Record<string, number>>;
  /** The mean of the metrics that the benchmark counts: of CoLA Matthews' correlation alone, of MNLI both dev sets. */
  readonly score: number;
}

/** What all tasks came to. */
export interface GlueAllReport {
  readonly rows: readonly GlueAllRow[];
  /** The mean score over the rows. */
  readonly average: number;
  /** Tasks of the benchmark without files here: the average lacks them. */
  readonly missing: readonly string[];
  /** Names of the files in submission.zip; those whose test texts are not there are left out. */
  readonly submission: readonly string[];
  /** Whether it was stopped: the same call goes on. */
  readonly stopped: boolean;
}

const REPORT = "report.json";
/** Where answering with the commonest class beats what is learnt: train and dev sentences of this task contradict each other. */
const MAJORITY = "WNLI";

/** Fine-tunes on all tasks, one after another. */
export function glueAll(options: GlueAllOptions): Session<TaskEvent, GlueAllReport> {
  return startSession((signal) => tasksInTurn(options, signal), options.signal);
}

const note = (text: string): NoteEvent => ({ type: "note", text });
const trainable = [...glueTasks.values()].filter(({ files }) => files.train);

async function* tasksInTurn(options: GlueAllOptions, signal: AbortSignal) {
  const { wanted, missing } = tasksOf(options);
  const engine = options.engine ?? (await defaultEngine(options.settings));
  const rows: GlueAllRow[] = [];
  const files: GlueSubmission[] = [];
  for (const task of wanted) {
    const found = yield* task.name === MAJORITY
      ? commonest(task, options)
      : tuned(task, { ...options, engine }, signal);
    if (!found) return reportOf(rows, missing, files, true);
    rows.push(found.row);
    files.push(...found.files);
  }
  const report = reportOf(rows, missing, files, false);
  await writeAtomically(join(options.out, REPORT), sealedJson(report));
  if (files.length > 0) await writeAtomically(join(options.out, "submission.zip"), zipped(files));
  return report;
}

function tasksOf({ settings, tasks }: GlueAllOptions) {
  const folder = glueFolder(settings);
  const asked = tasks?.map((name) => glueTask(name)) ?? trainable;
  const has = (task: GlueTask) => ["train", "dev"].every((split) => hasGlueFile(task, split, folder));
  const inOwnFolder = (task: GlueTask) => task.folders.some((name) => existsSync(join(folder, name)));
  const wanted = asked.filter((task) => task.files.train && inOwnFolder(task) && has(task));
  const lost = asked.find((task) => tasks && !wanted.includes(task));
  if (lost || wanted.length === 0) {
    const needed = `train and dev files of ${lost?.name ?? "at least one task"} under ${folder}`;
    reject({ who: "glue all", needed, got: "none", remedy: "say with --glue where GLUE lies" }, 2);
  }
  return { wanted, missing: trainable.filter((task) => !wanted.includes(task)).map(({ name }) => name) };
}

interface Done {
  readonly row: GlueAllRow;
  readonly files: readonly GlueSubmission[];
}

/** Fine-tunes on a task, goes on with it, or takes what it came to; undefined where it was stopped. */
async function* tuned(
  task: GlueTask,
  { settings, from, out, engine }: GlueAllOptions & { readonly engine: Engine },
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, Done | undefined, void> {
  const path = join(out, task.name);
  const result = join(path, RESULT_FILE);
  if (!existsSync(result)) {
    yield note(`${task.name}: ${path}`);
    if (existsSync(join(path, "config.yaml"))) yield* relayed(Run.resume(path, { engine, signal }));
    else {
      const parts = await openFinetune(task, settings, { from, engine });
      yield* performed(finetuneJob(parts), await newRun(path), signal);
    }
  }
  if (!existsSync(result)) return undefined;
  const { epochs, best } = readSealed(await readFile(result, "utf8"), result, "").value as TaskResult;
  const run = await Run.open(path, "finetune", { engine });
  const mismatched = hasGlueFile(task, "dev-mismatched", glueFolder(settings));
  const also = mismatched ? (await run.evaluate({ split: "dev-mismatched" })).figures : {};
  const figures = { ...epochs.find(({ epoch }) => epoch === best)!.figures, ...renamed(also, "mismatched") };
  const tested = hasGlueFile(task, "test", glueFolder(settings));
  if (!tested) yield note(`${task.name}: no test file, so nothing for submission.zip`);
  return {
    row: { task: task.name, run: path, figures, score: scoreOf(task, figures) },
    files: tested ? await run.glue!.submissions() : [],
  };
}

const renamed = (figures: Readonly<Record<string, number>>, prefix: string) =>
  Object.fromEntries(
    Object.entries(figures)
      .filter(([name]) => name !== "depth")
      .map(([name, value]) => [`${name}-${prefix}`, value]),
  );

function scoreOf({ metrics, scored = metrics }: GlueTask, figures: Readonly<Record<string, number>>): number {
  const names = scored.flatMap((name) => [name, `${name}-mismatched`]);
  const values = names.flatMap((name) => figures[name] ?? []);
  return values.reduce((a, b) => a + b, 0) / values.length;
}

/** The commonest class of the training file for every text. */
async function* commonest(task: GlueTask, { settings }: GlueAllOptions): AsyncGenerator<TaskEvent, Done, void> {
  const folder = glueFolder(settings);
  const labels = (split: string) => readGlue(task, split, folder).map(({ label }) => label);
  const learnt = labels("train");
  const counts = task.labels!.map((_, label) => learnt.filter((each) => each === label).length);
  const answer = counts.indexOf(Math.max(...counts));
  yield note(`${task.name}: its commonest class, ${task.labels![answer]}, for every text, as everybody submits`);
  const dev = labels("dev");
  const figures = figuresOf(
    task.metrics,
    dev,
    dev.map(() => answer),
  );
  const row = { task: task.name, run: null, figures, score: scoreOf(task, figures) };
  if (!hasGlueFile(task, "test", folder)) return { row, files: [] };
  const lines = readGlue(task, "test", folder).map(({ index }) => `${index}\t${task.labels![answer]}`);
  const content = `${["index\tprediction", ...lines].join("\n")}\n`;
  return { row, files: [{ file: `${task.name}.tsv`, content, texts: lines.length }] };
}

function reportOf(
  rows: readonly GlueAllRow[],
  missing: readonly string[],
  files: readonly GlueSubmission[],
  stopped: boolean,
): GlueAllReport {
  const average = rows.reduce((sum, { score }) => sum + score, 0) / Math.max(1, rows.length);
  return { rows, average, missing, submission: files.map(({ file }) => file), stopped };
}

function zipped(files: readonly GlueSubmission[]): Uint8Array {
  const members: Zippable = {};
  // A fixed time makes equal files equal archives.
  for (const { file, content } of files) {
    members[file] = [new TextEncoder().encode(content), { mtime: new Date(2020, 0, 1) }];
  }
  return zipSync(members);
}

/** The rows of a report and its average, for the terminal. */
export function glueTable({ rows, average, missing }: GlueAllReport): Row[] {
  const percent = (value: number) => (100 * value).toFixed(1);
  const said = ({ depth, ...figures }: Readonly<Record<string, number>>) =>
    Object.entries(figures)
      .map(([name, value]) => `${name} ${percent(value)}`)
      .join(", ");
  const lacking = missing.length > 0 ? `without ${missing.join(", ")}` : "all tasks";
  return [
    ...rows.map(({ task, score, figures, run }) => ({
      task,
      score: percent(score),
      dev: said(figures),
      depth: figures.depth?.toFixed(2) ?? "",
      run: run ?? "commonest class",
    })),
    { task: "average", score: percent(average), dev: lacking, depth: "", run: "" },
  ];
}
