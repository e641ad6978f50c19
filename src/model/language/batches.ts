/** Reading several texts in step: from keys and values that are kept or, where a policy has no caches, from whole texts each time. */
import { type Engine, type Feed, feedsFor, type Program } from "../../engine/engine.ts";
import { concat, input, reshape, simplifyNamed, sizeOf, type Tensor, transpose } from "../../graph/index.ts";
import type { KeyValues } from "../../nn/attention.ts";
import { type BatchDecoder, checkedIds } from "../causal.ts";
import { Programs } from "../programs.ts";
import { boundWeights, type Weights } from "../weights.ts";
import { checkReads, kept, pastName, type Readable, widthsOf } from "./decoders.ts";

const swapped = (x: Tensor) => transpose(x, [1, 0, 2]);

/** Keys and values as inputs with time first: [P, B, ·], so that new ones are appended without moving any. */
function pastInputs(widths: readonly number[]) {
  const past = widths.map((width, i) => input(pastName(i), ["P", "B", width]));
  const pairs = Array.from({ length: past.length / 2 }, (_, i): KeyValues => {
    return { keys: swapped(past[2 * i]!), values: swapped(past[2 * i + 1]!) };
  });
  return { past, pairs };
}

/** What a program reads: one token of each text or several, at their beginning (which is not a past of no tokens: the runtime ends there) or later. */
interface Reading {
  readonly length: 1 | "T";
  readonly begins: boolean;
}

/** T tokens after P others in each of B texts: logits [B, V] after the last, and new keys and values, one array's after the other's. */
function outputsOf(model: Readable, widths: readonly number[], { length, begins }: Reading): Record<string, Tensor> {
  const { past, pairs } = pastInputs(begins ? [] : widths);
  const rows = length === 1 ? undefined : input("last", ["B"], "int");
  const { logits, added } = model.extend(input("ids", ["B", length], "int"), begins ? undefined : pairs, rows);
  const all = added.flatMap(({ keys, values }) => [swapped(keys), swapped(values)]);
  const flat = all.map((each) => reshape(each, [sizeOf(each.shape)]));
  const outputs = simplifyNamed({ logits: reshape(logits, ["B", model.options.vocabulary]), added: concat(flat, 0) });
  checkReads(outputs.logits!, past);
  return outputs;
}

/** Texts of equal length, and what is kept of them when they grow too long. */
class Texts {
  all: number[][] = [];

  get length(): number {
    return this.all[0]?.length ?? 0;
  }

  /** Tokens to read next: the given ones, or the last of everything where that does not fit any more; then the texts are empty again. */
  next(ids: readonly (readonly number[])[], { vocabulary, length }: Readable["options"]): number[][] {
    const tokens = ids.map((each) => checkedIds(each, vocabulary));
    if (this.length + tokens[0]!.length <= length) return tokens;
    const last = tokens.map((each, i) => kept([...this.all[i]!, ...each], length));
    this.all = this.all.map(() => []);
    return last;
  }

  append(tokens: readonly (readonly number[])[]): void {
    tokens.forEach((each, i) => {
      this.all[i]!.push(...each);
    });
  }
}

const begun = (count: number) => Array.from({ length: count }, (): number[] => []);
const idsFeed = (tokens: readonly (readonly number[])[]): Feed => {
  return { data: Int32Array.from(tokens.flat()), shape: [tokens.length, tokens[0]!.length] };
};
/** The last row of each text among all rows. */
const lastRows = (count: number, length: number): Feed => {
  return { data: Int32Array.from({ length: count }, (_, i) => (i + 1) * length - 1), shape: [count] };
};
const rowsOf = (scores: Float32Array, count: number) => {
  const size = scores.length / count;
  return Array.from({ length: count }, (_, i) => scores.subarray(i * size, (i + 1) * size));
};
const fits = (ids: readonly number[], length: number) => (ids.length > length ? kept(ids, length) : ids);

/** Tokens for which there is room at first. */
const ROOM = 64;

/** Keeps keys and values of several texts. Time comes first in memory: what was read is a longer view of the same array. */
export class CachedBatch implements BatchDecoder {
  readonly #model: Readable;
  readonly #widths: readonly number[];
  readonly #texts = new Texts();
  readonly #programs: Programs<Reading>;
  /** [room, B, ·] each. */
  #memory: Float32Array[] = [];

  static async create(engine: Engine, model: Readable, weights: Weights): Promise<CachedBatch> {
    const bound = boundWeights(model, weights);
    const widths = widthsOf(model);
    const programs = new Programs((reading: Reading) =>
      engine.compile({ outputs: outputsOf(model, widths, reading), weights: bound }),
    );
    await programs.get({ length: 1, begins: false });
    return new CachedBatch(model, widths, programs);
  }

