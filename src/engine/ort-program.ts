/** A program on ONNX Runtime, whichever package brings the runtime: native in Node, WebAssembly in browsers. */
import { LayerwiseError, messageOf } from "../base/errors.ts";
import { lower, type Target } from "../onnx/lower.ts";
import type { Feed, Feeds, Numbers, Port, Program, ProgramSource } from "./engine.ts";
import { bindFeeds, checkTargets, inputPorts, outputPorts, shaped } from "./ports.ts";
import { runtimeError } from "./runtime-error.ts";

/** A tensor of the runtime. */
export interface RuntimeTensor {
  readonly data: unknown;
  readonly dims: readonly number[];
}

/** A compiled model. */
export interface RuntimeSession<T> {
  run(feeds: Record<string, T>, fetches?: Record<string, T | null>): Promise<Record<string, T>>;
  release(): Promise<void>;
}

/** What a package of ONNX Runtime offers. */
interface Runtime<T extends RuntimeTensor> {
  readonly Tensor: new (type: (typeof types)[Port["dtype"]], data: Float32Array, dims: number[]) => RuntimeTensor;
  open(model: Uint8Array): Promise<RuntimeSession<T>>;
  /** It writes results into tensors that it is given. The web's loses such results without a word. */
  readonly writesInto: boolean;
  /** What its programs are written for. Default: cpu. */
  readonly target?: Target;
}

/** Element types by the runtime's names. */
export const types = { float: "float32", int: "int32", bool: "bool" } as const;

/** Options of every session. */
export const sessionBasics = {
  executionMode: "sequential",
  graphOptimizationLevel: "all",
  logSeverityLevel: 4,
  // The pattern of the first run is allocated as one block from the second on, beside what the first run took: 1.5 times the memory.
  enableMemPattern: false,
} as const;

/** Of a session's configuration: no node may fall back to the processor. */
export const onDevice = { disable_cpu_ep_fallback: "1" } as const;

/** Compiles a graph by a runtime. */
export async function compileWith<T extends RuntimeTensor>(
  source: ProgramSource,
  runtime: Runtime<T>,
): Promise<Program> {
  const ports = { inputs: inputPorts(source), outputs: outputPorts(source) };
  return new OrtProgram(await openSession(source, runtime), runtime, ports);
}

/** Lowers a graph for a target and opens it. */
export async function openSession<T>(
  source: ProgramSource,
  { open, target }: { open(model: Uint8Array): Promise<RuntimeSession<T>>; readonly target?: Target },
): Promise<RuntimeSession<T>> {
  try {
    return await open(lower({ ...source, target }));
  } catch (error) {
    const message = `onnxruntime: could not compile the program: ${messageOf(error)}`;
    throw new LayerwiseError(message, 1, { code: "runtime", cause: error });
  }
}

class OrtProgram<T extends RuntimeTensor> implements Program {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  #session: RuntimeSession<T> | undefined;
  readonly #runtime: Runtime<T>;
  /** Runtime tensors over arrays that were fed before: making 120 of them again costs more than a small program. */
  readonly #tensors = new Map<string, { feed: Feed; tensor: T }>();

  constructor(
    session: RuntimeSession<T>,
    runtime: Runtime<T>,
    { inputs, outputs }: Pick<Program, "inputs" | "outputs">,
  ) {
    this.#session = session;
    this.#runtime = runtime;
    this.inputs = inputs;
    this.outputs = outputs;
  }

  async run(feeds: Feeds, into: Readonly<Record<string, Numbers | Feed>> = {}): Promise<Record<string, Feed>> {
    if (!this.#session) throw new LayerwiseError("program: released, compile it again to run it");
    const { bound } = bindFeeds(this.inputs, feeds, false);
    checkTargets(this.outputs, into);
    const tensors: Record<string, T> = {};
    for (const port of this.inputs) tensors[port.name] = this.#tensor(port, bound.get(port.name)!);
    const fetches: Record<string, T | null> = {};
    for (const port of this.outputs) {
      const target = this.#runtime.writesInto && into[port.name];
      fetches[port.name] = target ? this.#tensor(port, shaped(port, target)) : null;
    }
    try {
      return this.#collect(await this.#session.run(tensors, fetches), into);
    } catch (error) {
      throw runtimeError(error);
    }
  }

  #collect(results: Readonly<Record<string, T>>, into: Readonly<Record<string, Numbers | Feed>>): Record<string, Feed> {
    const collected: Record<string, Feed> = {};
    for (const port of this.outputs) {
      const { data, dims } = results[port.name]!;
      const target = into[port.name];
      const array = target ? shaped(port, target).data : (data as Numbers);
      if (target && !this.#runtime.writesInto) array.set(data as Numbers);
      collected[port.name] = { data: array, shape: dims };
    }
    return collected;
  }

  #tensor(port: Port, feed: Feed): T {
    const known = this.#tensors.get(port.name);
    if (known && known.feed.data === feed.data && sameDims(known.feed.shape, feed.shape)) return known.tensor;
    const { Tensor } = this.#runtime;
    const tensor = new Tensor(types[port.dtype], feed.data as Float32Array, [...feed.shape]) as T;
    this.#tensors.set(port.name, { feed, tensor });
    return tensor;
  }

  async release(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    this.#tensors.clear();
    await session?.release();
  }
}

function sameDims(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}
