/**
 * Does pre-training pay? Pre-trains on texts without labels, fine-tunes on a few labelled ones and on many, and beside each the same model
 * with new weights. Texts that are judged by are never learnt from. Finished parts are not done again, and begun ones go on.
 */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { spreadOf } from "../src/base/spread.ts";
import { table } from "../src/base/table.ts";
import { writeAtomically } from "../src/files/atomic.ts";
import {
  classification,
  finetune,
  glueTask,
  type LabelledText,
  pretrain,
  Run,
  type Session,
  type TaskEvent,
} from "../src/index.ts";
import type { DepthCurve, TaskResult } from "../src/tasks/finetune/index.ts";
import type { NewRun } from "../src/tasks/new-run.ts";
import { flagsOf } from "./flags.ts";

const { values } = flagsOf({
  /** Folder of datasets, with imdb/unsup.txt, imdb/train.tsv and glue/SST-2 in it. */
  data: "data",
  out: "runs/transfer",
  /** A pre-training that exists already; else one is made with the preset. */
  from: undefined,
  preset: "few-labels",
  minutes: undefined,
  steps: undefined,
  /** Fine-tunings of each row. */
  seeds: "3",
  /** Reviews kept apart to judge by. */
  held: "2500",
  /** Rows to fill, and weights to begin with; default: all. */
  only: undefined,
  weights: undefined,
  /** Thresholds under which pre-trained models are judged besides: what is lost where tokens halt earlier, and the time that is saved. */
  curve: undefined,
  threads: undefined,
  json: false,
});

const common = { data: values.data, threads: values.threads === undefined ? null : Number(values.threads) };

/** Begins a run, or goes on with it, or leaves it where it is finished. */
async function make(path: string, begin: (into: NewRun) => Session<TaskEvent, unknown>, texts = {}): Promise<string> {
  if (existsSync(join(path, "result.json"))) return path;
  const session = existsSync(join(path, "config.yaml")) ? Run.resume(path, texts) : begin(await Run.create(path));
  for await (const event of session) {
    if (event.type !== "evaluation") continue;
    process.stderr.write(`${path}: step ${event.step}, loss ${event.loss.toFixed(4)}\n`);
  }
  await session.result;
  return path;
}

const numberOr = (text: string | undefined) => (text === undefined ? null : Number(text));

/** All reviews that are not judged by, without their labels, one a line. */
async function reviews(): Promise<string> {
  const path = join(values.out, "reviews.txt");
  if (existsSync(path)) return path;
  mkdirSync(values.out, { recursive: true });
  const others = labelled(join(values.data, tasks.IMDB.file)).slice(0, -Number(values.held));
  const unlabelled = readFileSync(join(values.data, "imdb/unsup.txt"), "utf8").trimEnd();
  await writeAtomically(path, `${[unlabelled, ...others.map(({ text }) => text)].join("\n")}\n`);
  return path;
}

async function pretrained(): Promise<string> {
  const length = { steps: numberOr(values.steps), minutes: numberOr(values.minutes) };
  const given = Object.fromEntries(Object.entries(length).filter(([, value]) => value !== null));
  const corpus = await reviews();
  return make(join(values.out, "pretrained"), (into) =>
    pretrain({ preset: values.preset, corpus, lineDocuments: true, ...common, ...given, into }),
  );
}

/** `sentence<TAB>label` below a heading. */
function labelled(path: string): LabelledText[] {
  const [, ...lines] = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line) => {
    const [text, label] = line.split("\t") as [string, string];
    return { text, label: label.trim() };
  });
}

type Origin = "pre-trained" | "new";

interface Row {
  readonly task: "IMDB" | "SST-2";
  readonly examples: number;
  readonly epochs: Readonly<Record<Origin, number>>;
  readonly length: number;
  /** Of pre-trained weights; new ones learn with 0.001. */
  readonly rate: number;
  /** Of pre-trained weights; new ones are pooled by the mean. */
  readonly pooling: "mean" | "distinct" | "pairs";
  /** Of pre-trained weights: what tables learn of it, and the depths that their head is fitted to. */
  readonly tableRate: number;
  readonly exitDepths?: "full";
}

const rows: Readonly<Record<string, Row>> = {
  "IMDB, 1,000": {
    task: "IMDB",
    examples: 1000,
    epochs: { "pre-trained": 1, new: 4 },
    length: 1024,
    rate: 2e-5,
    pooling: "pairs",
    tableRate: 0.1,
  },
  "SST-2, 1,000": {
    task: "SST-2",
    examples: 1000,
    epochs: { "pre-trained": 4, new: 6 },
    length: 64,
    rate: 1e-4,
    pooling: "mean",
    tableRate: 0.1,
  },
  "IMDB, all": {
    task: "IMDB",
    examples: Number.POSITIVE_INFINITY,
    epochs: { "pre-trained": 1, new: 2 },
    length: 256,
    rate: 1e-4,
    pooling: "pairs",
    tableRate: 1,
    exitDepths: "full",
  },
};

