/** Continuing a text with a PAR Transformer-XL: token by token, out of the memory. */
import { reject } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import type { Evaluation } from "../../depth/searched.ts";
import type { Engine, Numbers, Program } from "../../engine/engine.ts";
import { input, simplify } from "../../graph/index.ts";
import { inference } from "../../nn/index.ts";
import type { GenerationOptions } from "../language/generation.ts";
import type { Weights } from "../language/language.ts";
import { checkSampling, sample } from "../sampling.ts";
import type { Carried, ParModel } from "./par.ts";

export interface ParGenerationOptions extends GenerationOptions {
  /** Steps of memory; more than in training reaches further back. Default: the model's. */
  memory?: number | undefined;
  /** How blocks that a search has not decided are mixed. Default: mean. */
  evaluation?: Evaluation | undefined;
}

const newName = ({ input }: Carried) => `new ${input.attributes.name}`;

/** Reads one token at a time; each depth remembers its last inputs. */
export class ParDecoder {
  readonly #program: Program;
  readonly #carried: readonly Carried[];
  readonly #memory: number;
  #state: Record<string, Numbers>;
  #read = 0;

  static async create(
    engine: Engine,
    model: ParModel,
    weights: Weights,
    { memory = model.options.memory, evaluation }: Pick<ParGenerationOptions, "memory" | "evaluation"> = {},
  ): Promise<ParDecoder> {
    const shape = { batch: 1, length: 1, memory };
    const { hidden, carried } = model.segment(input("ids", [1, 1], "int"), shape, inference, evaluation);
    const [logs, ...state] = simplify([model.words.logProbabilities(hidden), ...carried.map(({ output }) => output)]);
    const outputs = { logs: logs!, ...Object.fromEntries(carried.map((each, i) => [newName(each), state[i]!])) };
    return new ParDecoder(await engine.compile({ outputs, weights }), carried, memory, model.options.width);
  }

  private constructor(program: Program, carried: readonly Carried[], memory: number, width: number) {
    this.#program = program;
    this.#carried = carried;
    this.#memory = memory;
    this.#state = Object.fromEntries(
      carried.map(({ input }) => [input.attributes.name, new Float32Array(memory * width)]),
    );
  }

  /** Log-probabilities of all words after one more token. */
  async read(id: number): Promise<Float32Array> {
    const missing = Int32Array.of(Math.max(0, this.#memory - this.#read++));
    const feeds = { ids: Int32Array.of(id), ...(this.#carried.length > 0 ? { missing } : {}), ...this.#state };
    const wanted = new Set(this.#program.inputs.map(({ name }) => name));
    const taken = Object.entries(feeds).filter(([name]) => wanted.has(name));
    const results = await this.#program.run(Object.fromEntries(taken));
    this.#state = Object.fromEntries(
      this.#carried.map((each) => [each.input.attributes.name, results[newName(each)]!.data.slice()]),
    );
    return Float32Array.from(results.logs!.data);
  }

  async release(): Promise<void> {
    await this.#program.release();
  }
}

/** Tokens after the prompt, one by one. */
export async function* generateFromMemory(
  engine: Engine,
  model: ParModel,
  weights: Weights,
  options: ParGenerationOptions,
): AsyncGenerator<number, void, void> {
  const { prompt, maxTokens, seed = 1, stop = [], signal } = options;
  checkSampling(options);
  if (prompt.length === 0) reject({ who: "prompt", needed: "at least one token", got: "none" }, 2);
  const random = new RandomStream(seed, "generation");
  const decoder = await ParDecoder.create(engine, model, weights, options);
  try {
    let logs: Float32Array = new Float32Array();
    for (let i = 0; i < prompt.length; i++) logs = await decoder.read(prompt[i]!);
    for (let made = 0; made < maxTokens; made++) {
      signal?.throwIfAborted();
      const id = sample(logs, options, random);
      if (stop.includes(id)) return;
      yield id;
      if (made + 1 < maxTokens) logs = await decoder.read(id);
    }
  } finally {
    await decoder.release();
  }
}
