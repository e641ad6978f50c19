/** Evaluation of a model on a split of its text. */
import type { Engine } from "../engine/engine.ts";
import type { Split } from "../text/corpus.ts";
import { type Batches, counted, figures, type TextSize, tokensIn } from "../train/evaluate.ts";
import { Evaluator } from "../train/evaluator.ts";
import type { Figures } from "../train/events.ts";
import type { Weights } from "../train/stages.ts";
import type { Trainable } from "../train/train.ts";

/** What is evaluated, and who is told. */
export interface EvaluateOptions {
  /** Default: valid. */
  readonly split?: Split | undefined;
  /** Told how many batches are done, of how many. */
  readonly onBatch?: ((done: number, count: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

/** Loss, perplexity per piece and per word, bits per byte and, where tokens choose it, their mean depth. */
export async function evaluateText(
  engine: Engine,
  model: Trainable,
  weights: Weights,
  { batches, text, onBatch, signal }: EvaluateOptions & { batches: Batches; text: TextSize },
): Promise<Figures & { readonly depth?: number }> {
  const size = { batch: batches.rows ?? 1, length: batches.length ?? 1, training: false };
  const evaluator = await Evaluator.create(engine, { ...model.objective(size), noise: [] }, weights);
  try {
    const [losses, depths]: [number[], number[]] = [[], []];
    for await (const { loss, outputs } of evaluator.run(weights, counted(batches, onBatch), { signal })) {
      losses.push(loss);
      if (outputs.depth) depths.push(outputs.depth.data[0]!);
    }
    const found = figures(mean(losses), batches.count * tokensIn(batches), text);
    return depths.length > 0 ? { ...found, depth: mean(depths) } : found;
  } finally {
    await evaluator.release();
  }
}
