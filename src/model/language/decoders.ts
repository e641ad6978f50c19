/** Reading a text token by token: from keys and values that are kept or, where a policy has no caches, from the whole text each time. */
import { reject } from "../../base/errors.ts";
import type { DepthPolicy } from "../../depth/policy.ts";
import type { Engine, Feed, Program } from "../../engine/engine.ts";
import {
  concat,
  type Dim,
  input,
  reshape,
  simplify,
  simplifyNamed,
  sizeOf,
  type Tensor,
  topological,
} from "../../graph/index.ts";
import type { KeyValues } from "../../nn/attention.ts";
import type { Parameter } from "../../nn/index.ts";
import { checkedIds, type Decoder } from "../causal.ts";
import type { RewindableDecoder } from "../speculation.ts";
import { boundWeights, type Weights } from "../weights.ts";

/** What continuing a text computes. */
export interface Extension {
  readonly logits: Tensor;
  /** Keys and values of the new tokens, one pair per cache. */
  readonly added: readonly KeyValues[];
  /** Depths that each new token ran, [B·T], where tokens halt by themselves. */
  readonly depths: Tensor | undefined;
}

/** What decoders ask of a model. */
export interface Readable {
  readonly parameters: readonly Parameter[];
  readonly policy: DepthPolicy;
  readonly options: { readonly vocabulary: number; readonly width: number; readonly length: number };
  logitsAt(ids: Tensor, rows: Tensor): Tensor;
  extend(ids: Tensor, past?: readonly KeyValues[], rows?: Tensor): Extension;
}

/**
 * Fewer tokens than this are read one by one. The program that reads many at once takes as long to compile as fifty single tokens,
 * and almost nothing afterwards. One number for all calls, so that equal texts give equal bits whatever was read before.
 */
const READ_AT_ONCE = 32;

/**
 * Learned positions end at the model's `length`. A text that grows beyond it is read again from its last `length / 2` tokens, so
 * that it can go on; what was before is forgotten.
 */
export const kept = (text: readonly number[], length: number) => text.slice(-Math.max(1, Math.floor(length / 2)));

/**
 * Keeps keys and values, batch 1. Those of each cache lie in one array each, token after token, so that what was read is a longer
 * view of the same memory: nothing is copied to append.
 */
export class CachedDecoder implements RewindableDecoder {
  readonly #model: Readable;
  readonly #engine: Engine;
  readonly #weights: ReadonlyMap<Tensor, Float32Array>;
  /** Keys and values in turn, cache by cache: [length, width] each. */
  readonly #memory: readonly Float32Array[];
  readonly #widths: readonly number[];
  readonly #step: Program;
  #reader: Program | undefined;
  #several: Program | undefined;
  #text: number[] = [];

  static async create(engine: Engine, model: Readable, weights: Weights): Promise<CachedDecoder> {
    const bound = boundWeights(model, weights);
    const widths = widthsOf(model);
    const step = await engine.compile({ outputs: stepOutputs(model, widths), weights: bound });
    return new CachedDecoder(engine, model, bound, step, widths);
  }

  private constructor(
    engine: Engine,
    model: Readable,
    weights: ReadonlyMap<Tensor, Float32Array>,
    step: Program,
    widths: readonly number[],
  ) {
    this.#model = model;
    this.#engine = engine;
    this.#weights = weights;
    this.#step = step;
    this.#widths = widths;
    this.#memory = widths.map((width) => new Float32Array(model.options.length * width));
  }

  depth: number | undefined;

  get text(): readonly number[] {
    return this.#text;
  }

  get capacity(): number {
    return this.#model.options.length;
  }

  clear(): void {
    this.#text = [];
  }

  rewind(length: number): void {
    this.#text.length = Math.min(length, this.#text.length);
  }

  async read(ids: ArrayLike<number>): Promise<Float32Array> {
    const { length, vocabulary } = this.#model.options;
    let tokens = checkedIds(ids, vocabulary);
    if (this.#text.length + tokens.length > length) {
      tokens = kept([...this.#text, ...tokens], length);
      this.clear();
    }
    if (this.#text.length === 0 && tokens.length >= READ_AT_ONCE) {
      await this.#readAtOnce(tokens.slice(0, -1));
      tokens = tokens.slice(-1);
    }
    let logits: Float32Array = new Float32Array();
    for (const token of tokens) logits = await this.#readOne(token);
    return logits;
  }

  /** Keys and values of the text so far, as inputs. */
  #past(): Record<string, Feed> {
    const position = this.#text.length;
    const past = this.#memory.map((array, i) => {
      const width = this.#widths[i]!;
      return [pastName(i), { data: array.subarray(0, position * width), shape: [1, position, width] }] as const;
    });
    return Object.fromEntries(past);
  }

  async readEach(ids: ArrayLike<number>): Promise<readonly Float32Array[]> {
    const { vocabulary } = this.#model.options;
    const tokens = checkedIds(ids, vocabulary);
    this.#several ??= await this.#engine.compile({
      outputs: severalOutputs(this.#model, this.#widths),
      weights: this.#weights,
    });
    const feeds = { ids: { data: Int32Array.from(tokens), shape: [1, tokens.length] }, ...this.#past() };
    const { logits, added } = await this.#several.run(feeds);
    this.#append(tokens, added!.data as Float32Array);
    const scores = (logits!.data as Float32Array).slice();
    return tokens.map((_, i) => scores.subarray(i * vocabulary, (i + 1) * vocabulary));
  }

  async #readOne(token: number): Promise<Float32Array> {
    const found = await this.#step.run({ ids: Int32Array.of(token), ...this.#past() });
    const { logits, added, depths } = found;
    this.depth = depths?.data[0];
    this.#append([token], added!.data as Float32Array);
    return logits!.data as Float32Array;
  }

  /** The beginning of a text: only keys and values are wanted. */
  async #readAtOnce(tokens: readonly number[]): Promise<void> {
    this.#reader ??= await this.#engine.compile({ outputs: readerOutputs(this.#model), weights: this.#weights });
    const { added } = await this.#reader.run({ ids: { data: Int32Array.from(tokens), shape: [1, tokens.length] } });
    this.#append(tokens, added!.data as Float32Array);
  }

  /** `added` holds the new rows of all arrays of the memory, one array's after the other's. */
  #append(tokens: readonly number[], added: Float32Array): void {
    let read = 0;
    this.#memory.forEach((array, i) => {
      const [start, size] = [this.#text.length, tokens.length].map((count) => count * this.#widths[i]!) as [
        number,
        number,
      ];
      array.set(added.subarray(read, read + size), start);
      read += size;
    });
    this.#text.push(...tokens);
  }

  async release(): Promise<void> {
    await this.#step.release();
    await this.#reader?.release();
    await this.#several?.release();
  }
}