const tasks = {
  IMDB: { task: classification({ labels: ["0", "1"], name: "IMDB" }), file: "imdb/train.tsv" },
  "SST-2": { task: glueTask("SST-2"), file: "glue/SST-2/train.tsv" },
} as const;

/** What is learnt from and judged by; the seed draws which of the labelled texts are learnt from where not all are. */
function textsOf({ task, examples }: Row, seed: number): { train: LabelledText[]; dev: LabelledText[] } {
  const all = labelled(join(values.data, tasks[task].file));
  const held = task === "IMDB" ? Number(values.held) : 0;
  const dev = task === "IMDB" ? all.slice(-held) : labelled(join(values.data, "glue/SST-2/dev.tsv"));
  const from = Number.isFinite(examples) ? (seed - 1) * examples : 0;
  return { train: all.slice(0, all.length - held).slice(from, from + examples), dev };
}

/** What served either best; docs/log.md has the trials. */
const recipeOf = (origin: Origin, { rate, task, pooling, tableRate, exitDepths }: Row) =>
  origin === "new"
    ? ({ rate: 1e-3, pooling: "mean" } as const)
    : ({
        ...{ rate, pooling, tableRate, classifierDropout: task === "IMDB" ? 0 : 0.1 },
        ...(exitDepths === undefined ? {} : { exitDepths }),
        headStart: "fitted",
      } as const);

/** Accuracy after the last epoch, in percent, and the run. */
async function scored(name: string, row: Row, origin: Origin, seed: number, run: string) {
  const path = join(values.out, `${name.replace(/\W+/g, "-")}-${origin}-${seed}`);
  const weights = origin === "new" ? { like: run } : {};
  const [epochs, { length }] = [row.epochs[origin], row];
  const settings = { ...common, ...weights, epochs, length, seed, ...recipeOf(origin, row) } as const;
  const texts = textsOf(row, seed);
  const { task } = tasks[row.task];
  const from = origin === "new" ? null : run;
  await make(path, (into) => finetune(from, { task, ...texts, ...settings, batch: 16, into }), texts);
  const { epochs: found } = JSON.parse(readFileSync(join(path, "result.json"), "utf8")) as TaskResult;
  return { path, score: 100 * found.at(-1)!.figures.accuracy!, dev: texts.dev };
}

/** Accuracy and time by threshold, written beside the run since it takes minutes. */
async function curveOf(path: string, examples: readonly LabelledText[]): Promise<DepthCurve["points"]> {
  const file = join(path, `curve-${values.curve}.json`);
  const thresholds = values.curve!.split(",").map(Number);
  if (!existsSync(file)) {
    const { points } = await (await Run.open(path, "finetune")).curve({ examples, thresholds });
    await writeAtomically(file, JSON.stringify(points));
  }
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Each threshold over all seeds. */
function curveRows(labels: string, curves: readonly DepthCurve["points"][]) {
  return curves[0]!.map(({ threshold }, i) => {
    const points = curves.map((points) => points[i]!);
    const accuracies = points.map(({ figures }) => 100 * figures.accuracy!);
    return {
      labels,
      threshold: threshold ?? "full depth",
      depth: spreadOf(points.map(({ depth }) => depth))!.mean.toFixed(2),
      accuracy: accuracies.map((each) => each.toFixed(2)).join(", "),
      "lost at most": Math.max(
        ...curves.map((each, seed) => 100 * each[0]!.figures.accuracy! - accuracies[seed]!),
      ).toFixed(2),
      time: points.map(({ timeRatio }) => timeRatio.toFixed(2)).join(", "),
    };
  });
}

const run = values.from ?? (await pretrained());
const found = [];
const curves: ReturnType<typeof curveRows> = [];
for (const [name, row] of Object.entries(rows)) {
  if (values.only !== undefined && values.only !== name) continue;
  for (const origin of ["pre-trained", "new"] as const) {
    if (values.weights !== undefined && values.weights !== origin) continue;
    const scores: number[] = [];
    const own: DepthCurve["points"][] = [];
    for (let seed = 1; seed <= Number(values.seeds); seed++) {
      const { path, score, dev } = await scored(name, row, origin, seed, run);
      scores.push(score);
      if (values.curve !== undefined && origin === "pre-trained") own.push(await curveOf(path, dev));
    }
    if (own.length > 0) curves.push(...curveRows(name, own));
    const { mean, deviation } = spreadOf(scores)!;
    found.push({ labels: name, weights: origin, mean, deviation: deviation ?? 0, scores });
  }
}
const shown = found.map(({ labels, weights, mean, deviation, scores }) => ({
  labels,
  weights,
  accuracy: `${mean.toFixed(1)} ± ${deviation.toFixed(1)}`,
  scores: scores.map((score) => score.toFixed(2)).join(", "),
}));
const tables = [shown, curves].filter((rows) => rows.length > 0).map((rows) => table(rows));
process.stdout.write(values.json ? `${JSON.stringify({ found, curves })}\n` : `${tables.join("\n\n")}\n`);
