/** Evaluation of an objective under given weights, batch by batch; models with memory hand theirs from one batch to the next. */

import { checkOptions } from "../base/options.ts";
import { RandomStream } from "../base/random.ts";
import { type Engine, type Feed, feedsFor, type Numbers, ownWeights, type Program } from "../engine/engine.ts";
import { type NoiseInput, simplifyNamed, type Tensor, type Weights } from "../graph/index.ts";
import { feedOf, refuseExtras } from "./buffers.ts";
import { type Batches, checkBatches } from "./evaluate.ts";
import { sizeOf } from "./memory.ts";
import type { Stoppable } from "./session.ts";
import type { Batch } from "./step-options.ts";

/** What is evaluated: a model's objective. */
export interface EvaluationSource {
  readonly loss: Tensor;
  readonly inputs: Readonly<Record<string, Tensor>>;
  /** Other values to look at, by name, such as logits. */
  readonly outputs?: Readonly<Record<string, Tensor>> | undefined;
  /** State that goes from one batch to the next: nothing at first. */
  readonly carried?: readonly { readonly input: Tensor<"input">; readonly output: Tensor }[] | undefined;
  /** Gumbel numbers that the model draws, where its evaluation is to be noisy. */
  readonly noise?: readonly NoiseInput[] | undefined;
}

/** What goes with every batch of an evaluation. */
export interface EvaluationOptions extends Stoppable {
  /** Values that go with every batch, such as a temperature. */
  readonly scalars?: Readonly<Record<string, ArrayLike<number>>> | undefined;
  /** Of the noise. */
  readonly seed?: number | undefined;
}

/** What one batch gave. */
export interface EvaluatedBatch {
  readonly batch: Batch;
  readonly loss: number;
  readonly outputs: Readonly<Record<string, Feed>>;
}

const newName = (name: string) => `new ${name}`;

/** A compiled loss without training, over any batches and weights. */
export class Evaluator {
  readonly #program: Program;
  readonly #source: EvaluationSource;
  /** The inputs that the program asks for: simplification may have found that it does not need some. */
  readonly #asked: readonly (readonly [string, Tensor])[];

  /** `weights` are those of all batches, where they are known: an engine of 8-bit integers makes them part of its program. */
  static async create(engine: Engine, source: EvaluationSource, weights?: Weights): Promise<Evaluator> {
    const state = (source.carried ?? []).map(({ input, output }) => [newName(input.attributes.name), output] as const);
    const outputs = simplifyNamed({ loss: source.loss, ...source.outputs, ...Object.fromEntries(state) });
    return new Evaluator(await engine.compile({ outputs, ...(weights && ownWeights(engine, weights)) }), source);
  }

  private constructor(program: Program, source: EvaluationSource) {
    [this.#program, this.#source] = [program, source];
    this.#asked = Object.entries(feedsFor(program, source.inputs));
  }

  /** The batches in order, from an empty memory on. */
  async *run(weights: Weights, batches: Batches, options: EvaluationOptions = {}): AsyncGenerator<EvaluatedBatch> {
    checkBatches(batches);
    checkOptions("evaluation", options, ["scalars", "seed", "signal"]);
    const { inputs, carried = [], noise = [], outputs = {} } = this.#source;
    const random = new RandomStream(options.seed ?? 1, "noise of evaluation");
    const fixed = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data] as const));
    let memory: Record<string, Numbers> = Object.fromEntries(
      carried.map(({ input }) => [input.attributes.name, new Float32Array(sizeOf(input.shape as number[]))]),
    );
    for (let i = 0; i < batches.count; i++) {
      options.signal?.throwIfAborted();
      const batch = batches.at(i);
      refuseExtras(batch, inputs);
      const draws = noise.map(({ tensor }) => [tensor.attributes.name, gumbel(tensor, random)] as const);
      const data = this.#data({ ...batch, ...options.scalars });
      const feeds = { ...fixed, ...memory, ...Object.fromEntries(draws), ...data };
      const found = await this.#program.run(feedsFor(this.#program, feeds));
      memory = Object.fromEntries(Object.keys(memory).map((name) => [name, found[newName(name)]!.data]));
      const wanted = Object.fromEntries(Object.keys(outputs).map((name) => [name, found[name]!]));
      yield { batch, loss: found.loss!.data[0]!, outputs: wanted };
    }
  }

  /** The loss of each batch. */
  async losses(weights: Weights, batches: Batches, options?: EvaluationOptions): Promise<number[]> {
    const losses: number[] = [];
    for await (const { loss } of this.run(weights, batches, options)) losses.push(loss);
    return losses;
  }

  /** The mean loss over all batches. */
  async meanLoss(weights: Weights, batches: Batches, options?: EvaluationOptions): Promise<number> {
    const losses = await this.losses(weights, batches, options);
    return losses.reduce((a, b) => a + b, 0) / losses.length;
  }

  #data(batch: Batch): Record<string, Feed> {
    return Object.fromEntries(this.#asked.map(([name, tensor]) => [name, feedOf(name, tensor, batch[name])]));
  }

  /** Gives the program back. */
  async release(): Promise<void> {
    await this.#program.release();
  }
}

function gumbel({ shape }: Tensor, random: RandomStream): Float32Array {
  return Float32Array.from({ length: sizeOf(shape as number[]) }, () => -Math.log(-Math.log(1 - random.uniform())));
}
