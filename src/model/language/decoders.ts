/** Reading texts, one or several in step: from keys and values that are kept or, where a policy has no caches, from whole texts each time. */
import { reject } from "../../base/errors.ts";
import { cachesOf, contextsOf } from "../../depth/caches.ts";
import type { DepthPolicy } from "../../depth/policy.ts";
import { type Engine, type Feed, feedsFor, type Program } from "../../engine/engine.ts";
import {
  add,
  addDims,
  concat,
  expandDims,
  full,
  input,
  reshape,
  simplifyNamed,
  slice,
  type Tensor,
  topological,
  transpose,
  within,
} from "../../graph/index.ts";
import type { KeyValues, PastKeys } from "../../nn/attention.ts";
import type { Parameter } from "../../nn/index.ts";
import { HIDDEN } from "../../nn/masks.ts";
import { type BatchDecoder, checkedIds, type Decoder, SingleText } from "../causal.ts";
import { choosing, chosenTokens, type Results } from "../greedy.ts";
import { heldKeys } from "../held-attention.ts";
import { type HeadSizes, KeptKeys, keptInputs, packed, sizesOf } from "../kept-keys.ts";
import { Programs } from "../programs.ts";
import { likeliest } from "../sampling.ts";
import type { Drafted, Drafter, RewindableDecoder } from "../speculation.ts";
import { onlyTaken } from "../taken-rows.ts";
import { boundWeights, type Weights } from "../weights.ts";

/** What continuing a text computes. */
export interface Extension {
  readonly logits: Tensor;
  /** Keys and values of the new tokens, one pair per cache, and how many heads each has. */
  readonly added: readonly (KeyValues & { readonly heads: number })[];
  /** Depths that each new token ran, [B·T], where tokens halt by themselves. */
  readonly depths: Tensor | undefined;
}

/** What decoders ask of a model. */
export interface Readable {
  readonly parameters: readonly Parameter[];
  readonly policy: DepthPolicy;
  readonly options: { readonly vocabulary: number; readonly width: number; readonly length: number };
  logitsAt(ids: Tensor, rows: Tensor): Tensor;
  extend(ids: Tensor, past?: readonly PastKeys[], rows?: Tensor): Extension;
  /** The same weights under another policy over the same blocks. */
  withDepth(depth: DepthPolicy): Readable;
}

/**
 * Fewer tokens than this of a single text are read one by one. The program that reads many at once takes as long to compile as fifty single
 * tokens, and almost nothing afterwards. One number for all calls, so that equal texts give equal bits whatever was read before.
 */
const READ_AT_ONCE = 32;

/** Tokens by which room for keys and values grows. */
const ROOM = 32;

/**
 * Learned positions end at the model's `length`. A text that grows beyond it is read again from its last `length / 2` tokens, so
 * that it can go on; what was before is forgotten.
 */
const lastOf = (text: readonly number[], length: number) => text.slice(-Math.max(1, Math.floor(length / 2)));

/** Texts of equal length, and what is kept of them when they grow too long. */
class Texts {
  all: number[][] = [];

  get length(): number {
    return this.all[0]?.length ?? 0;
  }

  begin(count: number): void {
    this.all = Array.from({ length: count }, () => []);
  }

  /** Tokens to read next: the given ones, or the last of everything where that does not fit any more; then the texts are empty again. */
  next(ids: readonly (readonly number[])[], { vocabulary, length }: Readable["options"]): number[][] {
    const tokens = ids.map((each) => checkedIds(each, vocabulary));
    if (this.length + tokens[0]!.length <= length) return tokens;
    const last = tokens.map((each, i) => lastOf([...this.all[i]!, ...each], length));
    this.begin(ids.length);
    return last;
  }

  append(tokens: readonly (readonly number[])[]): void {
    tokens.forEach((each, i) => {
      this.all[i]!.push(...each);
    });
  }

  keep(places: readonly number[]): void {
    this.all = places.map((place) => this.all[place]!);
  }
}

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
const fits = (ids: readonly number[], length: number) => (ids.length > length ? lastOf(ids, length) : ids);

