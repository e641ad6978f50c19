/** One training step: a program that gives loss and gradients, kernels that clip and update, all in one arena. */
import { reject } from "../base/errors.ts";
import { RandomStream, type StreamState } from "../base/random.ts";
import { Arena } from "../engine/arena.ts";
import type { Engine, Program } from "../engine/engine.ts";
import { maskWords, normalWords } from "../engine/kernels.ts";
import { gradients, type NoiseInput, type Rows, simplify, splitRows, type Tensor } from "../graph/index.ts";
import type { StateTensor } from "./events.ts";
import {
  allocateGroup,
  type Group,
  type GroupMemory,
  memoryBytes,
  type ParameterTensor,
  sizeOf,
  updateGroup,
} from "./memory.ts";
import type { Slot } from "./optimiser.ts";

export interface StepOptions {
  readonly engine: Engine;
  readonly loss: Tensor;
  /** Data inputs of the loss, by the names under which batches come. */
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly noise: readonly NoiseInput[];
  /** Every parameter stands in one group. */
  readonly groups: readonly Group[];
  /** First values of all parameters. */
  readonly initial: ReadonlyMap<ParameterTensor, Float32Array>;
  readonly seed: number;
  /** Micro-batches whose gradients are averaged for one update. Default: 1. */
  readonly accumulate?: number;
  /** Gradients longer than this, all together, are scaled down to it. */
  readonly clipNorm?: number;
  /** Each number of a gradient is brought into ± this; of a look-up table, each occurrence of a row before they are added. */
  readonly clipValue?: number;
}

/** What a checkpoint keeps of a step. */
export interface StepState {
  readonly weights: ReadonlyMap<string, StateTensor>;
  readonly moments: ReadonlyMap<string, StateTensor>;
  readonly noise: StreamState;
  readonly updates: number;
  readonly groupUpdates: readonly number[];
}

export type Batch = Readonly<Record<string, ArrayLike<number>>>;

export interface StepResult {
  readonly loss: number;
  /** Length of the gradient before clipping. */
  readonly gradientNorm: number;
}

/** Row gradients of a table: added to its gradient after each run. */
interface RowOutput {
  readonly parameter: ParameterTensor;
  readonly ids: string;
  readonly rows: string;
  readonly sign: 1 | -1;
}

/** The graph of a step: what leaves the program, and how it becomes gradients. */
export interface StepGraph {
  readonly outputs: Record<string, Tensor>;
  readonly dense: ReadonlySet<ParameterTensor>;
  readonly rowOutputs: readonly RowOutput[];
}

const gradientName = (parameter: ParameterTensor) => `gradient ${parameter.attributes.name}`;

/** Loss and gradients of the parameters, simplified; look-up tables give rows instead of a dense gradient. */
export function stepGraph(loss: Tensor, parameters: readonly ParameterTensor[]): StepGraph {
  const [value, ...found] = simplify([loss, ...gradients(loss, parameters)]);
  const wanted: [string, Tensor][] = [["loss", value!]];
  const dense = new Set<ParameterTensor>();
  const rowOutputs: RowOutput[] = [];
  parameters.forEach((parameter, i) => {
    const split = splitRows(found[i]!);
    if (split.dense) {
      dense.add(parameter);
      wanted.push([gradientName(parameter), split.dense]);
    }
    split.rows.forEach((rows, k) => {
      const output = rowOutput(parameter, rows, k);
      rowOutputs.push(output);
      wanted.push([output.ids, rows.ids], [output.rows, rows.rows]);
    });
  });
  const simple = simplify(wanted.map(([, tensor]) => tensor));
  return { outputs: Object.fromEntries(wanted.map(([name], i) => [name, simple[i]!])), dense, rowOutputs };
}

function rowOutput(parameter: ParameterTensor, { sign }: Rows, k: number): RowOutput {
  const name = `rows ${k} of ${parameter.attributes.name}`;
  return { parameter, ids: `${name}: ids`, rows: `${name}: values`, sign };
}

function checkGroups(groups: readonly Group[], initial: StepOptions["initial"]): void {
  const all = groups.flatMap((group) => group.parameters);
  if (
    new Set(all).size !== all.length ||
    all.some((parameter) => !initial.has(parameter)) ||
    all.length !== initial.size
  ) {
    const got = `${all.length} in groups, ${initial.size} with a first value`;
    reject({ who: "training step", needed: "every parameter in one group", got });
  }
}

