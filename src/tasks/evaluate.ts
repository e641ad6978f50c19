/** Evaluation of a model on a split of its text. */
import { formatNumber } from "../base/table.ts";
import type { Engine } from "../engine/engine.ts";
import type { Split } from "../text/corpus.ts";
import { type Batches, counted, figures, firstTokens, regrouped, type TextSize, tokensIn } from "../train/evaluate.ts";
import { Evaluator } from "../train/evaluator.ts";
import type { Figures } from "../train/events.ts";
import type { Trainable } from "../train/objective.ts";
import type { Weights } from "../train/stages.ts";
import type { Fact } from "./job.ts";

/** What is evaluated, and who is told. */
export interface EvaluateOptions {
  /** Default: valid. */
  readonly split?: Split | undefined;
  /** Told how many batches are done, of how many. */
  readonly onBatch?: ((done: number, count: number) => void) | undefined;
  /** Most tokens to evaluate on, from the first batch on; 0: all. Default: as the run does. */
  readonly evaluateTokens?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The batches of an evaluation as far as its tokens go, and a remark where that is not all. */
export function evaluatedPart(batches: Batches, most: number, split: Split): { batches: Batches; remark?: string } {
  const first = firstTokens(batches, most);
  if (first === batches) return { batches };
  const [part, all] = [first, batches].map((each) => formatNumber(each.count * tokensIn(each)));
  return { batches: first, remark: `${part} of the ${split} split's ${all} tokens (all with --evaluate-tokens 0)` };
}

/** Tokens of a batch at which evaluation is fastest: with fewer, products are thin; with many more, logits leave the processor's cache. */
const FASTEST_TOKENS = 1024;

/**
 * The same texts in batches of `asked` rows, or as near as their number divides; 0: as they are. By default those that evaluate fastest:
 * as they are where they have half to twice as many tokens. Only for models that read every row by itself.
 */
export function evaluationBatches(batches: Batches, asked: number | null): Batches {
  const { count, rows = 1, length = 1 } = batches;
  const share = (rows * length) / FASTEST_TOKENS;
  if (asked === 0 || (asked === null && share >= 0.5 && share <= 2)) return batches;
  const best = nearestDivisor(count * rows, asked ?? FASTEST_TOKENS / length);
  return best === rows ? batches : regrouped(batches, best);
}

/** The divisor of a number with the smallest ratio to what is wanted. */
function nearestDivisor(number: number, wanted: number): number {
  const ratio = (divisor: number) => Math.abs(Math.log(divisor / wanted));
  let best = 1;
  for (let i = 1; i * i <= number; i++) {
    if (number % i !== 0) continue;
    for (const divisor of [i, number / i]) if (ratio(divisor) < ratio(best)) best = divisor;
  }
  return best;
}

/** A row of a description on which part of a split evaluations see, where it is not all. */
export const evaluatedFact = ({ remark }: { readonly remark?: string }): Fact[] =>
  remark === undefined ? [] : [{ what: "evaluated on", value: remark }];

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

const depthNames = ["depth", "encoderDepth", "decoderDepth"] as const;

/** Mean depth of tokens, where they choose it; of translation that of each side. */
export type MeanDepths = { readonly [name in (typeof depthNames)[number]]?: number };

/** Loss, perplexity per piece and per word, bits per byte and, where tokens choose it, their mean depth. */
export async function evaluateText(
  engine: Engine,
  model: Trainable,
  weights: Weights,
  {
    batches,
    text,
    onBatch,
    signal,
  }: Pick<EvaluateOptions, "onBatch" | "signal"> & { batches: Batches; text: TextSize },
): Promise<Figures & MeanDepths> {
  const size = { batch: batches.rows ?? 1, length: batches.length ?? 1, training: false };
  const evaluator = await Evaluator.create(engine, { ...model.objective(size), noise: [] }, weights);
  try {
    const losses: number[] = [];
    const depths = new Map<string, number[]>();
    for await (const { loss, outputs } of evaluator.run(weights, counted(batches, onBatch), { signal })) {
      losses.push(loss);
      for (const name of depthNames) {
        const known = depths.get(name) ?? [];
        if (outputs[name]) depths.set(name, known).get(name)!.push(outputs[name].data[0]!);
      }
    }
    const found = figures(mean(losses), batches.count * tokensIn(batches), text);
    return { ...found, ...Object.fromEntries([...depths].map(([name, values]) => [name, mean(values)])) };
  } finally {
    await evaluator.release();
  }
}
