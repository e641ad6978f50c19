/** Continuing a text token by token: a decoder that keeps keys and values, and the generator that samples from it. */
import { reject } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import type { Engine, Program } from "../../engine/engine.ts";
import { concat, type Dim, input, reshape, simplify, type Tensor } from "../../graph/index.ts";
import { checkSampling, type SamplingOptions, sample } from "../sampling.ts";
import { boundWeights, type Extension, type LanguageModel, type Weights } from "./language.ts";

/**
 * Fewer tokens than this are read one by one. The program that reads many at once takes as long to compile as fifty single tokens,
 * and almost nothing afterwards. One number for all calls, so that equal texts give equal bits whatever was read before.
 */
const READ_AT_ONCE = 32;

export interface GenerationOptions extends SamplingOptions {
  /** Ids of the text to continue; at least one. */
  prompt: ArrayLike<number>;
  /** Tokens to generate at most. */
  maxTokens: number;
  seed?: number;
  /** Tokens that end the text; they are not given out. */
  stop?: readonly number[];
  /** Ends generation by throwing its reason. */
  signal?: AbortSignal;
}

/**
 * Reads a text and tells the logits after its last token, batch 1. Keys and values of each executed depth lie in one array each, token
 * after token, so that what was read is a longer view of the same memory: nothing is copied to append.
 *
 * Learned positions end at the model's `length`. A text that grows beyond it is read anew from its last `length / 2` tokens, so
 * that it can go on; what was before is forgotten.
 */
export class Decoder {
  readonly model: LanguageModel;
  readonly #engine: Engine;
  readonly #weights: ReadonlyMap<Tensor, Float32Array>;
  /** Keys and values in turn, depth by depth: [length, C] each. */
  readonly #memory: readonly Float32Array[];
  readonly #step: Program;
  #reader: Program | undefined;
  #text: number[] = [];

  static async create(engine: Engine, model: LanguageModel, weights: Weights): Promise<Decoder> {
    const bound = boundWeights(model, weights);
    const step = await engine.compile({ outputs: stepOutputs(model), weights: bound });
    return new Decoder(engine, model, bound, step);
  }

  private constructor(engine: Engine, model: LanguageModel, weights: ReadonlyMap<Tensor, Float32Array>, step: Program) {
    const { plan, length, width } = model.options;
    this.model = model;
    this.#engine = engine;
    this.#weights = weights;
    this.#step = step;
    this.#memory = plan.flatMap(() => [new Float32Array(length * width), new Float32Array(length * width)]);
  }

  /** How many tokens the cache holds. */
  get position(): number {
    return this.#text.length;
  }

  /** Forgets the text. */
  clear(): void {
    this.#text = [];
  }

  /** Appends tokens to the text; gives the logits [V] after the last, valid until the next call. */
  async read(ids: ArrayLike<number>): Promise<Float32Array> {
    const { length } = this.model.options;
    let tokens = this.#checked(ids);
    if (this.position + tokens.length > length) {
      tokens = [...this.#text, ...tokens].slice(-Math.max(1, Math.floor(length / 2)));
      this.clear();
    }
    if (this.position === 0 && tokens.length >= READ_AT_ONCE) {
      await this.#readAtOnce(tokens.slice(0, -1));
      tokens = tokens.slice(-1);
    }
    let logits: Float32Array = new Float32Array();
    for (const token of tokens) logits = await this.#readOne(token);
    return logits;
  }

  #checked(ids: ArrayLike<number>): number[] {
    const { vocabulary } = this.model.options;
    const tokens = Array.from(ids);
    const bad = tokens.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabulary);
    if (tokens.length === 0 || bad !== undefined) {
      reject({ who: "text", needed: `ids from 0 to ${vocabulary - 1}`, got: bad === undefined ? "none" : `${bad}` });
    }
    return tokens;
  }

  async #readOne(token: number): Promise<Float32Array> {
    const { position } = this;
    const { width } = this.model.options;
    const shape = [1, position, width];
    const past = this.#memory.map((array, i) => {
      return [pastName(i), { data: array.subarray(0, position * width), shape }] as const;
    });
    const { logits, added } = await this.#step.run({ ids: Int32Array.of(token), ...Object.fromEntries(past) });
    this.#append([token], added!.data as Float32Array);
    return logits!.data as Float32Array;
  }

  /** The beginning of a text: only keys and values are wanted. */
  async #readAtOnce(tokens: readonly number[]): Promise<void> {
    this.#reader ??= await this.#engine.compile({ outputs: readerOutputs(this.model), weights: this.#weights });
    const { added } = await this.#reader.run({ ids: { data: Int32Array.from(tokens), shape: [1, tokens.length] } });
    this.#append(tokens, added!.data as Float32Array);
  }

  /** `added` holds the new rows of all arrays of the memory, one array's after the other's. */
  #append(tokens: readonly number[], added: Float32Array): void {
    const start = this.position * this.model.options.width;
    const size = tokens.length * this.model.options.width;
    this.#memory.forEach((array, i) => {
      array.set(added.subarray(i * size, (i + 1) * size), start);
    });
    this.#text.push(...tokens);
  }

  /** Gives the programs' memory back; the decoder cannot read afterwards. */
  async release(): Promise<void> {
    await this.#step.release();
    await this.#reader?.release();
  }
}

const pastName = (i: number) => `past ${i}`;

/** One token after P others: logits [V] and its keys and values. */
function stepOutputs(model: LanguageModel): Record<string, Tensor> {
  const { plan, width, vocabulary } = model.options;
  const past = (i: number) => input(pastName(i), [1, "P", width]);
  const pairs = plan.map((_, depth) => ({ keys: past(2 * depth), values: past(2 * depth + 1) }));
  const { logits, added } = model.extend(input("ids", [1, 1], "int"), pairs);
  const [simpler, packed] = simplify([reshape(logits, [vocabulary]), pack(added)]) as [Tensor, Tensor];
  return { logits: simpler, added: packed };
}

/** The first T tokens of a text: their keys and values. */
function readerOutputs(model: LanguageModel): Record<string, Tensor> {
  const length: Dim = "T";
  const { added } = model.extend(input("ids", [1, length], "int"));
  return { added: simplify([pack(added)])[0]! };
}

/** All keys and values as one output, since each output costs a call: [2·L, T, C]. */
function pack(added: Extension["added"]): Tensor {
  return concat(
    added.flatMap(({ keys, values }) => [keys, values]),
    0,
  );
}

/** Continues `prompt` with the decoder, forgetting what it read before; gives token after token. */
export async function* generateWith(decoder: Decoder, options: GenerationOptions): AsyncGenerator<number> {
  const { prompt, maxTokens, seed = 1, stop = [], signal } = options;
  checkSampling(options);
  const random = new RandomStream(seed, "generation");
  decoder.clear();
  let unread: ArrayLike<number> = prompt;
  for (let count = 0; count < maxTokens; count++) {
    signal?.throwIfAborted();
    const token = sample(await decoder.read(unread), options, random);
    if (stop.includes(token)) return;
    yield token;
    unread = [token];
  }
}

/** Continues `prompt` with the model: compiles, generates, releases. */
export async function* generate(
  engine: Engine,
  model: LanguageModel,
  weights: Weights,
  options: GenerationOptions,
): AsyncGenerator<number> {
  const decoder = await Decoder.create(engine, model, weights);
  try {
    yield* generateWith(decoder, options);
  } finally {
    await decoder.release();
  }
}
