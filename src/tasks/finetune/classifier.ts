/** A fine-tuned model at work: scores of texts in batches of one length, and what they say about a task. */
import { type Engine, type Feeds, feedsFor, ownWeights, type Program } from "../../engine/engine.ts";
import { add, multiply, simplifyNamed, type Tensor } from "../../graph/index.ts";
import type { DescribedAlbert } from "../../model/albert/description.ts";
import { albertObjective, pooling, textInputs } from "../../model/albert/heads.ts";
import { encodeRunning } from "../../model/albert/running.ts";
import { inference, type Parameter } from "../../nn/index.ts";
import { type EncodedExample, evaluationBatches } from "../../text/labelled/glue-batches.ts";
import { figuresOf } from "../../text/labelled/metrics.ts";
import type { TextTask } from "../../text/labelled/text-task.ts";
import type { Weights } from "../../train/stages.ts";
import { type Scored, Scoring } from "./scoring.ts";

export type { Scored } from "./scoring.ts";

/** Name of the length that differs from batch to batch: one program serves all of them. */
export const LENGTH = "T";
/** Texts of a batch that is only evaluated, and their tokens: attention between all of 1,024 takes memory. */
const MOST = { texts: 32, tokens: 8192 };
const rowsFor = (length: number) => Math.max(1, Math.min(MOST.texts, Math.floor(MOST.tokens / length)));

/** How a model is compiled to score texts. */
export interface ClassifierOptions {
  /** Texts per batch. Default: 32, fewer where texts have more than 256 tokens. */
  readonly batch?: number | undefined;
  /** Tokens of the longest text. Default: the model's. */
  readonly length?: number | undefined;
  /** Deepest depth, where tokens halt. Default: the model's. */
  readonly cap?: number | undefined;
  /** Leaves out what halted tokens would compute. Default: off, as in training. */
  readonly skips?: boolean | undefined;
  /** Instead of scores the vectors that a head with this pooling would classify. */
  readonly vectors?: keyof typeof pooling | undefined;
  /** The weights of all texts, where they do not change. */
  readonly weights?: Weights | undefined;
}

/** The training objective for batches of any length, where texts are `capped` with a deepest depth each. */
export const finetuneObjective = ({ model, heads }: DescribedAlbert, batch: number, capped = false) => ({
  ...albertObjective(model, Object.values(heads), { batch, length: LENGTH, training: true, capped }),
  sizes: { [LENGTH]: model.options.length },
});

/** Weights of another instance of the same model, for this one. */
export function underNamesOf(parameters: readonly Parameter[], weights: Weights): Weights {
  const named = new Map([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
  return new Map(parameters.map(({ name, tensor }) => [tensor, named.get(name)!]));
}

/** A compiled model that scores texts of any length. */
export class Classifier {
  readonly #program: Program;
  readonly #most: number;
  readonly #rows: number;

  static async create(
    engine: Engine,
    { model, heads, parameters }: DescribedAlbert,
    { length = model.options.length, cap, skips = false, vectors, weights, ...options }: ClassifierOptions = {},
  ): Promise<Classifier> {
    const { batch = rowsFor(length) } = options;
    const texts = textInputs({ batch, length: LENGTH });
    const inputs = cap === undefined ? texts : { ...texts, caps: add(multiply(texts.ids, 0), cap) };
    const encoded = skips ? encodeRunning(model, inputs) : model.encode(inputs);
    const classes = vectors
      ? pooling[vectors](encoded, model)
      : heads.classification!.logits(encoded, {}, inference).classes!;
    const { updates } = encoded.probes;
    const outputs: Record<string, Tensor> = { classes, ...(updates ? { updates } : {}) };
    const own = weights && ownWeights(engine, underNamesOf(parameters, weights));
    const program = await engine.compile({ outputs: simplifyNamed(outputs), takesTurns: true, ...own });
    return new Classifier(program, model.options.length, batch);
  }

  private constructor(program: Program, most: number, rows: number) {
    [this.#program, this.#most, this.#rows] = [program, most, rows];
  }

  /** The program with these weights, ready to score examples batch by batch. */
  scoring(weights: Weights, examples: readonly EncodedExample[], pad: number): Scoring {
    const named = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
    const fixed = feedsFor(this.#program, named);
    const run = (feeds: Feeds) => this.#program.run({ ...fixed, ...feeds });
    return new Scoring({ run, rows: this.#rows, length: this.#most, pad }, examples);
  }

  /** The places of examples, batch by batch. */
  batches(examples: readonly EncodedExample[]): number[][] {
    return evaluationBatches(examples, this.#rows);
  }

  /** Scores of all examples, in their order. */
  async score(
    weights: Weights,
    examples: readonly EncodedExample[],
    { pad, onBatch }: { pad: number; onBatch?: (done: number) => void },
  ): Promise<Scored> {
    const scoring = this.scoring(weights, examples, pad);
    for (const [done, places] of this.batches(examples).entries()) {
      onBatch?.(done * this.#rows);
      await scoring.take(places);
    }
    return scoring.scored;
  }

  async release(): Promise<void> {
    await this.#program.release();
  }
}

/** The likeliest class of each text, or the number itself; with several classes per text 0 or 1 for each, text after text. */
export function guessesOf(
  { scores, classes }: Pick<Scored, "scores" | "classes">,
  { labels, several }: TextTask,
): Float64Array {
  if (several) return Float64Array.from(scores, (score) => Number(score > 0));
  if (!labels) return Float64Array.from(scores);
  return Float64Array.from({ length: scores.length / classes }, (_, i) => {
    const row = scores.subarray(i * classes, (i + 1) * classes);
    return row.indexOf(Math.max(...row));
  });
}

/** Mean cross-entropy of the labels (with several, of each of them as `labels` has 0 or 1 for it), or mean squared error. */
export function lossOf(
  { scores, classes }: Pick<Scored, "scores" | "classes">,
  labels: ArrayLike<number>,
  { labels: names, several }: TextTask,
): number {
  const each = Array.from(labels, (label, i) => {
    if (several) return Math.max(scores[i]!, 0) - scores[i]! * label + Math.log1p(Math.exp(-Math.abs(scores[i]!)));
    if (!names) return (scores[i]! - label) ** 2;
    const row = [...scores.subarray(i * classes, (i + 1) * classes)];
    const most = Math.max(...row);
    return most + Math.log(row.reduce((total, x) => total + Math.exp(x - most), 0)) - row[label]!;
  });
  return each.reduce((a, b) => a + b, 0) / each.length;
}

/** What scores say about a task: the loss, its metrics and the mean depth. */
export function taskFigures(
  task: TextTask,
  scored: Omit<Scored, "depths">,
  examples: readonly Pick<EncodedExample, "label" | "classes">[],
) {
  const labels = examples.flatMap(({ label, classes = [] }) =>
    task.several ? task.labels!.map((_, i) => Number(classes.includes(i))) : label,
  );
  const figures = figuresOf(task.metrics, labels, guessesOf(scored, task));
  return {
    loss: lossOf(scored, labels, task),
    figures: { ...figures, ...(scored.depth === undefined ? {} : { depth: scored.depth }) } as Record<string, number>,
  };
}
