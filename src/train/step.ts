/** One training step: a program that gives loss and gradients, kernels that clip and update, all in one arena. */
import { RandomStream } from "../base/random.ts";
import type { Arena } from "../engine/arena.ts";
import type { Feed, Program, World } from "../engine/engine.ts";
import { evaluateShape, type NoiseInput, type Tensor, type Weights, weightOf } from "../graph/index.ts";
import { type Buffer, fill, newBuffer, refuseExtras, viewOf } from "./buffers.ts";
import type { TermCounts } from "./division.ts";
import type { StateTensor } from "./events.ts";
import type { FirstValues } from "./first-values.ts";
import {
  allocateGroup,
  checkRate,
  type GroupMemory,
  memoryBytes,
  type ParameterTensor,
  sizeOf,
  updateGroup,
} from "./memory.ts";
import { drawNoise } from "./noise.ts";
import type { Slot } from "./optimiser.ts";
import type { OuterStep } from "./outer.ts";
import { gradientName, type RowOutput, type StepGraph, stepGraph } from "./step-graph.ts";
import {
  type Batch,
  carriedName,
  checkStep,
  copyState,
  extrasOf,
  gradientOptions,
  type Parts,
  probesIn,
  type Step,
  type StepOptions,
  type StepResult,
  type StepState,
} from "./step-options.ts";
import type { Place } from "./world.ts";

/** What a page fetches when it trains: the arena with its kernels and, where a batch is divided, what does it. */
async function fetched(options: Omit<StepOptions, "loss">) {
  const { Arena: NewArena } = await import("../engine/arena.ts");
  const { share, parts, engine } = options;
  const division = share || parts ? await import("./division.ts") : undefined;
  division?.checkParts(options);
  return { NewArena, division, terms: share && (await division!.termCounts(share, engine)) };
}

/** Loss, gradients and update of a model, compiled once. */
export class TrainingStep implements Step {
  readonly #program: Program;
  readonly #arena: Arena;
  readonly #groups: readonly GroupMemory[];
  readonly #plan: StepGraph;
  readonly #feeds: Record<string, Float32Array | Int32Array | Feed> = {};
  readonly #into: Record<string, Float32Array | Int32Array | Feed> = {};
  /** Room for inputs and row gradients, by name. */
  readonly #buffers = new Map<string, Buffer>();
  /** Pairs of arrays: the program must not write what it reads. The first of a pair is what the next run takes. */
  readonly #carried: { name: string; into: string; shape: readonly number[]; pair: [Float32Array, Float32Array] }[] =
    [];
  readonly #capacities: ReadonlyMap<string, number>;
  /** Names of what the program asks for: of the weights and inputs of a loss some may have no part in it. */
  readonly #asked: ReadonlySet<string>;
  /** Named dimensions of the last run. */
  readonly #sizes = new Map<string, number>();
  /** Where gradients stand in tables that are otherwise zero. */
  readonly #written: { table: Float32Array; ids: Int32Array; columns: number }[] = [];
  #probes: Readonly<Record<string, Feed>> = {};
  readonly #noise: readonly { name: string; buffer: Buffer; draw: NoiseInput["draw"] }[];
  /** Room for noise of the whole batch, where a part of it cannot be drawn by itself. */
  readonly #wholeNoise: Float32Array | undefined;
  /** Carried state of the whole batch, as of the last `gather`. */
  #gathered: ReadonlyMap<string, StateTensor> | undefined;
  /** The average of what processes learn by themselves, where they do. */
  readonly #outer: OuterStep | undefined;
  readonly #division: Awaited<ReturnType<typeof fetched>>["division"];
  /** How much of each term of the loss is this process's. */
  readonly #terms: TermCounts | undefined;
  readonly #slots: ReadonlyMap<ParameterTensor, Slot>;
  readonly #options: Omit<StepOptions, "initial">;
  #stream: RandomStream;
  #updates = 0;
  /** Which part of the batch runs. */
  #part = 0;

  static async create(options: StepOptions): Promise<TrainingStep> {
    checkStep(options);
    const others = await fetched(options);
    const parameters = options.groups.flatMap((group) => group.parameters);
    const plan = stepGraph(options.loss, parameters, extrasOf(options), await gradientOptions(options));
    const program = await options.engine.compile({ outputs: plan.outputs });
    return new TrainingStep(others, options, plan, program);
  }