  private constructor(model: Readable, widths: readonly number[], programs: Programs<Reading>) {
    [this.#model, this.#widths, this.#programs] = [model, widths, programs];
  }

  begin(count: number): void {
    this.#texts.all = begun(count);
    this.#memory = this.#widths.map((width) => new Float32Array(ROOM * count * width));
  }

  fitted(ids: readonly number[]): readonly number[] {
    return fits(ids, this.#model.options.length);
  }

  async read(ids: readonly (readonly number[])[]): Promise<readonly Float32Array[]> {
    const tokens = this.#texts.next(ids, this.#model.options);
    const [count, length] = [tokens.length, tokens[0]!.length];
    const begins = this.#texts.length === 0;
    const program = await this.#programs.get({ length: length === 1 && !begins ? 1 : "T", begins });
    const feeds = { ids: idsFeed(tokens), last: lastRows(count, length), ...this.#past(count) };
    const { logits, added } = await program.run(feedsFor(program, feeds));
    this.#append(tokens, added!.data as Float32Array);
    return rowsOf(logits!.data as Float32Array, count);
  }

  #past(count: number): Record<string, Feed> {
    const { length } = this.#texts;
    const past = this.#memory.map((array, i) => {
      const width = this.#widths[i]!;
      return [pastName(i), { data: array.subarray(0, length * count * width), shape: [length, count, width] }] as const;
    });
    return Object.fromEntries(past);
  }

  /** `added` holds the new rows [T, B, ·] of all arrays, one array's after the other's. */
  #append(tokens: readonly (readonly number[])[], added: Float32Array): void {
    const [count, length] = [tokens.length, tokens[0]!.length];
    let read = 0;
    this.#memory.forEach((array, i) => {
      const [start, size] = [this.#texts.length, length].map((each) => each * count * this.#widths[i]!) as [
        number,
        number,
      ];
      const roomy = start + size <= array.length ? array : enlarged(array, start, size);
      roomy.set(added.subarray(read, read + size), start);
      this.#memory[i] = roomy;
      read += size;
    });
    this.#texts.append(tokens);
  }

  keep(places: readonly number[]): void {
    const [{ length }, count] = [this.#texts, this.#texts.all.length];
    this.#memory = this.#memory.map((array, i) => {
      const width = this.#widths[i]!;
      const fewer = new Float32Array(Math.max(ROOM, 2 * length) * places.length * width);
      for (let t = 0; t < length; t++) {
        places.forEach((place, k) => {
          const from = (t * count + place) * width;
          fewer.set(array.subarray(from, from + width), (t * places.length + k) * width);
        });
      }
      return fewer;
    });
    this.#texts.all = places.map((place) => this.#texts.all[place]!);
  }

  release(): Promise<void> {
    return this.#programs.release();
  }
}

/** Room for twice as much as is needed, with what was there. */
function enlarged(array: Float32Array, used: number, more: number): Float32Array {
  const larger = new Float32Array(2 * (used + more));
  larger.set(array.subarray(0, used));
  return larger;
}

/** Reads all texts from their beginnings for every new token: for policies and blocks that know of no caches. */
export class RecomputingBatch implements BatchDecoder {
  readonly #model: Readable;
  readonly #program: Program;
  readonly #texts = new Texts();

  static async create(engine: Engine, model: Readable, weights: Weights): Promise<RecomputingBatch> {
    const logits = model.logitsAt(input("ids", ["B", "T"], "int"), input("last", ["B"], "int"));
    const outputs = simplifyNamed({ logits });
    return new RecomputingBatch(model, await engine.compile({ outputs, weights: boundWeights(model, weights) }));
  }

  private constructor(model: Readable, program: Program) {
    [this.#model, this.#program] = [model, program];
  }

  begin(count: number): void {
    this.#texts.all = begun(count);
  }

  fitted(ids: readonly number[]): readonly number[] {
    return fits(ids, this.#model.options.length);
  }

  async read(ids: readonly (readonly number[])[]): Promise<readonly Float32Array[]> {
    this.#texts.append(this.#texts.next(ids, this.#model.options));
    const { all, length } = this.#texts;
    const { logits } = await this.#program.run({ ids: idsFeed(all), last: lastRows(all.length, length) });
    return rowsOf(logits!.data as Float32Array, all.length);
  }

  keep(places: readonly number[]): void {
    this.#texts.all = places.map((place) => this.#texts.all[place]!);
  }

  release(): Promise<void> {
    return this.#program.release();
  }
}
