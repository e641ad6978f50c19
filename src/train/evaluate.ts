/** Evaluation: the mean loss of a split under given weights, as perplexity per piece and per word, and bits per byte. */
import { check, whole } from "../base/options.ts";
import { type Engine, feedsFor, type Numbers, type Port, type Program } from "../engine/engine.ts";
import { simplify, type Tensor, type Weights } from "../graph/index.ts";
import { numbersFor, refuseExtras } from "./buffers.ts";
import type { Figures } from "./events.ts";
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

/** Fails where there is no batch at all. */
export function checkBatches({ count }: Pick<Batches, "count">, who = "batches"): void {
  check(`${who} / count`, count, whole(1));
}

/** The mean loss of batches under any weights of a model. */
export class Evaluator {
  readonly #program: Program;
  readonly #ports: ReadonlyMap<string, Port>;
  /** What a batch may hold. */
  readonly #known: Readonly<Record<string, unknown>>;

  /** `inputs` are those of the objective: a batch may hold them even where the loss has no use for them. */
  static async create(engine: Engine, loss: Tensor, inputs: Readonly<Record<string, Tensor>> = {}): Promise<Evaluator> {
    return new Evaluator(await engine.compile({ outputs: { loss: simplify([loss])[0]! } }), inputs);
  }

  private constructor(program: Program, inputs: Readonly<Record<string, Tensor>>) {
    this.#program = program;
    this.#ports = new Map(program.inputs.map((port) => [port.name, port]));
    this.#known = { ...Object.fromEntries(this.#ports), ...inputs };
  }

  /** Mean loss over all batches. */
  async meanLoss(weights: Weights, batches: Batches, signal?: AbortSignal): Promise<number> {
    checkBatches(batches);
    const named = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
    const fixed = feedsFor(this.#program, named);
    let total = 0;
    for (let i = 0; i < batches.count; i++) {
      signal?.throwIfAborted();
      const { loss } = await this.#program.run({ ...fixed, ...this.#feedsOf(batches.at(i)) });
      total += loss!.data[0]!;
    }
    return total / batches.count;
  }

  #feedsOf(batch: Batch): Record<string, Numbers> {
    refuseExtras(batch, this.#known);
    const asked = Object.entries(batch).filter(([name]) => this.#ports.has(name));
    return Object.fromEntries(
      asked.map(([name, values]) => [name, numbersFor(name, this.#ports.get(name)!.dtype, values)]),
    );
  }

  async release(): Promise<void> {
    await this.#program.release();
  }
}
