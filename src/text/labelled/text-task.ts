/** Tasks on labelled texts: one class per text, any number of them, or a number; by name, so that they can be stored. */
import { reject, rejectData } from "../../base/errors.ts";
import { metrics as known, type MetricName } from "./metrics.ts";

/** What is learnt from labelled texts, and how it is scored. */
export interface TextTask {
  readonly name: string;
  /** Names of the classes; null: a number is learnt. */
  readonly labels: readonly string[] | null;
  /** A text has any number of the classes. */
  readonly several?: true;
  /** The first one decides which epoch is best. */
  readonly metrics: readonly MetricName[];
}

/** A text to classify, or a pair of texts. */
export interface PlainText {
  readonly text: string;
  readonly pair?: string | undefined;
}

/** A text with the name of its class, the names of all its classes where it may have several, or its number. */
export interface LabelledText extends PlainText {
  readonly label: string | number | readonly string[];
}

/** A text or two as they are encoded, with the index of the class or the number. */
export interface TextExample {
  readonly texts: readonly [string] | readonly [string, string];
  readonly label: number;
  /** Indices of its classes, where it may have several; `label` is 0 then. */
  readonly classes?: readonly number[];
}

/** A name, and which metrics there are, where the defaults do not serve. */
export interface TaskOptions {
  readonly name?: string | undefined;
  readonly metrics?: readonly MetricName[] | undefined;
}

/** A task whose classes have names. */
export interface LabelOptions extends TaskOptions {
  readonly labels: readonly string[];
}

/** One class per text, out of two or more. Default metric: accuracy. */
export function classification({ labels, name = "classification", metrics = ["accuracy"] }: LabelOptions): TextTask {
  return checked({ name, labels: atLeast(2, name, labels), metrics });
}

/** Any number of classes per text. Default metrics: F1 and accuracy over all pairs of a text and a label. */
export function multiLabel({ labels, name = "multi-label", metrics = ["f1", "accuracy"] }: LabelOptions): TextTask {
  return checked({ name, labels: atLeast(1, name, labels), several: true, metrics });
}

function atLeast(count: 1 | 2, who: string, labels: readonly string[]): string[] {
  if (labels.length >= count && new Set(labels).size === labels.length) return [...labels];
  const needed = `${count === 1 ? "one" : "two"} or more labels, all different`;
  return reject({ who, needed, got: labels.join(", ") || "none" }, 2);
}

/** A number per text. Default metrics: R², which falls as the squared error grows and so decides, and both correlations, which ignore scale. */
export function regression({
  name = "regression",
  metrics = ["r2", "pearson", "spearman"],
}: TaskOptions = {}): TextTask {
  return checked({ name, labels: null, metrics });
}

function checked(task: TextTask): TextTask {
  const unknown = task.metrics.find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined && task.metrics.length > 0) return task;
  return reject({ who: task.name, needed: `metrics of ${Object.keys(known).join(", ")}`, got: unknown ?? "none" }, 2);
}

/** One text or two, in the order they are read. */
export const textsIn = ({ text, pair }: PlainText): TextExample["texts"] =>
  pair === undefined ? [text] : [text, pair];

/** A program's examples with their labels checked; `who` names one of a file in its error, where the file is wrong. */
export function exampleOf(example: LabelledText, task: TextTask, index: number, who?: string): TextExample {
  const { label } = example;
  const { labels } = task;
  const texts = textsIn(example);
  if (task.several) {
    const classes = Array.isArray(label) ? label.map((each: string) => labels!.indexOf(each)) : [-1];
    if (!classes.includes(-1)) return { texts, label: 0, classes };
  } else {
    const value = labels ? labels.indexOf(`${label}`) : label;
    if (typeof value === "number" && (labels ? value >= 0 : Number.isFinite(value))) return { texts, label: value };
  }
  const needed = labels ? `${task.several ? "labels" : "a label"} of ${labels.join(", ")}` : "a number as label";
  const got = JSON.stringify(label) ?? "none";
  return rejectData({ who: who ?? `${task.name}: example ${index}`, needed, got }, who === undefined ? 2 : 1);
}
