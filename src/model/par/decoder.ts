/** Reading texts with a PAR Transformer-XL, one or several in step: from keys and values of what each remembers, or from the memory itself. */
import type { Evaluation } from "../../depth/searched.ts";
import { type Engine, type Feed, feedsFor } from "../../engine/engine.ts";
import { type Dim, gather, input, simplifyNamed, type Tensor, topological } from "../../graph/index.ts";
import type { Cache, KeyValues } from "../../nn/attention.ts";
import { inference, type Mode, type Parameter, type SegmentContext, type WordDistribution } from "../../nn/index.ts";
import { type BatchDecoder, checkedIds, SingleText } from "../causal.ts";
import { choosing, chosenTokens, type Results } from "../greedy.ts";
import { heldKeys } from "../held-attention.ts";
import { type HeadSizes, KeptKeys, keptInputs, packed, sizesOf } from "../kept-keys.ts";
import { Programs } from "../programs.ts";
import { onlyTaken } from "../taken-rows.ts";
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

/** What is read, as all of a decoder's programs are told. */
interface Told {
  readonly model: ReadableNetwork;
  readonly memory: number;
  readonly evaluation: Evaluation | undefined;
}

/** A program: the first tokens of each text, as many as the memory holds at most, or one more. */
interface Reading {
  readonly length: number;
  readonly begins: boolean;
  /** The likeliest token after each text instead of the logs of all. */
  readonly chooses: boolean;
}

const STEP: Reading = { length: 1, begins: false, chooses: false };

/** Of several tokens of each text the rows of the last ones. */
const lastRows = input("last", ["B"], "int");

/** Logs after the last token [B, V]. */
function logsOf({ words }: ReadableNetwork, hidden: Tensor, length: number): Tensor {
  return words.logProbabilities(length === 1 ? hidden : gather(hidden, lastRows));
}

const onlyLast = (outputs: Record<string, Tensor>) => onlyTaken(simplifyNamed(outputs), lastRows);

/** How texts remember; the decoder reads tokens, and a store has what they leave behind. */
interface Store {
  begin(count: number): void;
  /** What a run takes after so many tokens. */
  feeds(position: number): Record<string, Feed>;
  /** What a run over so many tokens gave. */
  take(results: Readonly<Record<string, Feed>>, position: number, length: number): void;
  keep(places: readonly number[]): void;
}

/** Inputs of each depth, [B, M, C]. */
class Memories implements Store {
  readonly #names: readonly string[];
  readonly #shape: readonly [number, number];
  #state: Record<string, Feed> = {};

