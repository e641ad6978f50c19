/** What a fine-tuned model says about texts: labels with their probabilities or numbers, and how deep each token ran. */
import { reject } from "../../base/errors.ts";
import { LARGEST } from "../../base/limits.ts";
import { check, number, whole } from "../../base/options.ts";
import type { Engine } from "../../engine/engine.ts";
import { type AlbertDescription, type DescribedAlbert, describedAlbert } from "../../model/albert/description.ts";
import { type EncodedExample, encodeGlue } from "../../text/labelled/glue-batches.ts";
import { type PlainText, type TextExample, type TextTask, textsIn } from "../../text/labelled/text-task.ts";
import { specialIds } from "../../text/masked/documents.ts";
import type { OpenTokenizer } from "../../text/tokenizer.ts";
import type { Weights } from "../../train/stages.ts";
import { Classifier, type ClassifierOptions, guessesOf, type Scored } from "./classifier.ts";
import { capFed, checkEarlyExit, type EarlyExit, earlyDescription, exitsEarly } from "./early-exit.ts";

/** What is said about one text. */
export interface Prediction {
  /** The name of the likeliest class, the names of all that are likely enough where a text may have several, or the number. */
  readonly label: string | number | readonly string[];
  /** Probabilities by class, each for itself where a text may have several; none where the label is a number. */
  readonly scores: Readonly<Record<string, number>>;
  /** How many iterations each token took, where tokens halt by themselves. */
  readonly depths: readonly { readonly piece: string; readonly depth: number }[] | undefined;
}

/** A fine-tuned model. */
export interface Tuned {
  readonly engine: Engine;
  readonly description: AlbertDescription;
  readonly described: DescribedAlbert;
  readonly weights: Weights;
  readonly tokenizer: OpenTokenizer;
  /** Longest text in pieces. */
  readonly length: number;
}

/** How texts are scored, and who is told how far it is. */
export interface ScoringOptions extends Pick<ClassifierOptions, "batch">, EarlyExit {
  /** Told how many texts are done, of how many. */
  readonly onText?: ((done: number, count: number) => void) | undefined;
}

/** A model compiled to score texts; where it exits early, what halted tokens would compute is left out. */
export async function classifierFor(
  { engine, description, weights, length }: Tuned,
  { batch, ...exit }: Omit<ScoringOptions, "onText">,
): Promise<Classifier> {
  checkEarlyExit(description.model, exit, "predict");
  const used = describedAlbert(earlyDescription(description, exit));
  return Classifier.create(engine, used, {
    batch,
    length,
    cap: capFed(description.model, exit),
    skips: exitsEarly(exit),
    weights,
  });
}

/** Scores of examples, in their order. */
export async function scoresOf(
  tuned: Tuned,
  examples: readonly TextExample[],
  { onText, ...how }: ScoringOptions = {},
): Promise<Scored & { readonly encoded: readonly EncodedExample[] }> {
  const { tokenizer } = tuned.tokenizer;
  const encoded = encodeGlue(examples, tokenizer, tuned.length);
  const classifier = await classifierFor(tuned, how);
  try {
    const onBatch = (done: number) => onText?.(done, encoded.length);
    const { pad } = specialIds(tokenizer);
    return { encoded, ...(await classifier.score(tuned.weights, encoded, { pad, onBatch })) };
  } finally {
    await classifier.release();
  }
}

/** How texts are scored, and from where on a label counts. */
export interface PredictOptions extends ScoringOptions {
  /** Where a text may have several labels: it has those of at least this probability. Default: 0.5. */
  readonly labelThreshold?: number | undefined;
}

/** Labels, scores and depths of texts. */
export async function predictTexts(
  tuned: Tuned,
  task: TextTask,
  texts: readonly (string | PlainText)[],
  options: PredictOptions = {},
): Promise<Prediction[]> {
  checkPredicting(task, options);
  if (texts.length === 0) return [];
  const examples = texts.map((each) => ({
    texts: typeof each === "string" ? ([each] as const) : textsIn(each),
    label: 0,
  }));
  const { encoded, ...scored } = await scoresOf(tuned, examples, options);
  const { tokenizer } = tuned.tokenizer;
  return encoded.map((_, i) => {
    const row = scored.scores.subarray(i * scored.classes, (i + 1) * scored.classes);
    const depths = scored.depths?.[i];
    return {
      ...judged(row, task, options.labelThreshold),
      depths: depths && Array.from(depths, (depth, k) => ({ piece: tokenizer.pieceOf(encoded[i]!.ids[k]!), depth })),
    };
  });
}

function checkPredicting({ name, several }: TextTask, { batch, labelThreshold }: PredictOptions): void {
  if (batch !== undefined) check("predict / batch", batch, whole(1, LARGEST.batch));
  if (labelThreshold === undefined) return;
  check("predict / labelThreshold", labelThreshold, number({ from: 0, to: 1 }));
  const needed = "a task with several labels per text for a threshold of labels";
  if (!several) reject({ who: "predict", needed, got: name, remedy: "leave it out" }, 2);
}

/** What the scores of a text say. */
function judged(row: Float32Array, task: TextTask, threshold = 0.5): Pick<Prediction, "label" | "scores"> {
  const { labels, several } = task;
  if (!labels) return { label: row[0]!, scores: {} };
  if (!several) {
    const [guess] = guessesOf({ scores: row, classes: row.length }, task);
    return { label: labels[guess!]!, scores: probabilities(row, labels) };
  }
  const scores = Object.fromEntries(labels.map((label, i) => [label, 1 / (1 + Math.exp(-row[i]!))]));
  return { label: labels.filter((label) => scores[label]! >= threshold), scores };
}

function probabilities(scores: Float32Array, labels: readonly string[]): Record<string, number> {
  const most = Math.max(...scores);
  const powers = Array.from(scores, (score) => Math.exp(score - most));
  const total = powers.reduce((a, b) => a + b, 0);
  return Object.fromEntries(labels.map((label, i) => [label, powers[i]! / total]));
}