export class TrainingStep {
  readonly #program: Program;
  readonly #arena: Arena;
  readonly #groups: readonly GroupMemory[];
  readonly #plan: StepGraph;
  readonly #feeds: Record<string, Float32Array | Int32Array> = {};
  readonly #into: Record<string, Float32Array | Int32Array> = {};
  readonly #noise: readonly { array: Float32Array; draw: NoiseInput["draw"] }[];
  readonly #slots: ReadonlyMap<ParameterTensor, Slot>;
  readonly #options: StepOptions;
  #stream: RandomStream;
  #updates = 0;

  static async create(options: StepOptions): Promise<TrainingStep> {
    checkGroups(options.groups, options.initial);
    const parameters = options.groups.flatMap((group) => group.parameters);
    const plan = stepGraph(options.loss, parameters);
    const program = await options.engine.compile({ outputs: plan.outputs });
    return new TrainingStep(options, plan, program);
  }

  private constructor(options: StepOptions, plan: StepGraph, program: Program) {
    const others = [...Object.values(options.inputs), ...options.noise.map(({ tensor }) => tensor)];
    const outputs = Object.values(plan.outputs);
    const lengths = [...others, ...outputs].map((tensor) => sizeOf(tensor.shape as number[]));
    this.#options = options;
    this.#plan = plan;
    this.#program = program;
    const accumulate = (options.accumulate ?? 1) > 1;
    this.#arena = new Arena(memoryBytes(options.groups, lengths, accumulate));
    this.#groups = options.groups.map((group) => allocateGroup(this.#arena, group, accumulate));
    this.#slots = new Map(this.#groups.flatMap((group) => [...group.slots]));
    this.#stream = new RandomStream(options.seed, "noise");
    this.#noise = options.noise.map(({ tensor, draw }) => ({ array: this.#allocate(tensor) as Float32Array, draw }));
    this.#bind();
  }

  /** Arrays for everything that goes in and out of the program. */
  #bind(): void {
    const { inputs, noise, initial } = this.#options;
    for (const [name, tensor] of Object.entries(inputs)) this.#feeds[name] = this.#allocate(tensor);
    noise.forEach(({ tensor }, i) => {
      this.#feeds[tensor.attributes.name] = this.#noise[i]!.array;
    });
    for (const [parameter, slot] of this.#slots) {
      slot.weight.set(initial.get(parameter)!);
      this.#feeds[parameter.attributes.name] = slot.weight;
      if (this.#plan.dense.has(parameter)) this.#into[gradientName(parameter)] = slot.gradient;
    }
    for (const { ids, rows } of this.#plan.rowOutputs) {
      for (const name of [ids, rows]) this.#into[name] = this.#allocate(this.#plan.outputs[name]!);
    }
  }