/** What a program reads: one token of each text or several, at their beginning or later, and which scores are wanted. */
interface Reading {
  readonly length: 1 | "T";
  readonly begins: boolean;
  readonly scores: "last" | "likeliest" | "each" | "none";
  /** The depths before or after one, where drafts and their check divide them. */
  readonly part?: { readonly of: "drafts" | "check"; readonly depth: number } | undefined;
}

const STEP: Reading = { length: 1, begins: false, scores: "last" };

/** What is wanted after the last token of each text: the scores of all, or the likeliest token. */
type Wanted = "last" | "likeliest";

/** Texts of a program: any number, or one. */
type Count = 1 | "B";

/** The past as inputs: keys and values with room for E tokens behind P, and what hides those E; of the caches from one on. */
function pastInputs(sizes: readonly HeadSizes[], count: Count, first = 0) {
  const mask = concat([input("seen", ["P"]), input("unseen", ["E"]), full(0, [1])], 0); // P zeros, E times HIDDEN, 0
  return sizes.map((each, i): PastKeys => {
    const { keys, values } = keptInputs(count, addDims("E", "P"), each, first + i);
    // The zeros are added since nothing else in a program need tell what P and E are.
    const plain = (x: Tensor, size: number) => {
      const past = slice(add(x, expandDims(slice(mask, 0, 0, addDims("E", "P")), 1)), 2, 0, "P");
      return reshape(transpose(past, [0, 2, 1, 3]), [count, "P", each.heads * size]);
    };
    return { keys: plain(keys, each.keys), values: plain(values, each.values), held: heldKeys({ keys, values, mask }) };
  });
}

/** T tokens after P others in each text: logits [B, V] after the last, new keys and values, and depths where tokens halt by themselves. */
function outputsOf(model: Readable, sizes: readonly HeadSizes[], count: Count, reading: Reading) {
  const { length, begins, scores, part } = reading;
  if (part) return partOutputs(model, sizes, part);
  const past = begins ? undefined : pastInputs(sizes, count);
  const rows = length === 1 || scores !== "last" ? undefined : input("last", [count], "int");
  const { logits, added, depths } = model.extend(input("ids", [count, length], "int"), past, rows);
  const shape = [scores === "each" ? length : count, model.options.vocabulary];
  const outputs = simplifyNamed({
    added: packed(added),
    ...(scores === "none" ? {} : { logits: reshape(logits, shape) }),
    ...(depths && length === 1 ? { depths } : {}),
  });
  if (past && outputs.logits) checkReads(outputs.logits, past);
  return rows ? onlyTaken(outputs, rows) : outputs;
}

/** Caches of a policy's first depths. */
const cachesBefore = ({ order }: DepthPolicy, depth: number) => cachesOf(order!.slice(0, depth))!;

/** One token through the first depths of a text, with its state there; or the other depths for such states of T tokens. */
function partOutputs(model: Readable, sizes: readonly HeadSizes[], { of, depth }: NonNullable<Reading["part"]>) {
  const { policy, options } = model;
  const caches = cachesBefore(policy, depth);
  if (of === "drafts") {
    let state: Tensor | undefined;
    const watched = partOf(
      policy,
      [0, depth],
      (x) => x,
      (hidden) => {
        state = hidden;
      },
    );
    const { logits, added } = model
      .withDepth(watched)
      .extend(input("ids", [1, 1], "int"), pastInputs(sizes.slice(0, caches), 1));
    return simplifyNamed({ added: packed(added), logits: reshape(logits, [1, options.vocabulary]), state: state! });
  }
  const states = input("states", ["T", options.width]);
  // The policy is tried on rows of its own before.
  const rest = partOf(policy, [depth, policy.depth], (x) => (x.shape[0] === "T" ? states : x));
  const { logits, added } = model
    .withDepth(rest)
    .extend(input("ids", [1, "T"], "int"), pastInputs(sizes.slice(caches), 1, caches));
  return simplifyNamed({ added: packed(added), logits: reshape(logits, ["T", options.vocabulary]) });
}

