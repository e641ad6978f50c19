/**
 * Halting that saves time: depth after depth, only the tokens that still run are computed. Keys and values of a token are made
 * anew when its state has changed, so once more after it halts, and never again.
 */
import { reject } from "../base/errors.ts";
import type { HaltingPolicy } from "../depth/halting.ts";
import type { Engine, Feed, Program } from "../engine/engine.ts";
import { gather, input, matmul, reshape, simplify, softmax, type Tensor } from "../graph/index.ts";
import { byHeads, fromHeads, headScores, type RowwiseBlock } from "../nn/albert.ts";
import { inference } from "../nn/index.ts";
import type { Albert } from "./albert.ts";

/** Texts as numbers: ids, and where needed mask (1 for tokens, 0 for padding) and types, [batch, length] each. */
export interface TextBatch {
  readonly batch: number;
  readonly length: number;
  readonly ids: Int32Array;
  readonly mask?: ArrayLike<number> | undefined;
  readonly types?: Int32Array | undefined;
  /** The deepest depth of each token, where it is less than the model's. */
  readonly caps?: ArrayLike<number> | undefined;
}

/** What was computed: states [B, T, C], pooled [B, C] where the model has a pooler, counters [B, T]. */
export interface SteppedResult {
  readonly sequence: Float32Array;
  readonly pooled?: Float32Array;
  readonly updates: Float32Array;
  readonly remainders: Float32Array;
  readonly halting: Float32Array;
  /** Depths that ran for at least one token. */
  readonly iterations: number;
  /** Tokens times depths that were computed. */
  readonly rowsRun: number;
}

/** The programs of one block: keys and values of some rows, and one depth for some rows. */
interface BlockPrograms {
  readonly keyValues: Program;
  readonly step: Program;
}

type Weights = ReadonlyMap<Tensor, Float32Array>;

function haltingPolicy(model: Albert): HaltingPolicy {
  if ("probability" in model.policy) return model.policy as HaltingPolicy;
  return reject({
    who: "stepped program",
    needed: "a model whose tokens halt",
    got: "fixed depth",
    remedy: "give the model halting options",
  });
}

async function compile(engine: Engine, outputs: Record<string, Tensor>, weights: Weights): Promise<Program> {
  const simple = simplify(Object.values(outputs));
  return engine.compile({
    takesTurns: true,
    outputs: Object.fromEntries(Object.keys(outputs).map((name, i) => [name, simple[i]!])),
    weights,
  });
}

/** x [S, C] → keys and values of the rows `stale`, [K, 2·C]. */
function keyValueOutputs(policy: HaltingPolicy, block: RowwiseBlock): Record<string, Tensor> {
  const { width } = policy.options;
  const rows = gather(input("states", ["S", width]), input("stale", ["K"], "int"));
  return { fresh: block.keyValues(policy.entering(rows, input("depth", [1], "int"))) };
}

/**
 * One depth for R rows of the states [S, C]. Their queries are laid out text by text, Q places each (`places` [B, Q] of rows, and
 * back by `rows` [R] of places), because each text has its own keys: only attention pays for texts that differ.
 */
function stepOutputs(policy: HaltingPolicy, block: RowwiseBlock, heads: number): Record<string, Tensor> {
  const { width } = policy.options;
  const state = gather(input("states", ["S", width]), input("running", ["R"], "int")); // [R, C]
  const keys = byHeads(input("keys", ["B", "T", width]), heads);
  const values = byHeads(input("values", ["B", "T", width]), heads);
  const mask = input("mask", ["B", 1, 1, "T"]);
  const places = input("places", ["B", "Q"], "int");
  const rows = input("rows", ["R"], "int");
  const mix = (queries: Tensor) => {
    const q = byHeads(gather(queries, places), heads); // [B, H, Q, D]
    const mixed = fromHeads(matmul(softmax(headScores(q, keys, width / heads, mask)), values)); // [B, Q, C]
    return gather(reshape(mixed, ["B*Q", width]), rows); // [R, C]
  };
  const y = block.applyRows(policy.entering(state, input("depth", [1], "int")), mix, inference);
  return { y, p: policy.probability(y) };
}

