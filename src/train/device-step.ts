/** A training step whose weights, moments and memories stay on a device: what comes back of an update is the loss and a norm. */
import { arenaBytes } from "../base/arena-bytes.ts";
import { LayerwiseError } from "../base/errors.ts";
import { RandomStream } from "../base/random.ts";
import { Arena } from "../engine/arena.ts";
import { type Feed, feedsFor, type Residence, type ResidentProgram } from "../engine/engine.ts";
import { evaluateShape, type NoiseInput, type Tensor, type Weights, weightOf } from "../graph/index.ts";
import { type Buffer, fill, newBuffer, refuseExtras, viewOf } from "./buffers.ts";
import { deviceGraph, KEEP, momentName, SHARE, sumName, updateFeeds } from "./device-graph.ts";
import { Diverged } from "./diverged.ts";
import type { StateTensor } from "./events.ts";
import { checkRate, sizeOf } from "./memory.ts";
import { drawNoise } from "./noise.ts";
import {
  type Batch,
  checkStep,
  copyState,
  probesIn,
  type Step,
  type StepOptions,
  type StepResult,
  type StepState,
} from "./step-options.ts";

interface Programs {
  readonly pass: ResidentProgram;
  /** Where batches are added up before. */
  readonly update: ResidentProgram | undefined;
}

type Kept = ReadonlyMap<string, StateTensor>;

/** Loss, gradients and update of a model on a device, compiled once. */
export class DeviceStep implements Step {
  readonly world = undefined;
  readonly isEven = true;
  readonly #options: StepOptions;
  readonly #residence: Residence;
  readonly #programs: Programs;
  readonly #arena: Arena;
  readonly #buffers: ReadonlyMap<string, Buffer>;
  readonly #noise: readonly { name: string; buffer: Buffer; draw: NoiseInput["draw"] }[];
  /** Named dimensions of the last run. */
  readonly #sizes = new Map<string, number>();
  /** Copies of what is on the device, by the names of checkpoints. */
  readonly #weights: Kept;
  readonly #moments: Kept;
  /** What of the copies is as the last update left it. */
  #fresh: "all" | "weights" | "none" = "all";
  #stream: RandomStream;
  #updates = 0;
  #groupUpdates: number[];
  #probes: Readonly<Record<string, Feed>> = {};

  /** Compiles it on an engine that has a residence; every optimiser has a rule. */
  static async create(options: StepOptions): Promise<DeviceStep> {
    checkStep(options);
    const { pass, update } = await deviceGraph(options);
    const residence = options.engine.residence!();
    const step = new DeviceStep(options, residence, {
      pass: await residence.compile({ outputs: pass.outputs }, pass.stays),
      update: update && (await residence.compile({ outputs: update.outputs }, update.stays)),
    });
    return step;
  }

