/** What speaks against taking the end of a training for a finding: scores that guessing gives too, training that was too short. */
import { scoreText } from "../base/scores.ts";
import type { TextTask } from "../text/labelled/text-task.ts";
import type { Measured } from "../train/events.ts";

/** Training from scratch that is shorter shows that it runs, and little else. */
const FEWEST_UPDATES = 200;
/** About the share of the most frequent piece in an English text: what guessing it everywhere gives. */
const MASKED_CHANCE = 0.06;
/** Correlations within this of 0 are noise on sets of GLUE's size. */
const NO_CORRELATION = 0.03;

/** What a training came to, as far as doubts need it. */
export interface Trained {
  readonly steps: number;
  readonly evaluation?: Measured | undefined;
  /** Of a fine-tuning. */
  readonly task?: TextTask | undefined;
  /** The dev set after each epoch of it; the best one counts. */
  readonly epochs?: readonly { readonly figures: Readonly<Record<string, number>> }[] | undefined;
}

/** Sentences for a person; none where a training was long enough and its scores are better than chance. */
export function trainingDoubts({ steps, evaluation, task, epochs = [] }: Trained): string[] {
  const { scalars = {}, tokens = 0 } = evaluation ?? {};
  if (task) return guessed(task, [scalars, ...epochs.map(({ figures }) => figures)], tokens);
  const { mlm_accuracy: words, sop_accuracy: order } = scalars;
  return [
    ...(words !== undefined && words < MASKED_CHANCE
      ? [`no finding: masked words at ${scoreText(words)} are about what guessing the most frequent piece gives`]
      : []),
    ...(order !== undefined && order < 0.5 + twoErrors(0.5, tokens)
      ? [`no finding: sentence order at ${scoreText(order)} is what guessing gives (50 %)`]
      : []),
    ...(steps < FEWEST_UPDATES ? [`too few updates to tell how good the model is: ${steps}`] : []),
  ];
}

/** Two standard errors of a share, of so many drawn; at least a percent. */
const twoErrors = (share: number, count: number) =>
  Math.max(0.01, 2 * Math.sqrt((share * (1 - share)) / Math.max(1, count)));

type Figures = Readonly<Record<string, number>>;

function guessed({ labels, several, metrics }: TextTask, all: readonly Figures[], texts: number): string[] {
  const decisive = metrics[0]!;
  const scores = all.flatMap((figures) => figures[decisive] ?? []);
  if (scores.length === 0 || several) return [];
  const score = Math.max(...scores);
  if (["matthews", "pearson", "spearman"].includes(decisive)) {
    return score < NO_CORRELATION ? [`no finding: ${decisive} ${scoreText(score)} is what guessing gives (0 %)`] : [];
  }
  const chance = 1 / (labels?.length ?? Number.POSITIVE_INFINITY);
  if (decisive !== "accuracy" || !labels || score >= chance + twoErrors(chance, texts)) return [];
  const of = `${labels.length} classes, ${texts} texts`;
  return [
    `no finding: accuracy ${scoreText(score)} is within chance of what guessing gives, ${scoreText(chance)} (${of})`,
  ];
}