/** An ALBERT whose tokens halt, as programs that run depth by depth. */
export class SteppedAlbert {
  readonly model: Albert;
  readonly #policy: HaltingPolicy;
  readonly #start: Program;
  readonly #blocks: readonly BlockPrograms[];
  readonly #pooler: Program | undefined;
  readonly #scratch = new Scratch();

  static async create(engine: Engine, model: Albert, weights: Weights): Promise<SteppedAlbert> {
    const policy = haltingPolicy(model);
    const { heads, width } = model.options;
    const texts = { ids: input("ids", ["B", "T"], "int"), types: input("types", ["B", "T"], "int") };
    const start = await compile(engine, { states: model.start(texts).rows }, weights);
    const blocks: BlockPrograms[] = [];
    for (const block of model.layers) {
      const keyValues = await compile(engine, keyValueOutputs(policy, block), weights);
      blocks.push({ keyValues, step: await compile(engine, stepOutputs(policy, block, heads), weights) });
    }
    const pooled = model.pool(input("first", ["B", width]), { batch: "B", length: 1 });
    return new SteppedAlbert(model, policy, start, blocks, pooled && (await compile(engine, { pooled }, weights)));
  }

  private constructor(
    model: Albert,
    policy: HaltingPolicy,
    start: Program,
    blocks: readonly BlockPrograms[],
    pooler: Program | undefined,
  ) {
    this.model = model;
    this.#policy = policy;
    this.#start = start;
    this.#blocks = blocks;
    this.#pooler = pooler;
  }

