/** Reading a text with a PAR Transformer-XL: token by token, out of the memory. */
import type { Evaluation } from "../../depth/searched.ts";
import type { Engine, Numbers, Program } from "../../engine/engine.ts";
import { type Dim, input, simplify, type Tensor } from "../../graph/index.ts";
import { inference, type Mode, type Parameter, type SegmentContext, type WordDistribution } from "../../nn/index.ts";
import { checkedIds, type Decoder } from "../causal.ts";
import { boundWeights, type Weights } from "../weights.ts";

/** What a decoder of a model with memory may be told. */
export interface MemoryReading {
  /** Steps of memory; more than in training reaches further back. Default: the model's. */
  memory?: number | undefined;
  /** How blocks that a search has not decided are mixed. Default: mean. */
  evaluation?: Evaluation | undefined;
}

/** State that goes from one run to the next: what the output gives, the input takes. */
export interface Carried {
  readonly input: Tensor<"input">;
  readonly output: Tensor;
}

/** What the decoder asks of a model. */
export interface ReadableNetwork {
  readonly parameters: readonly Parameter[];
  readonly words: Pick<WordDistribution, "logProbabilities">;
  readonly options: { readonly vocabulary: number; readonly width: number; readonly memory: number };
  segment(
    ids: Tensor,
    shape: { batch: Dim; length: number; memory: number },
    mode: Mode,
    evaluation?: Evaluation,
    newCache?: SegmentContext["newCache"],
  ): { readonly hidden: Tensor; readonly carried: readonly Carried[] };
}

export const newName = ({ input }: Carried) => `new ${input.attributes.name}`;

/** Reads one token at a time; each depth remembers its last inputs. */
export class ParDecoder implements Decoder {
  readonly #program: Program;
  readonly #carried: readonly Carried[];
  readonly #memory: number;
  readonly #options: ReadableNetwork["options"];
  #state: Readonly<Record<string, Numbers>> = {};
  #position = 0;

  static async create(
    engine: Engine,
    model: ReadableNetwork,
    weights: Weights,
    { memory = model.options.memory, evaluation }: MemoryReading = {},
  ): Promise<ParDecoder> {
    const shape = { batch: 1, length: 1, memory };
    const { hidden, carried } = model.segment(input("ids", [1, 1], "int"), shape, inference, evaluation);
    const [logs, ...state] = simplify([model.words.logProbabilities(hidden), ...carried.map(({ output }) => output)]);
    const outputs = { logs: logs!, ...Object.fromEntries(carried.map((each, i) => [newName(each), state[i]!])) };
    const program = await engine.compile({ outputs, weights: boundWeights(model, weights) });
    return new ParDecoder(program, carried, memory, model.options);
  }

  private constructor(
    program: Program,
    carried: readonly Carried[],
    memory: number,
    options: ReadableNetwork["options"],
  ) {
    this.#program = program;
    this.#carried = carried;
    this.#memory = memory;
    this.#options = options;
    this.clear();
  }

  get remembered(): number {
    return Math.min(this.#position, this.#memory);
  }

  clear(): void {
    const empty = () => new Float32Array(this.#memory * this.#options.width);
    this.#state = Object.fromEntries(this.#carried.map(({ input }) => [input.attributes.name, empty()]));
    this.#position = 0;
  }

  /** Log-probabilities of all words after the last of the tokens. */
  async read(ids: ArrayLike<number>): Promise<Float32Array> {
    let logs: Float32Array = new Float32Array();
    for (const id of checkedIds(ids, this.#options.vocabulary)) logs = await this.#readOne(id);
    return logs;
  }

  async #readOne(id: number): Promise<Float32Array> {
    const missing = Int32Array.of(Math.max(0, this.#memory - this.#position++));
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