  constructor(names: readonly string[], shape: readonly [number, number]) {
    [this.#names, this.#shape] = [names, shape];
  }

  begin(count: number): void {
    const shape = [count, ...this.#shape];
    const size = count * this.#shape[0] * this.#shape[1];
    this.#state = Object.fromEntries(this.#names.map((name) => [name, { data: new Float32Array(size), shape }]));
  }

  feeds(): Record<string, Feed> {
    return this.#state;
  }

  take(results: Readonly<Record<string, Feed>>): void {
    for (const name of this.#names) {
      const { data, shape } = results[newName(name)]!;
      this.#state[name] = { data: data.slice(), shape };
    }
  }

  keep(places: readonly number[]): void {
    const [rows, width] = this.#shape;
    for (const [name, { data }] of Object.entries(this.#state)) {
      const fewer = new Float32Array(places.length * rows * width);
      for (const [i, place] of places.entries())
        fewer.set(data.subarray(place * rows * width, (place + 1) * rows * width), i * rows * width);
      this.#state[name] = { data: fewer, shape: [places.length, rows, width] };
    }
  }
}

const newName = (name: string) => `new ${name}`;

/** Each depth remembers its last inputs. */
function memoryOutputs({ model, memory, evaluation }: Told, { length }: Reading) {
  const shape = { batch: "B", length, memory };
  const { hidden, carried } = model.segment(input("ids", ["B", length], "int"), shape, inference, evaluation);
  const names = carried.map((each) => each.input.attributes.name);
  const state = Object.fromEntries(carried.map(({ output }, i) => [newName(names[i]!), output]));
  return { outputs: onlyLast({ logs: logsOf(model, hidden, length), ...state }), names };
}

/** Keys and values of the last M tokens, [B, H, M, D]: the newest takes the place of the oldest. */
class KeysInTurn implements Store {
  readonly #keys: KeptKeys;
  readonly #memory: number;

  constructor(sizes: readonly HeadSizes[], memory: number) {
    [this.#keys, this.#memory] = [new KeptKeys(sizes), memory];
  }

  begin(count: number): void {
    this.#keys.begin(count, this.#memory);
  }

  feeds(position: number): Record<string, Feed> {
    const memory = this.#memory;
    // The row of the token that comes next is the oldest; the token itself comes last.
    const data = Int32Array.from({ length: memory + 1 }, (_, row) => {
      return row === memory ? memory : (row - (position % memory) + memory) % memory;
    });
    return { places: { data, shape: [memory + 1] }, ...this.#keys.feeds };
  }

  take({ added }: Readonly<Record<string, Feed>>, position: number, length: number): void {
    if (added) this.#keys.put(added.data as Float32Array, position % this.#memory, length);
  }

  keep(places: readonly number[]): void {
    this.#keys.keep(places);
  }
}

/** Keys and values of the new tokens, and whether something looks at memories besides. */
function cachedOutputs({ model, memory, evaluation }: Told, sizes: readonly HeadSizes[], { length, begins }: Reading) {
  const added: (KeyValues & { readonly heads: number })[] = [];
  const places = input("places", [memory + 1], "int");
  const newCache = (): Cache => {
    const i = added.length;
    const held = !begins && sizes[i] && heldKeys({ ...keptInputs("B", memory, sizes[i], i), places });
    added.push({ keys: places, values: places, heads: 1 });
    return {
      past: held ? { ...held, held } : undefined,
      store: (pair, heads = 1) => {
        added[i] = { ...pair, heads };
      },
    };
  };
  const shape = { batch: "B", length, memory: begins ? 0 : memory };
  const ids = input("ids", ["B", length], "int");
  const { hidden, carried } = model.segment(ids, shape, inference, evaluation, newCache);
  const used = new Set<Tensor>(topological([hidden]));
  return {
    outputs: onlyLast({
      logs: logsOf(model, hidden, length),
      ...(added.length > 0 ? { added: packed(added) } : {}),
    }),
    sizes: added.map((pair) => sizesOf(pair, pair.heads)),
    readsMemory: carried.some((each) => used.has(each.input)),
  };
}

/** Where all that blocks remember are keys and values of attention, those; blocks of your own may look at the memory itself. */
function remembering(told: Told): { store: Store; outputs: (reading: Reading) => Record<string, Tensor> } {
  const { memory } = told;
  if (memory > 0) {
    const { sizes } = cachedOutputs(told, [], { ...STEP, begins: true });
    if (!cachedOutputs(told, sizes, STEP).readsMemory) {
      const outputs = (reading: Reading) => cachedOutputs(told, sizes, reading).outputs;
      return { store: new KeysInTurn(sizes, memory), outputs };
    }
  }
  const { names } = memoryOutputs(told, STEP);
  const store = new Memories(names, [memory, told.model.options.width]);
  return { store, outputs: (reading) => memoryOutputs(told, reading).outputs };
}

/** Reads one token of each text at a time, and the first ones, as many as the memory holds, at once. */
export class ParBatch implements BatchDecoder {
  readonly #programs: Programs<Reading>;
  readonly #store: Store;
  readonly #told: Told;
  readonly #atOnce: number;
  #position = 0;

  /** `isSingle`: for one text, where another program would take longer to compile than reading token by token. */
  static async create(
    engine: Engine,
    model: ReadableNetwork,
    weights: Weights,
    { memory = model.options.memory, evaluation }: MemoryReading = {},
    isSingle = false,
  ): Promise<ParBatch> {
    const told = { model, memory, evaluation };
    const bound = boundWeights(model, weights);
    const { store, outputs: logsOf } = remembering(told);
    const outputs = (reading: Reading) => (reading.chooses ? choosing(logsOf(reading), "logs") : logsOf(reading));
    const programs = new Programs((reading: Reading) => engine.compile({ outputs: outputs(reading), weights: bound }));
    if (isSingle) await programs.get(STEP); // several may want tokens instead of logs
    return new ParBatch(programs, store, told, isSingle ? 1 : memory);
  }

  private constructor(programs: Programs<Reading>, store: Store, told: Told, atOnce: number) {
    [this.#programs, this.#store, this.#told, this.#atOnce] = [programs, store, told, atOnce];
  }

  get remembered(): number {
    return Math.min(this.#position, this.#told.memory);
  }

  begin(count: number): void {
    this.#position = 0;
    this.#store.begin(count);
  }

  fitted(ids: readonly number[]): readonly number[] {
    return ids;
  }

  /** Log-probabilities of all words after the last of the tokens. */
  async read(ids: readonly (readonly number[])[]): Promise<readonly Float32Array[]> {
    const { logs } = await this.#read(ids, false);
    const { vocabulary } = this.#told.model.options;
    return ids.map((_, i) => (logs!.data as Float32Array).subarray(i * vocabulary, (i + 1) * vocabulary));
  }

  async readLikeliest(ids: readonly (readonly number[])[]): Promise<ArrayLike<number>> {
    return chosenTokens(await this.#read(ids, true));
  }

  async #read(ids: readonly (readonly number[])[], chooses: boolean): Promise<Results> {
    const tokens = ids.map((each) => checkedIds(each, this.#told.model.options.vocabulary));
    let results: Results = {};
    for (let read = 0; read < tokens[0]!.length; ) {
      // While the memory holds the whole text, a segment sees as much as tokens one by one do.
      const length = this.#position === 0 ? Math.max(1, Math.min(tokens[0]!.length, this.#atOnce)) : 1;
      const segment = tokens.map((each) => each.slice(read, read + length));
      results = await this.#segment(segment, { length, begins: length > 1, chooses });
      read += length;
    }
    return results;
  }

  async #segment(tokens: readonly (readonly number[])[], reading: Reading): Promise<Results> {
    const [count, length] = [tokens.length, tokens[0]!.length];
    const program = await this.#programs.get(reading);
    const feeds = {
      ids: { data: Int32Array.from(tokens.flat()), shape: [count, length] },
      last: { data: Int32Array.from({ length: count }, (_, i) => (i + 1) * length - 1), shape: [count] },
      missing: { data: Int32Array.of(Math.max(0, this.#told.memory - this.#position)), shape: [] },
      ...this.#store.feeds(this.#position),
    };
    const results = await program.run(feedsFor(program, feeds));
    this.#store.take(results, this.#position, length);
    this.#position += length;
    return results;
  }

  keep(places: readonly number[]): void {
    this.#store.keep(places);
  }

  release(): Promise<void> {
    return this.#programs.release();
  }
}

/** Reads a single text token by token. */
export class ParDecoder extends SingleText {
  static async create(
    engine: Engine,
    model: ReadableNetwork,
    weights: Weights,
    reading?: MemoryReading,
  ): Promise<ParDecoder> {
    return new ParDecoder(await ParBatch.create(engine, model, weights, reading, true));
  }
}
