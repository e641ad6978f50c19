/** Reading several texts in step with a PAR Transformer-XL: from keys and values of what each remembers, or from the memory itself. */
import { type Engine, type Feed, feedsFor } from "../../engine/engine.ts";
import {
  concat,
  gather,
  input,
  reshape,
  simplifyNamed,
  sizeOf,
  type Tensor,
  topological,
  transpose,
} from "../../graph/index.ts";
import type { Cache } from "../../nn/attention.ts";
import { inference } from "../../nn/index.ts";
import { type BatchDecoder, checkedIds } from "../causal.ts";
import { Programs } from "../programs.ts";
import { boundWeights, type Weights } from "../weights.ts";
import { type MemoryReading, newName, type ReadableNetwork } from "./decoder.ts";

/** Tokens for which there is room besides twice the memory: what is remembered moves seldom. */
const ROOM = 256;

/** T tokens of each of B texts after their memories. */
function outputsOf(model: ReadableNetwork, length: number, memory: number, evaluation: MemoryReading["evaluation"]) {
  const shape = { batch: "B", length, memory };
  const { hidden, carried } = model.segment(input("ids", ["B", length], "int"), shape, inference, evaluation);
  const last = length === 1 ? hidden : gather(hidden, input("last", ["B"], "int"));
  const state = Object.fromEntries(carried.map((each) => [newName(each), each.output]));
  const names = carried.map((each) => ({ from: newName(each), to: each.input.attributes.name }));
  return { outputs: simplifyNamed({ logs: model.words.logProbabilities(last), ...state }), names };
}

/** Reads one token of each text at a time, and the first ones, as many as the memory holds, at once; each depth remembers its last inputs. */
export class ParBatch implements BatchDecoder {
  readonly #programs: Programs<{ readonly length: number }>;
  readonly #names: readonly { readonly from: string; readonly to: string }[];
  readonly #memory: number;
  readonly #options: ReadableNetwork["options"];
  /** By depth [B, M, C]. */
  #state: Record<string, Feed> = {};
  #position = 0;

  static async create(
    engine: Engine,
    model: ReadableNetwork,
    weights: Weights,
    { memory = model.options.memory, evaluation }: MemoryReading = {},
  ): Promise<ParBatch> {
    const bound = boundWeights(model, weights);
    const programs = new Programs(({ length }: { readonly length: number }) =>
      engine.compile({ outputs: outputsOf(model, length, memory, evaluation).outputs, weights: bound }),
    );
    await programs.get({ length: 1 });
    return new ParBatch(programs, outputsOf(model, 1, memory, evaluation).names, memory, model.options);
  }

