/** Evaluation: the mean loss of a split under given weights, as perplexity per piece and per word, and bits per byte. */
import type { Engine, Program } from "../engine/engine.ts";
import { simplify, type Tensor } from "../graph/index.ts";
import type { Figures } from "./events.ts";
import type { ParameterTensor } from "./memory.ts";
import type { Batch } from "./step.ts";

/** Batches by index: named arrays of numbers, whatever they stand for. */
export interface Batches {
  /** Batches in an epoch. */
  readonly count: number;
  /** What one batch holds of what speed is counted in: predicted pieces of text. Default: its rows. */
  readonly tokens?: number;
  /** Examples in a batch, and places in each, where the model's objective is built for them. */
  readonly rows?: number;
  readonly length?: number;
  /** Every epoch is drawn again: `at` is asked for places counted over all epochs. */
  readonly fresh?: boolean;
  at(index: number): Batch;
}

/** What one batch counts for. */
export const tokensIn = ({ tokens, rows = 1, length = 1 }: Batches): number => tokens ?? rows * length;

/** How much text the pieces of a split stand for. */
export interface TextSize {
  readonly tokens: number;
  readonly words: number;
  readonly bytes: number;
}

/** exp(mean loss) per piece and per word; bits per byte. `tokens` pieces were predicted of a text of the given size. */
export function figures(loss: number, tokens: number, text: TextSize): Figures {
  return {
    loss,
    perplexity: Math.exp(loss),
    perplexityPerWord: Math.exp((loss * text.tokens) / text.words),
    bitsPerByte: (loss * text.tokens) / text.bytes / Math.LN2,
    tokens,
  };
}

export class Evaluator {
  readonly #program: Program;

  static async create(engine: Engine, loss: Tensor): Promise<Evaluator> {
    return new Evaluator(await engine.compile({ outputs: { loss: simplify([loss])[0]! } }));
  }

  private constructor(program: Program) {
    this.#program = program;
  }

  /** Mean loss over all batches. */
  async meanLoss(
    weights: ReadonlyMap<ParameterTensor, Float32Array>,
    batches: Batches,
    signal?: AbortSignal,
  ): Promise<number> {
    const fixed = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
    let total = 0;
    for (let i = 0; i < batches.count; i++) {
      signal?.throwIfAborted();
      const { loss } = await this.#program.run({ ...fixed, ...(batches.at(i) as Record<string, Int32Array>) });
      total += loss!.data[0]!;
    }
    return total / batches.count;
  }

  async release(): Promise<void> {
    await this.#program.release();
  }
}
