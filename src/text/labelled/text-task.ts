/** Tasks on labelled texts: one class per text, or a number; by name, so that they can be stored. */
import { reject } from "../../base/errors.ts";
import { metrics as known, type MetricName } from "./metrics.ts";

/** What is learnt from labelled texts, and how it is scored. */
export interface TextTask {
  readonly name: string;
  /** Names of the classes; null: a number is learnt. */
  readonly labels: readonly string[] | null;
  /** The first one decides which epoch is best. */
  readonly metrics: readonly MetricName[];
}

/** A text to classify, or a pair of texts. */
export interface PlainText {
  readonly text: string;
  readonly pair?: string | undefined;
}

/** A text with the name of its class, or with its number. */
export interface LabelledText extends PlainText {
  readonly label: string | number;
}

/** A text or two as they are encoded, with the index of the class or the number. */
export interface TextExample {
  readonly texts: readonly [string] | readonly [string, string];
  readonly label: number;
}

/** A name, and which metrics there are, where the defaults do not serve. */
export interface TaskOptions {
  readonly name?: string | undefined;
  readonly metrics?: readonly MetricName[] | undefined;
}

/** One class per text, out of two or more. Default metric: accuracy. */
export function classification({
  labels,
  name = "classification",
  metrics = ["accuracy"],
}: TaskOptions & { readonly labels: readonly string[] }): TextTask {
  if (labels.length < 2 || new Set(labels).size < labels.length) {
    reject({ who: name, needed: "two or more labels, all different", got: labels.join(", ") || "none" }, 2);
  }
  return checked({ name, labels: [...labels], metrics });
}

/** A number per text. Default metrics: Pearson's and Spearman's correlation. */
export function regression({ name = "regression", metrics = ["pearson", "spearman"] }: TaskOptions = {}): TextTask {
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

/** A program's examples with their labels checked. */
export function exampleOf(example: LabelledText, { name, labels }: TextTask, index: number): TextExample {
  const { label } = example;
  const value = labels ? labels.indexOf(`${label}`) : label;
  if (typeof value === "number" && (labels ? value >= 0 : Number.isFinite(value))) {
    return { texts: textsIn(example), label: value };
  }
  const needed = labels ? `a label of ${labels.join(", ")}` : "a number as label";
  return reject({ who: `${name}: example ${index}`, needed, got: JSON.stringify(label) ?? "none" }, 2);
}
