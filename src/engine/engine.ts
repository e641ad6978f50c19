/** What a runtime must offer: an engine compiles named outputs of a graph into a program; a program runs, and is released. */
import type { Dim, DType, Shape, Tensor } from "../graph/index.ts";

/** Numbers that go in or come out: Float32Array for float, Int32Array for int, Uint8Array (0 or 1) for bool. */
export type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array;

/** Numbers with a shape. */
export interface Feed {
  readonly data: Numbers;
  readonly shape: readonly number[];
}

/** Data alone where the shape is known from the graph; data and shape where it has named dimensions. */
export type Feeds = Readonly<Record<string, Numbers | Feed>>;

/** Ids of an input are numbers from 0 to below `size`. */
export interface IdRange {
  readonly size: Dim;
  /** What the ids choose from: `rows of embedding.weight`. */
  readonly of: string;
}

/** An input or output of a program. */
export interface Port {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  /** Where an int input looks rows or values up: what it may hold. */
  readonly ids?: readonly IdRange[];
}

/** What is compiled: outputs by name, with everything they are computed from. */
export interface ProgramSource {
  readonly outputs: Readonly<Record<string, Tensor>>;
  /**
   * Values for parameters. A parameter given here becomes part of the program (inference: the runtime may rearrange it once and
   * for all); one left out is an input under its name (training).
   */
  readonly weights?: ReadonlyMap<Tensor, Float32Array>;
  /** Matrices among these weights are 8-bit integers, and products with them run so, where the engine can. Default: false. */
  readonly int8?: boolean | undefined;
  /** It runs in turn with other programs: its threads sleep between runs instead of waiting busily for the next. */
  readonly takesTurns?: boolean;
  /** Threads that it uses at most. Default: the engine's. */
  readonly threads?: number | undefined;
}

/** A compiled graph. */
export interface Program {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  /**
   * Runs once. `feeds` holds every input and nothing else. An array in `into` receives that output; it must not be one of the inputs.
   * The result holds every output, in arrays that stay valid until the next run.
   */
  run(feeds: Feeds, into?: Readonly<Record<string, Numbers | Feed>>): Promise<Readonly<Record<string, Feed>>>;
  /** Gives memory back; the program cannot run afterwards. */
  release(): Promise<void>;
}

/** Outputs of a program that stay where it ran, and under which name each stays. */
export type Stays = Readonly<Record<string, string>>;

/** A program some of whose inputs and outputs stay on a device. */
export interface ResidentProgram {
  /** Inputs that are fed: those that are not resident. */
  readonly inputs: readonly Port[];
  /**
   * Runs once; the result holds the outputs that do not stay. Where `accepts` refuses it, what stays is given up, and the residents are
   * what they were before.
   */
  run(
    feeds: Feeds,
    accepts?: (results: Readonly<Record<string, Feed>>) => boolean,
  ): Promise<Readonly<Record<string, Feed>>>;
}

/** Tensors that stay on a device from one run to the next, by name. */
export interface Residence {
  /** Puts floats there, in place of what has these names. */
  put(values: Readonly<Record<string, Feed>>): void;
  /** Copies of some of them. */
  read(names: readonly string[]): Promise<Readonly<Record<string, Float32Array>>>;
  /** A program that takes inputs with the names of residents from there, and leaves some of its outputs there. */
  compile(source: ProgramSource, stays: Stays): Promise<ResidentProgram>;
  /** Gives programs and tensors back. */
  release(): Promise<void>;
}

/** Processes that train one model together, each on its rows of every batch. */
export interface World {
  /** Which of them this is, from 0; the first writes the run. */
  readonly rank: number;
  readonly size: number;
  /** Updates that each makes by itself before their weights are averaged; 1: gradients are summed at every update. */
  readonly localSteps: number;
  /** Replaces numbers by their sums over all processes. Every process calls it, with an array of the same type and length. */
  sum(values: Float32Array | Float64Array): Promise<void>;
}

/** Where graphs are compiled and run. */
export interface Engine {
  readonly name: string;
  /** Other processes that train with this one. Default: none. */
  readonly world?: World | undefined;
  /** Threads that one program uses. */
  readonly threads: number;
  readonly device: string;
  /** Programs with weights of their own multiply by them in 8-bit integers. */
  readonly int8?: boolean | undefined;
  compile(source: ProgramSource): Promise<Program>;
  /** Room on the device for what programs hand on to each other; none where programs run in this process's memory. */
  readonly residence?: (() => Residence) | undefined;
}

/** The same engine, for programs that run in turn with each other. */
export const inTurns = (engine: Engine): Engine => ({
  ...engine,
  compile: (source) => engine.compile({ ...source, takesTurns: true }),
});

/** Weights for a program that others might feed: part of it where its engine multiplies in 8-bit integers, else none, so that results keep their bits. */
export const ownWeights = (
  { int8 }: Engine,
  weights: ReadonlyMap<Tensor, Float32Array>,
): Pick<ProgramSource, "weights"> => (int8 ? { weights } : {});

/** Those of some feeds that a program asks for: where a graph may have lost an input, or values of a whole model are at hand. */
export function feedsFor<T>(
  { inputs }: Pick<Program, "inputs">,
  values: Readonly<Record<string, T>>,
): Record<string, T> {
  return Object.fromEntries(inputs.flatMap(({ name }) => (name in values ? [[name, values[name]!]] : [])));
}
