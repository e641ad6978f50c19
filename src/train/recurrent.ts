/** Evaluation of models with memory: batches in order, what one leaves handed to the next. */
import { RandomStream } from "../base/random.ts";
import { type Engine, feedsFor, type Numbers, type Program } from "../engine/engine.ts";
import { type NoiseInput, simplify, type Tensor, type Weights } from "../graph/index.ts";
import { feedOf, refuseExtras } from "./buffers.ts";
import { type Batches, checkBatches } from "./evaluate.ts";
import { sizeOf } from "./memory.ts";
import type { Batch } from "./step.ts";

export interface RecurrentSource {
  readonly loss: Tensor;
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly carried: readonly { readonly input: Tensor<"input">; readonly output: Tensor }[];
  /** Gumbel numbers that the model draws, where its evaluation is to be noisy. */
  readonly noise?: readonly NoiseInput[];
}

const newName = (name: string) => `new ${name}`;

export class RecurrentEvaluator {
  readonly #program: Program;
  readonly #source: RecurrentSource;

  static async create(engine: Engine, source: RecurrentSource): Promise<RecurrentEvaluator> {
    const names = source.carried.map(({ input }) => newName(input.attributes.name));
    const [loss, ...state] = simplify([source.loss, ...source.carried.map(({ output }) => output)]);
    const outputs = { loss: loss!, ...Object.fromEntries(names.map((name, i) => [name, state[i]!])) };
    return new RecurrentEvaluator(await engine.compile({ outputs }), source);
  }

  private constructor(program: Program, source: RecurrentSource) {
    this.#program = program;
    this.#source = source;
  }

  /** The loss of each batch, in order, from an empty memory on. `scalars` go with every batch; noise is drawn from the seed. */
  async losses(
    weights: Weights,
    batches: Batches,
    scalars: Readonly<Record<string, ArrayLike<number>>> = {},
    seed = 1,
  ): Promise<number[]> {
    checkBatches(batches);
    const { inputs, carried, noise = [] } = this.#source;
    const random = new RandomStream(seed, "noise of evaluation");
    const asked = Object.entries(feedsFor(this.#program, inputs));
    const fixed = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
    let memory: Record<string, Numbers> = Object.fromEntries(
      carried.map(({ input }) => [input.attributes.name, new Float32Array(sizeOf(input.shape as number[]))]),
    );
    const losses: number[] = [];
    for (let i = 0; i < batches.count; i++) {
      const own = batches.at(i);
      refuseExtras(own, inputs);
      const batch: Batch = { ...own, ...scalars };
      const data = asked.map(([name, tensor]) => [name, feedOf(name, tensor, batch[name])] as const);
      const draws = noise.map(({ tensor }) => [tensor.attributes.name, gumbel(tensor, random)] as const);
      const all = { ...fixed, ...memory, ...Object.fromEntries(draws), ...Object.fromEntries(data) };
      const results = await this.#program.run(feedsFor(this.#program, all));
      memory = Object.fromEntries(Object.keys(memory).map((name) => [name, results[newName(name)]!.data]));
      losses.push(results.loss!.data[0]!);
    }
    return losses;
  }

  async release(): Promise<void> {
    await this.#program.release();
  }
}

function gumbel({ shape }: Tensor, random: RandomStream): Float32Array {
  return Float32Array.from({ length: sizeOf(shape as number[]) }, () => -Math.log(-Math.log(1 - random.uniform())));
}