export const pastName = (i: number) => `past ${i}`;

/** Widths of keys and values in turn, cache by cache: where several heads share theirs they are narrower than the model. */
export function widthsOf(model: Readable): number[] {
  const { added } = model.extend(input("ids", [1, 1], "int"));
  return added.flatMap(({ keys, values }) => [Number(keys.shape[2]), Number(values.shape[2])]);
}

/** One token after P others: logits [V], its keys and values, and its depth where it halts by itself. */
function stepOutputs(model: Readable, widths: readonly number[]): Record<string, Tensor> {
  const { vocabulary } = model.options;
  const { past, pairs } = pastInputs(widths);
  const { logits, added, depths } = model.extend(input("ids", [1, 1], "int"), pairs);
  const wanted = { logits: reshape(logits, [vocabulary]), added: pack(added), ...(depths ? { depths } : {}) };
  const outputs = simplifyNamed(wanted);
  checkReads(outputs.logits!, past);
  return outputs;
}

function pastInputs(widths: readonly number[]) {
  const past = widths.map((width, i) => input(pastName(i), [1, "P", width]));
  const pairs = Array.from({ length: past.length / 2 }, (_, i) => ({ keys: past[2 * i]!, values: past[2 * i + 1]! }));
  return { past, pairs };
}

/** T tokens after P others: logits [T, V] after each of them, their keys and values. */
function severalOutputs(model: Readable, widths: readonly number[]): Record<string, Tensor> {
  const { logits, added } = model.extend(input("ids", [1, "T"], "int"), pastInputs(widths).pairs);
  return simplifyNamed({ logits: reshape(logits, ["T", model.options.vocabulary]), added: pack(added) });
}

/** A block that stores keys and values but does not look at those before would forget the text. */
export function checkReads(logits: Tensor, past: readonly Tensor[]): void {
  const used = new Set<Tensor>(topological([logits]));
  const unread = past.filter((each) => !used.has(each)).length;
  if (unread === 0) return;
  const remedy = "let blocks attend to cache.past, or leave `caches` out, which recomputes the text for every token";
  const needed = "blocks that read all of their caches";
  reject({ who: "depth policy / caches", needed, got: `${unread} of ${past.length} keys and values unread`, remedy });
}

/** The first T tokens of a text: their keys and values. */
function readerOutputs(model: Readable): Record<string, Tensor> {
  const length: Dim = "T";
  const { added } = model.extend(input("ids", [1, length], "int"));
  return { added: simplify([pack(added)])[0]! };
}

/** All keys and values as one output, since each output costs a call: one array's rows after the other's. */
function pack(added: Extension["added"]): Tensor {
  const all = added.flatMap(({ keys, values }) => [keys, values]);
  const even = new Set(all.map((each) => each.shape[2])).size === 1;
  return concat(even ? all : all.map((each) => reshape(each, [sizeOf(each.shape)])), 0);
}

/** Reads the whole text for every new token, batch 1: for policies and blocks that know of no caches. */
export async function recomputingDecoder(engine: Engine, model: Readable, weights: Weights): Promise<Decoder> {
  const { length, vocabulary } = model.options;
  const rows = model.logitsAt(input("ids", [1, "T"], "int"), input("last", [1], "int"));
  const outputs = simplifyNamed({ logits: reshape(rows, [vocabulary]) });
  const program = await engine.compile({ outputs, weights: boundWeights(model, weights) });
  let text: number[] = [];
  return {
    clear: () => {
      text = [];
    },
    read: async (ids) => {
      text.push(...checkedIds(ids, vocabulary));
      if (text.length > length) text = kept(text, length);
      const shape = [1, text.length];
      const feeds = { ids: { data: Int32Array.from(text), shape }, last: Int32Array.of(text.length - 1) };
      return (await program.run(feeds)).logits!.data as Float32Array;
    },
    release: () => program.release(),
  };
}