/** Some depths of a policy that runs them all, from another state than it is given, and who is shown theirs. */
function partOf(
  { order: all = [] }: DepthPolicy,
  [from, to]: readonly [number, number],
  start: (x: Tensor) => Tensor,
  watch?: (hidden: Tensor) => void,
): DepthPolicy {
  const order = all.slice(from, to);
  return {
    parameters: [...new Set(order)].flatMap(({ parameters }) => [...parameters]),
    depth: order.length,
    caches: cachesOf(order),
    apply: (x, { caches, ...context }) => {
      const visits = contextsOf(context, all).slice(from, to);
      const own = contextsOf({ ...context, caches }, order);
      const hidden = order.reduce((state, block, i) => {
        return within(`depth ${from + i}`, () => block.apply(state, { ...own[i]!, visit: visits[i]!.visit }));
      }, start(x));
      watch?.(hidden);
      return { hidden, probes: {} };
    },
  };
}

/** A block that stores keys and values but does not look at those before would forget the text. */
function checkReads(logits: Tensor, past: readonly PastKeys[]): void {
  const used = new Set<Tensor>(topological([logits]));
  const all = past.flatMap(({ held }) => partsOf(held!));
  const unread = all.filter((each) => !used.has(each)).length;
  if (unread === 0) return;
  const remedy = "let blocks attend to cache.past, or leave `caches` out, which recomputes the text for every token";
  const needed = "blocks that read all of their caches";
  reject({ who: "depth policy / caches", needed, got: `${unread} of ${all.length} keys and values unread`, remedy });
}

/** A single number of each token, such as how deep it ran, is known by its keys alone. */
const partsOf = ({ keys, values }: KeyValues) => (values.shape.at(-1) === 1 ? [keys] : [keys, values]);

/** Keeps keys and values of texts that are read in step. */
export class CachedBatch implements BatchDecoder {
  readonly #options: Readable["options"];
  readonly #policy: DepthPolicy;
  readonly #count: Count;
  readonly #programs: Programs<Reading>;
  readonly #keys: KeptKeys;
  readonly #texts = new Texts();
  /** Blocks that the last token of each text passed through, where tokens halt by themselves. */
  depths: ArrayLike<number> | undefined;

  /** `count`: of how many texts; one is read with as few programs as possible. */
  static async create(engine: Engine, model: Readable, weights: Weights, count: Count = "B"): Promise<CachedBatch> {
    const bound = boundWeights(model, weights);
    const sizes = model.extend(input("ids", [1, 1], "int")).added.map((pair) => sizesOf(pair, pair.heads));
    const step = outputsOf(model, sizes, count, STEP); // refuses blocks that forget the text
    const outputs = (reading: Reading): Record<string, Tensor> => {
      if (reading.scores === "likeliest") return choosing(outputs({ ...reading, scores: "last" }), "logits");
      return reading.length === 1 && !reading.part ? step : outputsOf(model, sizes, count, reading);
    };
    const programs = new Programs((reading: Reading) =>
      engine.compile({
        outputs: outputs(reading),
        weights: bound,
        ...(reading.part?.of === "drafts" ? { threads: 1 } : {}), // too little to be divided
      }),
    );
    if (count === 1) await programs.get(STEP); // several may want tokens instead of scores
    return new CachedBatch(model, count, programs, new KeptKeys(sizes));
  }