  private constructor(options: StepOptions, residence: Residence, programs: Programs) {
    [this.#options, this.#residence, this.#programs] = [options, residence, programs];
    const capacities = new Map(Object.entries(options.sizes ?? {}));
    const largest = ({ shape }: Tensor) => sizeOf(evaluateShape(shape, capacities));
    const fed = Object.entries(options.inputs);
    const drawn = options.noise.map(({ tensor }) => tensor);
    this.#arena = new Arena(arenaBytes([...fed.map(([, tensor]) => tensor), ...drawn].map(largest)));
    const allocate = (tensor: Tensor) => {
      const length = largest(tensor);
      return newBuffer(tensor.dtype === "int" ? this.#arena.int32(length) : this.#arena.float32(length), tensor.shape);
    };
    this.#buffers = new Map(fed.map(([name, tensor]) => [name, allocate(tensor)]));
    this.#noise = options.noise.map(({ tensor, draw }) => {
      return { name: tensor.attributes.name, buffer: allocate(tensor), draw };
    });
    this.#stream = new RandomStream(options.seed, "noise");
    this.#groupUpdates = options.groups.map(() => 0);
    [this.#weights, this.#moments] = [firstWeights(options), firstMoments(options)];
    this.#putAll();
  }

  /** Puts the copies on the device, with what no checkpoint keeps. */
  #putAll(): void {
    const { frozen = new Map(), groups, accumulate = 1 } = this.#options;
    const parameters = groups.flatMap((group) => group.parameters);
    const sums =
      accumulate === 1 ? [] : parameters.map((each) => [sumName(each), zeros(each.attributes.shape)] as const);
    const resting = [...frozen].map(([{ attributes, shape }, data]) => [attributes.name, { shape, data }] as const);
    const moments = [...this.#moments].map(([name, value]) => [name.replace(/^carried /, ""), value] as const);
    this.#residence.put(Object.fromEntries([...this.#weights, ...moments, ...sums, ...resting]));
  }

  get weights(): Weights {
    if (this.#fresh === "none")
      throw new LayerwiseError("training step: the weights are on the device; await fetch() first");
    const parameters = this.#options.groups.flatMap((group) => group.parameters);
    return new Map(parameters.map((each) => [each, this.#weights.get(each.attributes.name)!.data]));
  }

  get probes(): Readonly<Record<string, Feed>> {
    return this.#probes;
  }

  /** Here and on the device: batches and masks, and what stays there. */
  get memoryBytes(): number {
    const kept = [...this.#weights.values(), ...this.#moments.values()];
    return this.#arena.capacity + kept.reduce((bytes, { data }) => bytes + data.byteLength, 0);
  }

  get state(): StepState {
    if (this.#fresh !== "all")
      throw new LayerwiseError("training step: its state is on the device; await gather() first");
    return {
      weights: this.#weights,
      moments: this.#moments,
      noise: this.#stream.state,
      updates: this.#updates,
      groupUpdates: [...this.#groupUpdates],
    };
  }

  async fetch(): Promise<void> {
    if (this.#fresh !== "none") return;
    await this.#copy(this.#weights);
    this.#fresh = "weights";
  }

  async gather(): Promise<void> {
    await this.fetch();
    if (this.#fresh === "weights") await this.#copy(this.#moments);
    this.#fresh = "all";
  }

  async #copy(kept: Kept): Promise<void> {
    const names = [...kept.keys()];
    const there = names.map((name) => name.replace(/^carried /, ""));
    const found = await this.#residence.read(there);
    names.forEach((name, i) => {
      kept.get(name)!.data.set(found[there[i]!]!);
    });
  }

  restore(state: StepState): void {
    copyState("weights", this.#weights, state.weights);
    copyState("moments", this.#moments, state.moments);
    this.#putAll();
    this.#fresh = "all";
    this.#stream = RandomStream.from(state.noise);
    this.#updates = state.updates;
    this.#groupUpdates = this.#options.groups.map((_, i) => state.groupUpdates[i] ?? 0);
  }

  inputsAmong<T>(values: Readonly<Record<string, T>>): Record<string, T> {
    return Object.fromEntries(Object.entries(values).filter(([name]) => name in this.#options.inputs));
  }

  async run(batches: Batch | readonly Batch[], rate: number): Promise<StepResult> {
    checkRate(rate);
    const list = [batches].flat();
    const active = this.#options.groups.map(({ active: isActive }) => isActive?.(this.#updates + 1) !== false);
    const steps = this.#groupUpdates.map((count, i) => count + Number(active[i]));
    const scalars = updateFeeds(this.#options.groups, { rate, steps, active });
    const { loss, gradientNorm } = await this.#advance(list, scalars);
    if (!Number.isFinite(loss) || !Number.isFinite(gradientNorm)) {
      throw new Diverged({ step: this.#updates + 1, loss, parameter: undefined, learningRate: rate });
    }
    this.#updates++;
    this.#groupUpdates = steps;
    return { loss, gradientNorm };
  }

  async #advance(list: readonly Batch[], scalars: Readonly<Record<string, Float32Array>>): Promise<StepResult> {
    const { update } = this.#programs;
    const losses: number[] = [];
    let norm: number | undefined;
    for (const [i, batch] of list.entries()) {
      const sharing = { [KEEP]: Float32Array.of(Math.min(1, i)), [SHARE]: Float32Array.of(1 / list.length) };
      const results = await this.#pass(batch, { ...scalars, ...sharing });
      losses.push(results.loss!.data[0]!);
      norm = results.norm?.data[0];
    }
    const loss = losses.reduce((a, b) => a + b, 0) / list.length;
    if (!update) return { loss, gradientNorm: norm! };
    const results = await update.run(feedsFor(update, scalars), (found) => Number.isFinite(loss) && areFinite(found));
    return { loss, gradientNorm: results.norm!.data[0]! };
  }

  /** One batch through the program; what is not finite never becomes a weight. */
  async #pass(batch: Batch, scalars: Readonly<Record<string, Float32Array>>): Promise<Readonly<Record<string, Feed>>> {
    const { inputs } = this.#options;
    refuseExtras(batch, inputs);
    const feeds: Record<string, Float32Array | Feed> = { ...scalars };
    for (const [name, buffer] of this.#buffers) feeds[name] = fill(name, buffer, batch[name], this.#sizes);
    for (const { name, buffer, draw } of this.#noise) {
      const feed = viewOf(buffer, this.#sizes);
      drawNoise(this.#arena.kernels, this.#stream, feed.data as Float32Array, draw);
      feeds[name] = feed;
    }
    const { pass } = this.#programs;
    const results = await pass.run(feedsFor(pass, feeds), areFinite);
    this.#fresh = "none";
    this.#probes = probesIn(results, this.#options);
    return results;
  }

  async release(): Promise<void> {
    for (const { optimiser } of this.#options.groups) await optimiser.release?.();
    await this.#residence.release();
  }
}

const areFinite = ({ loss, norm }: Readonly<Record<string, Feed>>) =>
  [loss, norm].every((each) => each === undefined || Number.isFinite(each.data[0]));

const zeros = (shape: readonly number[]): StateTensor => ({ shape, data: new Float32Array(sizeOf(shape)) });

const firstWeights = ({ groups, initial }: StepOptions): Kept =>
  new Map(
    groups.flatMap(({ parameters }) => {
      return parameters.map((each) => {
        const { name, shape } = each.attributes;
        return [name, { shape, data: Float32Array.from(weightOf(each, initial)) }] as const;
      });
    }),
  );

/** Zeros for moments and for what is carried. */
function firstMoments({ groups, carried = [], sizes = {} }: StepOptions): Kept {
  const capacities = new Map(Object.entries(sizes));
  const handed = carried.map(({ input: { attributes, shape } }) => {
    return [`carried ${attributes.name}`, zeros(evaluateShape(shape, capacities))] as const;
  });
  const moments = groups.flatMap(({ parameters, optimiser }) =>
    parameters.flatMap((each) => {
      return optimiser.moments.map((moment) => [momentName(moment, each), zeros(each.attributes.shape)] as const);
    }),
  );
  return new Map([...handed, ...moments]);
}