  async encode(texts: TextBatch): Promise<SteppedResult> {
    const { batch, length } = texts;
    const shape = [batch, length];
    checkTexts(texts, this.model);
    const types = texts.types ?? new Int32Array(batch * length);
    const { states } = await this.#start.run({ ids: { data: texts.ids, shape }, types: { data: types, shape } });
    const run = new Run(this.#policy, texts, (states!.data as Float32Array).slice(), this.#scratch);
    for (let depth = 0; depth < this.#policy.depth && run.running.length > 0; depth++) {
      await this.#runDepth(run, depth);
    }
    return { ...run.result(), ...(this.#pooler ? { pooled: await this.#pool(run, this.#pooler) } : {}) };
  }

  async #runDepth(run: Run, depth: number): Promise<void> {
    const block = this.#policy.plan[depth]!;
    const { keyValues, step } = this.#blocks[block]!;
    const stale = run.takeStale(block);
    if (stale.length > 0) {
      const { fresh } = await keyValues.run(pickFeeds(keyValues, run.keyValueFeeds(stale, depth)));
      run.storeKeyValues(block, stale, fresh!.data as Float32Array);
    }
    const { y, p } = await step.run(pickFeeds(step, run.stepFeeds(block, depth)));
    run.storeStep(depth, y!.data as Float32Array, p!.data as Float32Array);
  }

  async #pool(run: Run, pooler: Program): Promise<Float32Array> {
    const { batch, length } = run.texts;
    const { width } = this.#policy.options;
    const first = new Float32Array(batch * width);
    for (let b = 0; b < batch; b++) {
      first.set(run.output.subarray(b * length * width, b * length * width + width), b * width);
    }
    const { pooled } = await pooler.run({ first: { data: first, shape: [batch, width] } });
    return (pooled!.data as Float32Array).slice();
  }

  /** Gives the programs' memory back. */
  async release(): Promise<void> {
    const programs = [this.#start, ...this.#blocks.flatMap(({ keyValues, step }) => [keyValues, step])];
    for (const program of programs) await program.release();
    await this.#pooler?.release();
  }
}

function checkTexts({ batch, length, ids, mask, types, caps }: TextBatch, model: Albert): void {
  for (const [name, array] of Object.entries({ ids, mask, types, caps })) {
    if (array && array.length !== batch * length) {
      reject({ who: name, needed: `${batch * length} numbers for [${batch},${length}]`, got: `${array.length}` });
    }
  }
  if (length > model.options.length) {
    reject({ who: "texts", needed: `at most ${model.options.length} tokens`, got: `${length}` });
  }
}

/** Only what a program asks for: without step vectors none asks for the depth. */
function pickFeeds(program: Program, feeds: Readonly<Record<string, Feed>>): Record<string, Feed> {
  return Object.fromEntries(program.inputs.map(({ name }) => [name, feeds[name]!]));
}

/** Keys and values of the last batch, whose memory the next one takes over: fresh pages would cost as much as a small depth. */
class Scratch {
  #arrays: Float32Array[] = [];

  take(count: number, length: number): Float32Array[] {
    const fits = this.#arrays.length === count && this.#arrays[0]?.length === length;
    // Rows of padding are never written: a NaN there would outlive the mask.
    if (fits) for (const array of this.#arrays) array.fill(0);
    else this.#arrays = Array.from({ length: count }, () => new Float32Array(length));
    return this.#arrays;
  }
}

/** The state of one batch between depths. Arrays hold all B·T tokens; programs see the rows they are told. */
class Run {
  readonly texts: TextBatch;
  readonly #policy: HaltingPolicy;
  readonly #states: Float32Array;
  /** Σ u·y, where that is the output. */
  readonly #total: Float32Array | undefined;
  readonly #keys: readonly Float32Array[];
  readonly #values: readonly Float32Array[];
  /** 1 where the keys and values that a block has of a token are not those of its state. */
  readonly #stale: Uint8Array[];
  readonly #real: Uint8Array;
  readonly #mask: Float32Array;
  readonly #halting: Float32Array;
  readonly #remainders: Float32Array;
  readonly #updates: Float32Array;
  readonly #threshold: number;
  /** Rows of the next depth. */
  running: Int32Array;
  #iterations = 0;
  #rowsRun = 0;

  constructor(policy: HaltingPolicy, texts: TextBatch, states: Float32Array, scratch: Scratch) {
    const count = texts.batch * texts.length;
    const { accumulate, pads } = policy.options;
    this.texts = texts;
    this.#policy = policy;
    this.#states = states;
    this.#threshold = Math.fround(1 - policy.options.epsilon);
    this.#total = accumulate === "weightedSum" ? new Float32Array(states.length) : undefined;
    const memory = scratch.take(2 * policy.blocks.length, states.length);
    this.#keys = memory.slice(0, policy.blocks.length);
    this.#values = memory.slice(policy.blocks.length);
    this.#real = Uint8Array.from({ length: count }, (_, i) => (texts.mask && !texts.mask[i] ? 0 : 1));
    this.#stale = policy.blocks.map(() => this.#real.slice());
    this.#mask = Float32Array.from(this.#real, (real) => (real ? 0 : -1e9));
    this.#halting = Float32Array.from(this.#real, (real) => (real || pads === "run" ? 0 : 1));
    this.#remainders = new Float32Array(count);
    this.#updates = new Float32Array(count);
    this.running = this.#whoRuns();
  }

  /** What the model gives out. */
  get output(): Float32Array {
    return this.#total ?? this.#states;
  }

  /** Rows that are computed: whoever has not halted, or everybody as long as halted tokens go on changing. */
  #whoRuns(): Int32Array {
    const { accumulate, halted } = this.#policy.options;
    const live = indices(this.#halting, (h) => h < 1);
    if (live.length === 0 || accumulate === "blend" || halted === "frozen") return live;
    return indices(this.#real, (real) => real === 1);
  }

  takeStale(block: number): Int32Array {
    const { stepEmbedding } = this.#policy.options;
    const found = indices(stepEmbedding ? this.#real : this.#stale[block]!, (flag) => flag === 1);
    this.#stale[block]!.fill(0);
    return found;
  }

  get #allStates(): Feed {
    const { width } = this.#policy.options;
    return { data: this.#states, shape: [this.#states.length / width, width] };
  }

  keyValueFeeds(stale: Int32Array, depth: number): Record<string, Feed> {
    return { states: this.#allStates, stale: vector(stale), depth: vector(Int32Array.of(depth)) };
  }

  storeKeyValues(block: number, rows: Int32Array, fresh: Float32Array): void {
    const { width } = this.#policy.options;
    const [keys, values] = [this.#keys[block]!, this.#values[block]!];
    rows.forEach((row, i) => {
      copyRow(fresh, 2 * i * width, keys, row * width, width);
      copyRow(fresh, (2 * i + 1) * width, values, row * width, width);
    });
  }

  stepFeeds(block: number, depth: number): Record<string, Feed> {
    const { batch, length } = this.texts;
    const all = [batch, length, this.#policy.options.width];
    return {
      states: this.#allStates,
      running: vector(this.running),
      depth: vector(Int32Array.of(depth)),
      keys: { data: this.#keys[block]!, shape: all },
      values: { data: this.#values[block]!, shape: all },
      mask: { data: this.#mask, shape: [batch, 1, 1, length] },
      ...placesOf(this.running, this.texts),
    };
  }

  /** Block outputs and halting probabilities of the rows that ran. */
  storeStep(depth: number, y: Float32Array, p: Float32Array): void {
    const { width } = this.#policy.options;
    this.running.forEach((row, i) => {
      const running = this.#halting[row]! < 1;
      this.#accumulate(row, y, i * width, this.#weigh(row, p[i]!, depth), running);
      if (this.#real[row]) for (const stale of this.#stale) stale[row] = 1;
    });
    this.#iterations++;
    this.#rowsRun += this.running.length;
    this.running = this.#whoRuns();
  }

  /** The dense loop's decision for one token, in its precision: the weight of the block output; counters go on. */
  #weigh(row: number, p: number, depth: number): number {
    const before = this.#halting[row]!;
    if (before >= 1) return 0;
    this.#updates[row]!++;
    const after = Math.fround(before + p);
    if (after <= this.#threshold && !this.#isForced(row, depth)) {
      this.#halting[row] = after;
      return p;
    }
    const left = Math.fround(1 - before);
    this.#halting[row] = 1;
    this.#remainders[row] = left;
    return left;
  }

  #isForced(row: number, depth: number): boolean {
    const cap = this.#policy.options.haltAtCap ? this.#policy.depth : Number.POSITIVE_INFINITY;
    return depth + 1 >= Math.min(cap, this.texts.caps?.[row] ?? cap);
  }

  /** The block output of a row stands in y from `from` on. */
  #accumulate(row: number, y: Float32Array, from: number, weight: number, running: boolean): void {
    const { accumulate, halted, width } = this.#policy.options;
    const at = row * width;
    if (accumulate === "blend") return void blend(this.#states, at, y, from, width, weight);
    for (let c = 0; c < width; c++) this.#total![at + c]! += weight * y[from + c]!;
    if (running || halted === "running") copyRow(y, from, this.#states, at, width);
  }

  result(): SteppedResult {
    const ofReal = (values: Float32Array) => values.map((value, i) => value * this.#real[i]!);
    return {
      sequence: this.output,
      updates: ofReal(this.#updates),
      remainders: ofReal(this.#remainders),
      halting: this.#halting,
      iterations: this.#iterations,
      rowsRun: this.#rowsRun,
    };
  }
}

/** Rows by text: place q of text b is the row `places[b, q]`; texts with fewer rows repeat row 0. `rows` says where each row went. */
function placesOf(running: Int32Array, { batch, length }: TextBatch): { places: Feed; rows: Feed } {
  const counts = new Int32Array(batch);
  for (const row of running) counts[Math.floor(row / length)]!++;
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  const places = new Int32Array(batch * most);
  const rows = new Int32Array(running.length);
  counts.fill(0);
  running.forEach((row, i) => {
    const text = Math.floor(row / length);
    rows[i] = text * most + counts[text]!++;
    places[rows[i]!] = i;
  });
  return { places: { data: places, shape: [batch, most] }, rows: vector(rows) };
}

const vector = (data: Int32Array): Feed => ({ data, shape: [data.length] });

function indices(values: ArrayLike<number>, wanted: (value: number) => boolean): Int32Array {
  const found: number[] = [];
  for (let i = 0; i < values.length; i++) if (wanted(values[i]!)) found.push(i);
  return Int32Array.from(found);
}

/** state ← u·y + (1 − u)·state. Plain loops: a view of each row would cost more than the row. */
function blend(states: Float32Array, at: number, y: Float32Array, from: number, width: number, weight: number): void {
  const rest = Math.fround(1 - weight);
  for (let c = 0; c < width; c++) states[at + c] = weight * y[from + c]! + rest * states[at + c]!;
}

function copyRow(source: Float32Array, from: number, target: Float32Array, at: number, width: number): void {
  for (let c = 0; c < width; c++) target[at + c] = source[from + c]!;
}