  private constructor({ options, policy }: Readable, count: Count, programs: Programs<Reading>, keys: KeptKeys) {
    [this.#options, this.#policy, this.#count, this.#programs, this.#keys] = [options, policy, count, programs, keys];
  }

  /** Whether the policy's first depths can draft, with the keys of the whole: there must be keys in both parts. */
  canDraft(depth: number): boolean {
    const { order, caches = 0 } = this.#policy;
    return this.#count === 1 && order !== undefined && cachesBefore(this.#policy, depth) < caches;
  }

  /** The texts so far. */
  get texts(): readonly (readonly number[])[] {
    return this.#texts.all;
  }

  begin(count: number): void {
    this.#texts.begin(count);
    this.#keys.begin(count, ROOM);
  }

  fitted(ids: readonly number[]): readonly number[] {
    return fits(ids, this.#options.length);
  }

  async read(ids: readonly (readonly number[])[]): Promise<readonly Float32Array[]> {
    const { logits } = await this.#read(ids, "last");
    return rowsOf(logits!.data as Float32Array, ids.length);
  }

  async readLikeliest(ids: readonly (readonly number[])[]): Promise<ArrayLike<number>> {
    return chosenTokens(await this.#read(ids, "likeliest"));
  }

  async #read(ids: readonly (readonly number[])[], scores: Wanted): Promise<Results> {
    let tokens = this.#texts.next(ids, this.#options);
    const begins = this.#texts.length === 0;
    const length = tokens[0]!.length;
    if (this.#count !== 1 && length > 1) return this.#run(tokens, { length: "T", begins, scores });
    if (begins && length >= READ_AT_ONCE) {
      await this.#run([tokens[0]!.slice(0, -1)], { length: "T", begins, scores: "none" });
      tokens = [tokens[0]!.slice(-1)];
    }
    let results: Results = {};
    for (let i = 0; i < tokens[0]!.length; i++)
      results = await this.#run(
        tokens.map((each) => [each[i]!]),
        { ...STEP, scores },
      );
    return results;
  }

  /** Appends tokens to a single text in one pass, as far as they fit; gives the scores after each of them. */
  async readEach(ids: ArrayLike<number>): Promise<readonly Float32Array[]> {
    const tokens = checkedIds(ids, this.#options.vocabulary);
    const { logits } = await this.#run([tokens], { length: "T", begins: false, scores: "each" });
    return rowsOf((logits!.data as Float32Array).slice(), tokens.length);
  }

  /**
   * Drafts tokens after a single text and those given by the first depths, and appends what was given and all drafts but the last; gives them,
   * and the scores after each that was appended, from the last of those given on. The check goes on from the states of the drafts, and both
   * keep one set of keys and values.
   */
  async draft(given: readonly number[], count: number, depth: number): Promise<Drafted> {
    const [past, { width }] = [this.#texts.length, this.#options];
    const caches = cachesBefore(this.#policy, depth);
    const drafting = await this.#programs.get({ ...STEP, part: { of: "drafts", depth } });
    const checking = await this.#programs.get({ ...STEP, part: { of: "check", depth } });
    const tokens = checkedIds(given, this.#options.vocabulary);
    const length = tokens.length + count - 1;
    this.#makeRoom(past + length);
    const states = new Float32Array(length * width);
    for (let i = 0; i < length; i++) {
      const feeds = { ids: idsFeed([[tokens[i]!]]), ...this.#pastFeeds(past + i) };
      const { logits, added, state } = await drafting.run(feedsFor(drafting, feeds));
      states.set(state!.data, i * width);
      this.#keys.put(added!.data as Float32Array, past + i, 1, [0, caches]);
      if (i + 1 >= given.length) tokens.push(likeliest(logits!.data as Float32Array));
    }
    const feeds = { states: { data: states, shape: [length, width] }, ...this.#pastFeeds(past) };
    const { logits, added } = await checking.run(feedsFor(checking, feeds));
    this.#keys.put(added!.data as Float32Array, past, length, [caches]);
    this.#texts.append([tokens.slice(0, -1)]);
    const scores = rowsOf((logits!.data as Float32Array).slice(), length).slice(given.length - 1);
    return { drafts: tokens.slice(given.length), scores };
  }

  #makeRoom(rows: number): void {
    if (rows > this.#keys.rows) this.#keys.enlarge(Math.ceil(rows / ROOM) * ROOM);
  }

  /** What is kept, of which so many tokens are seen. */
  #pastFeeds(past: number): Record<string, Feed> {
    const room = this.#keys.rows - past;
    const seen = { data: new Float32Array(past), shape: [past] };
    return { seen, unseen: { data: new Float32Array(room).fill(HIDDEN), shape: [room] }, ...this.#keys.feeds };
  }

  async #run(tokens: readonly (readonly number[])[], reading: Reading): Promise<Results> {
    const program = await this.#programs.get(reading);
    const [count, length] = [tokens.length, tokens[0]!.length];
    const past = this.#texts.length;
    const feeds = { ids: idsFeed(tokens), last: lastRows(count, length), ...this.#pastFeeds(past) };
    const results = await program.run(feedsFor(program, feeds));
    this.depths = results.depths?.data;
    this.#makeRoom(past + length);
    this.#keys.put(results.added!.data as Float32Array, past, length);
    this.#texts.append(tokens);
    return results;
  }

  keep(places: readonly number[]): void {
    this.#keys.keep(places);
    this.#texts.keep(places);
  }

  /** Forgets all but the first tokens of the texts. */
  rewind(length: number): void {
    for (const text of this.#texts.all) text.length = Math.min(length, text.length);
  }

  release(): Promise<void> {
    return this.#programs.release();
  }
}

/** A single text of which keys and values are kept; it takes tokens back. */
export class CachedDecoder extends SingleText implements RewindableDecoder {
  readonly #batch: CachedBatch;
  readonly capacity: number;
  readonly atOnce = READ_AT_ONCE;

  static async create(engine: Engine, model: Readable, weights: Weights): Promise<CachedDecoder> {
    return new CachedDecoder(await CachedBatch.create(engine, model, weights, 1), model.options.length);
  }

  private constructor(batch: CachedBatch, capacity: number) {
    super(batch);
    [this.#batch, this.capacity] = [batch, capacity];
  }

  get depth(): number | undefined {
    return this.#batch.depths?.[0];
  }

  get text(): readonly number[] {
    return this.#batch.texts[0]!;
  }

  rewind(length: number): void {
    this.#batch.rewind(length);
  }

  readEach(ids: ArrayLike<number>): Promise<readonly Float32Array[]> {
    return this.#batch.readEach(ids);
  }

  drafter(depth: number): Drafter | undefined {
    return this.#batch.canDraft(depth) ? (tokens, count) => this.#batch.draft(tokens, count, depth) : undefined;
  }
}

/** Reads all texts from their beginnings for every new token: for policies and blocks that know of no caches. */
export class RecomputingBatch implements BatchDecoder {
  readonly #options: Readable["options"];
  readonly #program: Program;
  readonly #texts = new Texts();

  static async create(engine: Engine, model: Readable, weights: Weights): Promise<RecomputingBatch> {
    const logits = model.logitsAt(input("ids", ["B", "T"], "int"), input("last", ["B"], "int"));
    const outputs = simplifyNamed({ logits });
    const program = await engine.compile({ outputs, weights: boundWeights(model, weights) });
    return new RecomputingBatch(model.options, program);
  }

  private constructor(options: Readable["options"], program: Program) {
    [this.#options, this.#program] = [options, program];
  }

  begin(count: number): void {
    this.#texts.begin(count);
  }

  fitted(ids: readonly number[]): readonly number[] {
    return fits(ids, this.#options.length);
  }

  async read(ids: readonly (readonly number[])[]): Promise<readonly Float32Array[]> {
    this.#texts.append(this.#texts.next(ids, this.#options));
    const { all, length } = this.#texts;
    const { logits } = await this.#program.run({ ids: idsFeed(all), last: lastRows(all.length, length) });
    return rowsOf(logits!.data as Float32Array, all.length);
  }

  keep(places: readonly number[]): void {
    this.#texts.keep(places);
  }

  release(): Promise<void> {
    return this.#program.release();
  }
}

/** From caches where the policy has them, otherwise from the whole text at every token. */
export const openBatch = (engine: Engine, model: Readable, weights: Weights): Promise<BatchDecoder> =>
  (model.policy.caches ? CachedBatch : RecomputingBatch).create(engine, model, weights);

/** The same for a single text. */
export async function openDecoder(engine: Engine, model: Readable, weights: Weights): Promise<Decoder> {
  if (model.policy.caches) return CachedDecoder.create(engine, model, weights);
  return new SingleText(await RecomputingBatch.create(engine, model, weights));
}
