/** A fine-tuned model at work: scores of texts in batches of one length, and what they say about a task. */
import { type Engine, feedsFor, ownWeights, type Program } from "../../engine/engine.ts";
import { add, multiply, simplifyNamed, type Tensor } from "../../graph/index.ts";
import type { DescribedAlbert } from "../../model/albert/description.ts";
import { albertObjective, textInputs } from "../../model/albert/heads.ts";
import { inference, type Parameter } from "../../nn/index.ts";
import { type EncodedExample, evaluationBatches, layOut } from "../../text/labelled/glue-batches.ts";
import { figuresOf } from "../../text/labelled/metrics.ts";
import type { TextTask } from "../../text/labelled/text-task.ts";
import type { Weights } from "../../train/stages.ts";

/** Name of the length that differs from batch to batch: one program serves all of them. */
export const LENGTH = "T";
/** Texts of a batch that is only evaluated. */
const ROWS = 32;

/** What a model says about examples. */
export interface Scored {
  /** [examples, classes], or one number each. */
  readonly scores: Float32Array;
  readonly classes: number;
  /** Mean depth of real tokens, where tokens halt by themselves. */
  readonly depth: number | undefined;
  /** The same of each token of each example. */
  readonly depths: readonly Float32Array[] | undefined;
}

/** How a model is compiled to score texts. */
export interface ClassifierOptions {
  /** Texts per batch. Default: 32. */
  readonly batch?: number | undefined;
  /** Deepest depth, where tokens halt. Default: the model's. */
  readonly cap?: number | undefined;
  /** Leaves out what halted tokens would compute. Default: off, as in training. */
  readonly skips?: boolean | undefined;
  /** The weights of all texts, where they do not change. */
  readonly weights?: Weights | undefined;
}

/** The training objective for batches of any length. */
export const finetuneObjective = ({ model, heads }: DescribedAlbert, batch: number) => ({
  ...albertObjective(model, Object.values(heads), { batch, length: LENGTH, training: true }),
  sizes: { [LENGTH]: model.options.length },
});

/** Weights of another instance of the same model, for this one. */
function underNamesOf(parameters: readonly Parameter[], weights: Weights): Weights {
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
    { batch = ROWS, cap, skips = false, weights }: ClassifierOptions = {},
  ): Promise<Classifier> {
    const texts = textInputs({ batch, length: LENGTH });
    const inputs = cap === undefined ? texts : { ...texts, caps: add(multiply(texts.ids, 0), cap) };
    const encoded = skips ? model.encodeRunning(inputs) : model.encode(inputs);
    const { classes } = heads.classification!.logits(encoded, {}, inference);
    const { updates } = encoded.probes;
    const outputs: Record<string, Tensor> = { classes: classes!, ...(updates ? { updates } : {}) };
    const own = weights && ownWeights(engine, underNamesOf(parameters, weights));
    const program = await engine.compile({ outputs: simplifyNamed(outputs), takesTurns: true, ...own });
    return new Classifier(program, model.options.length, batch);
  }

  private constructor(program: Program, most: number, rows: number) {
    [this.#program, this.#most, this.#rows] = [program, most, rows];
  }

  /** Scores of all examples, in their order. */
  async score(
    weights: Weights,
    examples: readonly EncodedExample[],
    { pad, onBatch }: { pad: number; onBatch?: (done: number) => void },
  ): Promise<Scored> {
    const named = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
    const fixed = feedsFor(this.#program, named);
    let [scores, classes, depth, tokens] = [new Float32Array(), 1, 0, 0];
    const depths: Float32Array[] = [];
    const rows = this.#rows;
    for (const [done, places] of evaluationBatches(examples, rows).entries()) {
      onBatch?.(done * rows);
      const taken = places.map((place) => examples[place]!);
      const { ids, mask, types, length } = layOut(taken, { rows, length: this.#most, pad, regression: false });
      const shaped = (data: Int32Array) => ({ data, shape: [rows, length] });
      const found = await this.#program.run({ ...fixed, ids: shaped(ids), mask: shaped(mask), types: shaped(types) });
      classes = found.classes!.shape[1]!;
      if (scores.length === 0) scores = new Float32Array(examples.length * classes);
      for (const [row, place] of places.entries()) {
        scores.set(found.classes!.data.subarray(row * classes, (row + 1) * classes), place * classes);
        const own = found.updates?.data.slice(row * length, row * length + taken[row]!.ids.length);
        if (own) depths[place] = own as Float32Array;
      }
      // Rows that only fill the batch repeat the last text and do not count.
      const used = found.updates?.data.subarray(0, places.length * length) ?? [];
      depth += Array.from(used).reduce((a, b) => a + b, 0);
      tokens += taken.reduce((total, each) => total + each.ids.length, 0);
    }
    const halts = depth > 0;
    return { scores, classes, depth: halts ? depth / tokens : undefined, depths: halts ? depths : undefined };
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
