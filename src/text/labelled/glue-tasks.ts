/** The tasks of the GLUE benchmark: where their texts and labels stand, what is scored, and what a submission is called. */
import { reject } from "../../base/errors.ts";
import { nearest } from "../../base/nearest.ts";
import type { MetricName } from "./metrics.ts";
import type { TextTask } from "./text-task.ts";

/** Columns of a file, from 0; `label` −1 is the last. */
export interface Columns {
  /** One text, or two. */
  readonly texts: readonly [number] | readonly [number, number];
  readonly label?: number;
  /** Off: the first line is an example. */
  readonly header?: boolean;
}

/** Files that are predicted for the benchmark: what to read, and the name of what to write. */
export interface Submission {
  readonly task: string;
  readonly split: string;
  readonly file: string;
}

/** A task with files of its own and submissions. */
export interface GlueTask extends TextTask {
  /** Folders it may lie in. */
  readonly folders: readonly string[];
  readonly train: Columns;
  readonly test: Columns;
  /** Files by split, where they are not called train.tsv, dev.tsv and test.tsv. */
  readonly files: Readonly<Record<string, readonly string[]>>;
  readonly submissions: readonly Submission[];
  /** Metrics whose mean is the task's score in the benchmark. Default: all. */
  readonly scored?: readonly MetricName[];
  /** Lines with too few columns are left out, as everybody does. */
  readonly skipsBadLines?: boolean;
}

/** Similarities of STS-B. */
export const RANGE = [0, 5] as const;

const usual = { train: ["train.tsv"], dev: ["dev.tsv"], test: ["test.tsv"] };
const binary = ["0", "1"];
const entailment = ["entailment", "not_entailment"];
const inference3 = ["contradiction", "entailment", "neutral"];

type Given = Pick<GlueTask, "name" | "metrics" | "train" | "test"> & Partial<GlueTask>;

const define = (given: Given): GlueTask => ({
  labels: null,
  folders: [given.name],
  files: usual,
  submissions: [{ task: given.name, split: "test", file: `${given.name}.tsv` }],
  ...given,
});

/** Two sentences and whether the second follows, in the usual columns. */
const pairs = (name: string, labels: readonly string[]): GlueTask =>
  define({ name, labels, metrics: ["accuracy"], train: { texts: [1, 2], label: 3 }, test: { texts: [1, 2] } });

/** Two sentences and whether they say the same. */
const paraphrases = (given: Omit<Given, "metrics">): GlueTask =>
  define({ labels: binary, metrics: ["accuracy", "f1"], ...given });

const all: readonly GlueTask[] = [
  define({
    name: "CoLA",
    labels: binary,
    metrics: ["matthews", "accuracy"],
    scored: ["matthews"],
    train: { texts: [3], label: 1, header: false },
    test: { texts: [1] },
  }),
  define({
    name: "SST-2",
    labels: binary,
    metrics: ["accuracy"],
    train: { texts: [0], label: 1 },
    test: { texts: [1] },
  }),
  paraphrases({ name: "MRPC", train: { texts: [3, 4], label: 0 }, test: { texts: [3, 4] } }),
  define({
    name: "STS-B",
    metrics: ["pearson", "spearman"],
    train: { texts: [7, 8], label: -1 },
    test: { texts: [7, 8] },
  }),
  paraphrases({
    name: "QQP",
    train: { texts: [3, 4], label: 5 },
    test: { texts: [1, 2] },
    skipsBadLines: true,
  }),
  define({
    name: "MNLI",
    labels: inference3,
    metrics: ["accuracy"],
    train: { texts: [8, 9], label: -1 },
    test: { texts: [8, 9] },
    files: {
      train: ["train.tsv"],
      dev: ["dev_matched.tsv"],
      "dev-mismatched": ["dev_mismatched.tsv"],
      test: ["test_matched.tsv"],
      "test-mismatched": ["test_mismatched.tsv"],
    },
    submissions: [
      { task: "MNLI", split: "test", file: "MNLI-m.tsv" },
      { task: "MNLI", split: "test-mismatched", file: "MNLI-mm.tsv" },
      { task: "AX", split: "test", file: "AX.tsv" },
    ],
  }),
  pairs("QNLI", entailment),
  pairs("RTE", entailment),
  pairs("WNLI", binary),
  /** The diagnostic set: nothing to train on; MNLI's model answers it. */
  define({
    name: "AX",
    folders: ["AX", "diagnostic"],
    labels: inference3,
    metrics: ["matthews"],
    train: { texts: [1, 2], label: 3 },
    test: { texts: [1, 2] },
    files: { test: ["AX.tsv", "diagnostic.tsv"] },
  }),
];

/** All tasks by name. */
export const glueTasks: ReadonlyMap<string, GlueTask> = new Map(all.map((task) => [task.name, task]));

/** A task by name, in any case. */
export function glueTask(name: string): GlueTask {
  const found = all.find((task) => task.name.toLowerCase() === name.toLowerCase());
  if (found) return found;
  const names = [...glueTasks.keys()];
  const guess = nearest(name, names);
  const complaint = { who: "glue", needed: `a task of ${names.join(", ")}`, got: name };
  return reject({ ...complaint, ...(guess ? { remedy: `did you mean ${guess}?` } : {}) }, 2);
}

/** A task by name that has examples to learn from. */
export function trainableGlueTask(name: string): GlueTask {
  const task = glueTask(name);
  if (task.files.train) return task;
  const remedy = "fine-tune on MNLI, whose model answers it";
  return reject({ who: task.name, needed: "a task with examples to learn from", got: "a diagnostic set", remedy }, 2);
}

/** Whether a task is one of the benchmark's. */
export const isGlue = (task: TextTask): task is GlueTask => "submissions" in task;