  /** A step around a program that was composed otherwise; `plan` names what leaves it. */
  static async around(options: Omit<StepOptions, "loss">, plan: StepGraph, program: Program): Promise<TrainingStep> {
    const whole = { ...options, loss: plan.outputs.loss! };
    checkStep(whole);
    return new TrainingStep(await fetched(whole), whole, plan, program);
  }

  private constructor(
    { NewArena, division, terms }: Awaited<ReturnType<typeof fetched>>,
    options: StepOptions,
    plan: StepGraph,
    program: Program,
  ) {
    [this.#division, this.#terms] = [division, terms];
    this.#capacities = new Map(Object.entries(options.sizes ?? {}));
    const others = [...Object.values(options.inputs), ...options.noise.map(({ tensor }) => tensor)];
    const state = (options.carried ?? []).map(({ input }) => input);
    const parts = options.parts?.count ?? 1;
    const outputs = Object.values(plan.outputs);
    const divided = this.#divided(options);
    const wholeNoise = divided
      ? division!.wholeNoiseLength(options.noise, divided, (tensor) => this.#largest(tensor))
      : 0;
    const resting = [...(options.frozen?.keys() ?? [])];
    const lengths = [...others, ...outputs, ...resting].map((tensor) => sizeOf(this.#largest(tensor)));
    // Outputs have room for one of the two of a pair.
    const carried = state.flatMap((tensor) => {
      const all = parts * sizeOf(this.#largest(tensor));
      return parts > 1 ? [all, all] : [all];
    });
    const { initial, ...kept } = options; // first values are given away to whoever collects them
    this.#options = kept;
    this.#plan = plan;
    this.#program = program;
    this.#asked = new Set(program.inputs.map(({ name }) => name));
    const accumulate = (options.accumulate ?? 1) > 1 || parts > 1;
    this.#arena = new NewArena(memoryBytes(options.groups, [...lengths, ...carried, wholeNoise], accumulate));
    this.#groups = options.groups.map((group) => allocateGroup(this.#arena, group, accumulate));
    this.#slots = new Map(this.#groups.flatMap((group) => [...group.slots]));
    this.#stream = new RandomStream(options.seed, "noise");
    this.#noise = options.noise.map(({ tensor, draw }) => {
      return { name: tensor.attributes.name, buffer: newBuffer(this.#allocate(tensor), tensor.shape), draw };
    });
    this.#wholeNoise = wholeNoise > 0 ? this.#arena.float32(wholeNoise) : undefined;
    this.#bind(initial);
    this.#outer = options.share && division!.outerStep(options.share, this.#groups);
  }

  /** What is divided, and which part is meant now: one of several processes' or one of those that run in turn. */
  #divided(
    { share, parts }: Pick<StepOptions, "share" | "parts"> = this.#options,
  ): { axes: Parts["axes"]; place: Place } | undefined {
    if (share) return { axes: share.axes, place: share.world };
    return parts && { axes: parts.axes, place: { size: parts.count, rank: this.#part } };
  }

  /** Arrays for everything that goes in and out of the program. */
  #bind(initial: FirstValues): void {
    const { inputs, carried = [] } = this.#options;
    for (const [name, tensor] of Object.entries(inputs)) this.#reserve(name, tensor);
    for (const { input } of carried) this.#carry(input);
    for (const [parameter, slot] of this.#slots) {
      slot.weight.set(weightOf(parameter, initial));
      this.#feed(parameter.attributes.name, slot.weight);
      if (this.#plan.dense.has(parameter)) this.#into[gradientName(parameter)] = slot.gradient;
    }
    for (const [parameter, values] of this.#options.frozen ?? []) {
      const weight = this.#allocate(parameter);
      weight.set(values);
      this.#feed(parameter.attributes.name, weight);
    }
    for (const { ids, rows } of this.#plan.rowOutputs) {
      for (const name of [ids, rows]) this.#into[name] = this.#reserve(name, this.#plan.outputs[name]!);
    }
  }

  /** Room for carried state of all parts, one after another: as a batch that runs as a whole has it. */
  #carry(input: Tensor<"input">): void {
    const { name } = input.attributes;
    const { count = 1, axes } = this.#options.parts ?? {};
    const largest = this.#largest(input);
    if (count > 1 && axes!.get(name) !== 0) this.#division!.refuseCarried(input);
    // A single number has no rows, and no parts.
    const shape = count > 1 ? largest.with(0, count * largest[0]!) : largest;
    const pair = [0, 1].map(() => this.#arena.float32(sizeOf(shape))) as [Float32Array, Float32Array];
    this.#carried.push({ name, into: carriedName(input), shape, pair });
  }

  #feed(name: string, value: Float32Array | Int32Array | Feed): void {
    if (this.#asked.has(name)) this.#feeds[name] = value;
  }

  #largest(tensor: Tensor): number[] {
    return evaluateShape(tensor.shape, this.#capacities);
  }

  #reserve(name: string, tensor: Tensor): Float32Array | Int32Array {
    const buffer = newBuffer(this.#allocate(tensor), tensor.shape);
    this.#buffers.set(name, buffer);
    return buffer.array;
  }

  #allocate(tensor: Tensor): Float32Array | Int32Array {
    const length = sizeOf(this.#largest(tensor));
    return tensor.dtype === "int" ? this.#arena.int32(length) : this.#arena.float32(length);
  }

  /** The present weights, by parameter: views, valid while the step lives. */
  get weights(): Weights {
    return new Map([...this.#slots].map(([parameter, slot]) => [parameter, slot.weight]));
  }

  /** Bytes of the arena: weights, gradients, moments, masks, batches. */
  get memoryBytes(): number {
    return this.#arena.capacity;
  }

  /** Gradients of the last run. */
  get gradients(): ReadonlyMap<ParameterTensor, Float32Array> {
    return new Map([...this.#slots].map(([parameter, slot]) => [parameter, slot.gradient]));
  }

  /** Values of the probes in the last run. */
  get probes(): Readonly<Record<string, Feed>> {
    return this.#probes;
  }

  /** What the next run takes over from the last one, by the name of the input. */
  get carried(): ReadonlyMap<string, StateTensor> {
    return new Map(this.#carried.map(({ name, shape, pair: [data] }) => [name, { shape, data }]));
  }

  /** The processes that train together, where there are several. */
  get world(): World | undefined {
    return this.#options.share?.world;
  }

  /** Whether all processes have the same weights: with local steps that is so after each average. */
  get isEven(): boolean {
    return this.#outer?.isEven ?? true;
  }

  /** With local steps: the average of all processes. */
  async fetch(): Promise<void> {
    if (!this.isEven) await this.gather();
  }

  /** Brings together what each process has, so that `state` is that of the whole batch. Every process calls it. */
  async gather(): Promise<void> {
    const { share } = this.#options;
    if (!share) return;
    await this.#outer?.average();
    this.#gathered = await this.#division!.gathered(this.carried, share);
  }

  /** All that exact resumption needs of a step. The tensors are views. */
  get state(): StepState {
    const carried = this.#gathered ?? this.carried;
    const moments = new Map<string, StateTensor>([...carried].map(([name, value]) => [`carried ${name}`, value]));
    for (const { group, slots } of this.#groups) {
      for (const [parameter, slot] of slots) {
        group.optimiser.moments.forEach((name, i) => {
          moments.set(`${name} ${parameter.attributes.name}`, { shape: slot.shape, data: slot.moments[i]! });
        });
      }
    }
    for (const [name, value] of this.#outer?.state ?? []) moments.set(name, value);
    const weights = new Map(
      [...this.#slots].map(([{ attributes }, { shape, weight: data }]) => [attributes.name, { shape, data }]),
    );
    return {
      weights,
      moments,
      noise: this.#stream.state,
      updates: this.#updates,
      groupUpdates: this.#groups.map((group) => group.updates),
    };
  }

  /** Goes on from a state of a step with the same parameters and optimisers. */
  restore(state: StepState): void {
    this.#gathered = undefined;
    copyState("weights", this.state.weights, state.weights);
    const { share } = this.#options;
    const moments = share ? this.#division!.ownMoments(state.moments, this.#carried, share) : state.moments;
    copyState("moments", this.state.moments, moments);
    this.#outer?.begin();
    this.#stream = RandomStream.from(state.noise);
    this.#updates = state.updates;
    this.#groups.forEach((group, i) => {
      group.updates = state.groupUpdates[i] ?? 0;
    });
  }

  /** Those of some values that are inputs of the loss, such as scalars that are also shown. */
  inputsAmong<T>(values: Readonly<Record<string, T>>): Record<string, T> {
    return Object.fromEntries(Object.entries(values).filter(([name]) => name in this.#options.inputs));
  }

  /** Loss and gradients of a batch, which holds the inputs of the loss and nothing else; without an update. */
  async differentiate(batch: Batch): Promise<number> {
    this.#clearTables();
    refuseExtras(batch, this.#options.inputs);
    const filled: Record<string, Feed> = {};
    for (const name of Object.keys(this.#options.inputs)) {
      filled[name] = fill(name, this.#buffers.get(name)!, batch[name], this.#sizes);
      this.#feed(name, filled[name]);
    }
    this.#drawNoise();
    for (const [name, weight] of (await this.#terms?.weigh(filled)) ?? []) this.#feed(name, Float32Array.of(weight));
    const results = await this.#exchange();
    this.#collectRows();
    return results.loss!.data[0]!;
  }

  /** Sums gradients over all processes and clips them by value as a whole; gives the sum of the losses. */
  async #reduce(loss: number): Promise<number> {
    const { share, clipValue } = this.#options;
    if (!share) return loss;
    const total = Float64Array.of(loss);
    await share.world.sum(total);
    if (this.#outer) return total[0]! / share.world.size;
    for (const { whole } of this.#groups) await share.world.sum(whole.gradient);
    if (clipValue !== undefined) this.#clipDense(clipValue);
    return total[0]!;
  }

  /** Zeroes the tables that gradients reach row by row: the rows of the last run, or all where batches were added up. */
  #clearTables(): void {
    const { kernels } = this.#arena;
    for (const { table, ids, columns } of this.#written.splice(0)) kernels.clearRows(table, ids, columns);
    if ((this.#options.accumulate ?? 1) === 1 && !this.#divided()) return;
    for (const [parameter, { gradient }] of this.#slots) {
      if (!this.#plan.dense.has(parameter)) kernels.fill(gradient, 0);
    }
  }

  /** Runs the program on what was fed; what it carries changes places. */
  async #exchange(): Promise<Readonly<Record<string, Feed>>> {
    for (const { ids, rows } of this.#plan.rowOutputs) {
      for (const name of [ids, rows]) this.#into[name] = viewOf(this.#buffers.get(name)!, this.#sizes);
    }
    const { count = 1 } = this.#options.parts ?? {};
    const place = { size: count, rank: this.#part };
    const own = (array: Float32Array) => (count === 1 ? array : this.#division!.takePart(array, 1, place));
    for (const { name, into, pair } of this.#carried) {
      this.#feed(name, own(pair[0]));
      this.#into[into] = own(pair[1]);
    }
    const results = await this.#program.run(this.#feeds, this.#into);
    if (this.#part === count - 1) for (const { pair } of this.#carried) pair.reverse();
    this.#probes = probesIn(results, this.#options);
    return results;
  }

  /** Adds row gradients, and clips by value: a table that is only looked up occurrence by occurrence, all others as a whole. */
  #collectRows(): void {
    const { clipValue, share, parts } = this.#options;
    const { dense, rowOutputs } = this.#plan;
    for (const output of rowOutputs) if (dense.has(output.parameter)) this.#addRows(output);
    if (clipValue !== undefined && !parts && (!share || this.#outer)) {
      for (const { whole } of this.#groups) this.#arena.kernels.clipByValue(whole.gradient, clipValue);
    }
    // The loss of a part is a mean over its own rows: an occurrence weighs as many times what it weighs in the whole.
    const clip = clipValue === undefined ? undefined : clipValue * (parts?.count ?? 1);
    for (const output of rowOutputs) if (!dense.has(output.parameter)) this.#addRows(output, clip);
  }

  /** Clips what all processes or all parts have added up to; tables that are only looked up were clipped before. */
  #clipDense(clipValue: number): void {
    for (const parameter of this.#plan.dense)
      this.#arena.kernels.clipByValue(this.#slots.get(parameter)!.gradient, clipValue);
  }

  #addRows({ parameter, ids, rows, sign }: RowOutput, clip?: number): void {
    const columns = sizeOf(parameter.attributes.shape.slice(1));
    const table = this.#slots.get(parameter)!.gradient;
    const [at, values] = [ids, rows].map((name) => viewOf(this.#buffers.get(name)!, this.#sizes).data);
    if (at!.length === 0) return;
    this.#arena.kernels.addRows(table, at as Int32Array, values as Float32Array, columns, sign, clip);
    if (!this.#plan.dense.has(parameter)) this.#written.push({ table, ids: at as Int32Array, columns });
  }

  #drawNoise(): void {
    const { kernels } = this.#arena;
    const [divided, room] = [this.#divided(), this.#wholeNoise];
    for (const { name, buffer, draw } of this.#noise) {
      const feed = viewOf(buffer, this.#sizes);
      this.#feed(name, feed);
      const axis = divided?.axes.get(name);
      if (axis === undefined) drawNoise(kernels, this.#stream, feed.data as Float32Array, draw);
      else this.#division!.drawPart(kernels, this.#stream, feed, draw, { axis, place: divided!.place, room });
    }
  }

  /** Length of all gradients together. */
  gradientNorm(): number {
    const squares = this.#groups.map(({ whole }) => this.#arena.kernels.sumOfSquares(whole.gradient));
    return Math.sqrt(squares.reduce((a, b) => a + b, 0));
  }

  /** Updates the weights by the present gradients; gives their norm before clipping. */
  async update(rate: number, norm = this.gradientNorm()): Promise<number> {
    checkRate(rate);
    const { clipNorm = Number.POSITIVE_INFINITY } = this.#options;
    const gradientScale = norm > clipNorm ? clipNorm / norm : 1;
    const step = ++this.#updates;
    for (const group of this.#groups) await updateGroup(this.#arena, group, { rate, step, gradientScale });
    return norm;
  }

  /** One update from as many batches as are accumulated; the loss is their mean. */
  async run(batches: Batch | readonly Batch[], rate: number): Promise<StepResult> {
    const { parts, clipValue } = this.#options;
    const list = [batches].flat().flatMap((batch) => this.#inParts(batch));
    const losses: number[] = [];
    // Clipping by value sees each batch as a whole; otherwise the sum of all is sent once.
    const each = clipValue !== undefined;
    const noise = this.#stream.state;
    for (const [i, batch] of list.entries()) {
      this.#part = parts ? i : 0;
      if (this.#part > 0) this.#stream = RandomStream.from(noise); // all parts draw the noise of the whole batch
      const own = await this.differentiate(batch);
      losses.push(each ? await this.#reduce(own) : own);
      if (list.length > 1) this.#accumulate(losses.length === 1, 1 / list.length);
    }
    if (list.length > 1) for (const { whole, accumulated } of this.#groups) whole.gradient.set(accumulated!);
    if (parts && clipValue !== undefined) this.#clipDense(clipValue);
    const mean = losses.reduce((a, b) => a + b, 0) / list.length;
    const loss = each ? mean : await this.#reduce(mean);
    // A gradient that is not finite must not reach the weights: the caller reports it.
    const norm = this.gradientNorm();
    if (!Number.isFinite(loss) || !Number.isFinite(norm)) {
      const { Diverged } = await import("./diverged.ts");
      throw new Diverged({ step: this.#updates + 1, loss, parameter: this.#firstBad(), learningRate: rate });
    }
    const gradientNorm = await this.update(rate, norm);
    await this.#outer?.count();
    return { loss, gradientNorm };
  }

  /** The parts of a batch, in the order in which they run. */
  #inParts(batch: Batch): Batch[] {
    const { parts } = this.#options;
    if (!parts) return [batch];
    const { count: size, axes } = parts;
    return Array.from({ length: size }, (_, rank) =>
      this.#division!.partOfBatch(batch, this.#options, { place: { rank, size }, axes }),
    );
  }

  #accumulate(first: boolean, share: number): void {
    const { kernels } = this.#arena;
    for (const { whole, accumulated } of this.#groups) {
      if (first) kernels.fill(accumulated!, 0);
      kernels.addScaled(accumulated!, whole.gradient, share);
    }
  }

  /** The first parameter, in order, whose gradient is not finite. */
  #firstBad(): string | undefined {
    const bad = [...this.#slots].find(([, slot]) => !this.#arena.kernels.allFinite(slot.gradient));
    return bad?.[0].attributes.name;
  }

  async release(): Promise<void> {
    for (const { optimiser } of this.#options.groups) await optimiser.release?.();
    await this.#program.release();
    await this.#terms?.release();
  }
}