  #allocate(tensor: Tensor): Float32Array | Int32Array {
    const length = sizeOf(tensor.shape as number[]);
    return tensor.dtype === "int" ? this.#arena.int32(length) : this.#arena.float32(length);
  }

  /** The present weights, by parameter: views, valid while the step lives. */
  get weights(): ReadonlyMap<ParameterTensor, Float32Array> {
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

  /** All that exact resumption needs of a step. The tensors are views. */
  get state(): StepState {
    const moments = new Map<string, StateTensor>();
    for (const { group, slots } of this.#groups) {
      for (const [parameter, slot] of slots) {
        group.optimiser.moments.forEach((name, i) => {
          moments.set(`${name} ${parameter.attributes.name}`, { shape: slot.shape, data: slot.moments[i]! });
        });
      }
    }
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
    copyState("weights", this.state.weights, state.weights);
    copyState("moments", this.state.moments, state.moments);
    this.#stream = RandomStream.from(state.noise);
    this.#updates = state.updates;
    this.#groups.forEach((group, i) => {
      group.updates = state.groupUpdates[i] ?? 0;
    });
  }

  /** Loss and gradients of a batch, without an update. */
  async differentiate(batch: Batch): Promise<number> {
    for (const name of Object.keys(this.#options.inputs)) this.#fill(name, batch[name]);
    this.#drawNoise();
    const { kernels } = this.#arena;
    for (const [parameter, slot] of this.#slots) {
      if (!this.#plan.dense.has(parameter)) kernels.fill(slot.gradient, 0);
    }
    const results = await this.#program.run(this.#feeds, this.#into);
    const { clipValue } = this.#options;
    if (clipValue !== undefined) for (const { whole } of this.#groups) kernels.clipByValue(whole.gradient, clipValue);
    for (const output of this.#plan.rowOutputs) this.#addRows(output);
    return results.loss!.data[0]!;
  }

  #fill(name: string, values: ArrayLike<number> | undefined): void {
    const target = this.#feeds[name]!;
    if (values?.length !== target.length) {
      reject({
        who: `batch / ${name}`,
        needed: `${target.length} numbers`,
        got: values ? `${values.length}` : "nothing",
      });
    }
    target.set(values);
  }

  #addRows({ parameter, ids, rows, sign }: RowOutput): void {
    const columns = sizeOf(parameter.attributes.shape.slice(1));
    const target = this.#slots.get(parameter)!.gradient;
    this.#arena.kernels.addRows(target, this.#into[ids] as Int32Array, this.#into[rows] as Float32Array, columns, sign);
  }

  #drawNoise(): void {
    const { kernels } = this.#arena;
    const { key } = this.#stream;
    for (const { array, draw } of this.#noise) {
      if (draw.kind === "mask")
        kernels.dropoutMask(array, key, this.#stream.reserveBlocks(maskWords(array.length)), draw.keep);
      else if (draw.kind === "normal")
        kernels.normal(array, key, this.#stream.reserveBlocks(normalWords(array.length)));
      else kernels[draw.kind](array, key, this.#stream.reserveBlocks(array.length));
    }
  }

  /** Length of all gradients together. */
  gradientNorm(): number {
    const squares = this.#groups.map(({ whole }) => this.#arena.kernels.sumOfSquares(whole.gradient));
    return Math.sqrt(squares.reduce((a, b) => a + b, 0));
  }

  /** Updates the weights by the present gradients; gives their norm before clipping. */
  async update(rate: number, norm = this.gradientNorm()): Promise<number> {
    const { clipNorm = Number.POSITIVE_INFINITY } = this.#options;
    const gradientScale = norm > clipNorm ? clipNorm / norm : 1;
    const step = ++this.#updates;
    for (const group of this.#groups) await updateGroup(this.#arena, group, { rate, step, gradientScale });
    return norm;
  }

  /** One update from as many batches as are accumulated; the loss is their mean. */
  async run(batches: Batch | readonly Batch[], rate: number): Promise<StepResult> {
    const list = [batches].flat();
    const losses: number[] = [];
    for (const batch of list) {
      losses.push(await this.differentiate(batch));
      if (list.length > 1) this.#accumulate(losses.length === 1, 1 / list.length);
    }
    if (list.length > 1) for (const { whole, accumulated } of this.#groups) whole.gradient.set(accumulated!);
    const loss = losses.reduce((a, b) => a + b, 0) / list.length;
    // A gradient that is not finite must not reach the weights: the caller reports it.
    const norm = this.gradientNorm();
    if (!Number.isFinite(loss) || !Number.isFinite(norm)) throw new Divergence(loss, this.#firstBad());
    return { loss, gradientNorm: await this.update(rate, norm) };
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
    await this.#program.release();
  }
}

/** Loss or gradients went to infinity or NaN; the weights are still those before the step. */
export class Divergence extends Error {
  readonly loss: number;
  /** The first parameter whose gradient is not finite, if one is. */
  readonly parameter: string | undefined;

  constructor(loss: number, parameter: string | undefined) {
    super(`the loss is ${loss}, the gradient of ${parameter ?? "no parameter"} is not finite`);
    this.loss = loss;
    this.parameter = parameter;
  }
}

function copyState(what: string, to: StepState["weights"], from: StepState["weights"]): void {
  const names = [...new Set([...to.keys(), ...from.keys()])];
  const wrong = names.find((name) => to.get(name)?.data.length !== from.get(name)?.data.length);
  if (wrong !== undefined) {
    const shape = (tensor: StateTensor | undefined) => (tensor ? `[${tensor.shape}]` : "nothing");
    reject({
      who: `checkpoint / ${what} / ${wrong}`,
      needed: shape(to.get(wrong)),
      got: shape(from.get(wrong)),
      remedy: "resume with the config the checkpoint was made with",
    });
  }
  for (const [name, { data }] of from) to.get(name)!.data.set(data);
}