  private constructor(
    programs: Programs<{ readonly length: number }>,
    names: readonly { readonly from: string; readonly to: string }[],
    memory: number,
    options: ReadableNetwork["options"],
  ) {
    [this.#programs, this.#names, this.#memory, this.#options] = [programs, names, memory, options];
  }

  begin(count: number): void {
    this.#position = 0;
    const shape = [count, this.#memory, this.#options.width];
    const empty = () => ({ data: new Float32Array(count * this.#memory * this.#options.width), shape });
    this.#state = Object.fromEntries(this.#names.map(({ to }) => [to, empty()]));
  }

  fitted(ids: readonly number[]): readonly number[] {
    return ids;
  }

  async read(ids: readonly (readonly number[])[]): Promise<readonly Float32Array[]> {
    const tokens = ids.map((each) => checkedIds(each, this.#options.vocabulary));
    const all = tokens[0]!.length;
    // While the memory holds the whole text, a segment sees as much as tokens one by one do.
    const first = this.#position === 0 ? Math.min(all, this.#memory) : 0;
    let logs = first > 1 ? await this.#segment(tokens.map((each) => each.slice(0, first))) : undefined;
    for (let i = first > 1 ? first : 0; i < all; i++) logs = await this.#segment(tokens.map((each) => [each[i]!]));
    const { vocabulary } = this.#options;
    return tokens.map((_, i) => logs!.subarray(i * vocabulary, (i + 1) * vocabulary));
  }

  async #segment(tokens: readonly (readonly number[])[]): Promise<Float32Array> {
    const [count, length] = [tokens.length, tokens[0]!.length];
    const program = await this.#programs.get({ length });
    const feeds = {
      ids: { data: Int32Array.from(tokens.flat()), shape: [count, length] },
      last: { data: Int32Array.from({ length: count }, (_, i) => (i + 1) * length - 1), shape: [count] },
      missing: Int32Array.of(Math.max(0, this.#memory - this.#position)),
      ...this.#state,
    };
    const results = await program.run(feedsFor(program, feeds));
    this.#position += length;
    for (const { from, to } of this.#names) {
      const { data, shape } = results[from]!;
      this.#state[to] = { data: data.slice(), shape };
    }
    return Float32Array.from(results.logs!.data);
  }

  keep(places: readonly number[]): void {
    const size = this.#memory * this.#options.width;
    const shape = [places.length, this.#memory, this.#options.width];
    for (const [name, { data }] of Object.entries(this.#state)) {
      const fewer = new Float32Array(places.length * size);
      places.forEach((place, i) => {
        fewer.set(data.subarray(place * size, (place + 1) * size), i * size);
      });
      this.#state[name] = { data: fewer, shape };
    }
  }

  release(): Promise<void> {
    return this.#programs.release();
  }
}

/** A program: the first tokens of each text, as many as the memory holds at most, or one more. */
interface Reading {
  readonly length: number;
  readonly begins: boolean;
}

const swapped = (x: Tensor) => transpose(x, [1, 0, 2]);
const pastName = (i: number) => `past ${i}`;

/** Logs after the last token, and keys and values [T, B, C] of the new ones, all in turn; memories that something looks at besides. */
function cachedOutputs(
  model: ReadableNetwork,
  { length, begins }: Reading,
  { memory, evaluation }: MemoryReading & { readonly memory: number },
) {
  const { width } = model.options;
  const added: Tensor[] = [];
  const newCache = (): Cache => {
    const i = added.length;
    added.push(...[i, i + 1].map((at) => input(pastName(at), [memory, "B", width])));
    const [keys, values] = begins ? [] : added.slice(i).map(swapped);
    return {
      past: keys && values && { keys, values },
      store: (pair) => {
        added[i] = swapped(pair.keys);
        added[i + 1] = swapped(pair.values);
      },
    };
  };
  const shape = { batch: "B", length, memory: begins ? 0 : memory };
  const ids = input("ids", ["B", length], "int");
  const { hidden, carried } = model.segment(ids, shape, inference, evaluation, newCache);
  const last = length === 1 ? hidden : gather(hidden, input("last", ["B"], "int"));
  const used = new Set<Tensor>(topological([hidden]));
  const flat = added.map((each) => reshape(each, [sizeOf(each.shape)]));
  const keys = flat.length > 0 ? { added: concat(flat, 0) } : {};
  return {
    outputs: simplifyNamed({ logs: model.words.logProbabilities(last), ...keys }),
    count: added.length,
    readsMemory: carried.some((each) => used.has(each.input)),
  };
}

/** Whether all that blocks remember are keys and values of attention; blocks of your own may look at the memory itself. */
export const remembersKeys = (model: ReadableNetwork, memory: number): boolean =>
  memory > 0 && !cachedOutputs(model, { length: 1, begins: false }, { memory }).readsMemory;

/** Keeps keys and values of the last M tokens of each text; time comes first, and what is remembered is a view that moves on. */
export class CachedParBatch implements BatchDecoder {
  readonly #programs: Programs<Reading>;
  readonly #memory: number;
  readonly #options: ReadableNetwork["options"];
  readonly #count: number;
  /** [room, B, C] each; the first M rows hold nothing at first. */
  #arrays: Float32Array[] = [];
  /** Rows of them that are written. */
  #written = 0;
  #position = 0;
  #texts = 0;

  static async create(
    engine: Engine,
    model: ReadableNetwork,
    weights: Weights,
    { memory = model.options.memory, evaluation }: MemoryReading = {},
  ): Promise<CachedParBatch> {
    const bound = boundWeights(model, weights);
    const how = { memory, evaluation };
    const programs = new Programs((reading: Reading) =>
      engine.compile({ outputs: cachedOutputs(model, reading, how).outputs, weights: bound }),
    );
    const { count } = cachedOutputs(model, { length: 1, begins: false }, how);
    await programs.get({ length: 1, begins: false });
    return new CachedParBatch(programs, memory, model.options, count);
  }

  private constructor(programs: Programs<Reading>, memory: number, options: ReadableNetwork["options"], count: number) {
    [this.#programs, this.#memory, this.#options, this.#count] = [programs, memory, options, count];
  }

  begin(count: number): void {
    [this.#position, this.#written, this.#texts] = [0, this.#memory, count];
    this.#arrays = Array.from({ length: this.#count }, () => this.#room(count));
  }

  /** Room for as many more tokens as the memory holds, but for some. */
  #room(count: number): Float32Array {
    return new Float32Array((2 * this.#memory + ROOM) * count * this.#options.width);
  }

  fitted(ids: readonly number[]): readonly number[] {
    return ids;
  }

  async read(ids: readonly (readonly number[])[]): Promise<readonly Float32Array[]> {
    const tokens = ids.map((each) => checkedIds(each, this.#options.vocabulary));
    const all = tokens[0]!.length;
    // While the memory holds the whole text, a segment sees as much as tokens one by one do.
    let read = this.#position === 0 ? Math.min(all, this.#memory) : 0;
    let logs = read > 0 ? await this.#segment(tokens.map((each) => each.slice(0, read))) : undefined;
    for (; read < all; read++) logs = await this.#segment(tokens.map((each) => [each[read]!]));
    const { vocabulary } = this.#options;
    return tokens.map((_, i) => logs!.subarray(i * vocabulary, (i + 1) * vocabulary));
  }

  async #segment(tokens: readonly (readonly number[])[]): Promise<Float32Array> {
    const [count, length] = [tokens.length, tokens[0]!.length];
    const program = await this.#programs.get({ length, begins: this.#position === 0 });
    const row = count * this.#options.width;
    const past = this.#arrays.map((array, i) => {
      const data = array.subarray((this.#written - this.#memory) * row, this.#written * row);
      return [pastName(i), { data, shape: [this.#memory, count, this.#options.width] }] as const;
    });
    const feeds = {
      ids: { data: Int32Array.from(tokens.flat()), shape: [count, length] },
      last: { data: Int32Array.from({ length: count }, (_, i) => (i + 1) * length - 1), shape: [count] },
      missing: Int32Array.of(Math.max(0, this.#memory - this.#position)),
      ...Object.fromEntries(past),
    };
    const { logs, added } = await program.run(feedsFor(program, feeds));
    if (added) this.#append(added.data as Float32Array, length * row);
    this.#position += length;
    this.#written += length;
    return logs!.data as Float32Array;
  }

  /** Puts new rows after the others; where there is no room, what is remembered moves to the beginning first. */
  #append(added: Float32Array, size: number): void {
    const row = this.#texts * this.#options.width;
    if (this.#written * row + size > this.#arrays[0]!.length) {
      for (const array of this.#arrays) array.copyWithin(0, (this.#written - this.#memory) * row, this.#written * row);
      this.#written = this.#memory;
    }
    this.#arrays.forEach((array, i) => {
      array.set(added.subarray(i * size, (i + 1) * size), this.#written * row);
    });
  }

  keep(places: readonly number[]): void {
    const { width } = this.#options;
    const first = this.#written - this.#memory;
    this.#arrays = this.#arrays.map((array) => {
      const fewer = this.#room(places.length);
      for (let t = 0; t < this.#memory; t++) {
        places.forEach((place, k) => {
          const from = ((first + t) * this.#texts + place) * width;
          fewer.set(array.subarray(from, from + width), (t * places.length + k) * width);
        });
      }
      return fewer;
    });
    [this.#written, this.#texts] = [this.#memory, places.length];
  }

  release(): Promise<void> {
    return this.#programs.release();
  }
}
