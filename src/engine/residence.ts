/** Tensors that stay where ONNX Runtime's programs run, whichever package brings the runtime: outputs of one run are inputs of the next. */
import { LayerwiseError } from "../base/errors.ts";
import { input, type Tensor } from "../graph/index.ts";
import type { Feed, Feeds, Numbers, Port, ProgramSource, Residence, ResidentProgram, Stays } from "./engine.ts";
import { openSession, type RuntimeSession, type RuntimeTensor, types } from "./ort-program.ts";
import { bindFeeds, inputPorts, outputPorts } from "./ports.ts";
import { runtimeError } from "./runtime-error.ts";

/** A tensor that may lie on a device. */
export interface DeviceTensor extends RuntimeTensor {
  readonly location: string;
  dispose(): void;
}

/** A package of ONNX Runtime that can leave outputs on a device. */
export interface DeviceRuntime<T extends DeviceTensor> {
  readonly Tensor: new (type: (typeof types)[Port["dtype"]], data: Float32Array, dims: number[]) => RuntimeTensor;
  /** Opens a model of which the named outputs stay on the device. */
  open(model: Uint8Array, stay: readonly string[]): Promise<RuntimeSession<T>>;
}

type Results = Readonly<Record<string, Feed>>;

/** Room on a device of ONNX Runtime. */
export class DeviceResidence<T extends DeviceTensor> implements Residence {
  readonly #runtime: DeviceRuntime<T>;
  readonly #tensors = new Map<string, T>();
  readonly #sessions: RuntimeSession<T>[] = [];
  /** Programs that copy, by the names of what they copy: a tensor of the device cannot be read by itself in Node. */
  readonly #readers = new Map<string, Promise<RuntimeSession<T>>>();

  constructor(runtime: DeviceRuntime<T>) {
    this.#runtime = runtime;
  }

  put(values: Results): void {
    for (const [name, feed] of Object.entries(values)) this.#replace(name, this.#tensor("float", feed));
  }

  async read(names: readonly string[]): Promise<Readonly<Record<string, Float32Array>>> {
    const there = names.filter((name) => this.#at(name).location !== "cpu");
    const found = there.length === 0 ? {} : await this.#copies(there);
    return Object.fromEntries(
      names.map((name) => [name, Float32Array.from((found[name] ?? this.#at(name)).data as Float32Array)]),
    );
  }

  async compile(source: ProgramSource, stays: Stays): Promise<ResidentProgram> {
    const session = await this.#open(source, Object.keys(stays));
    const fed = () => ports.filter(({ name }) => !this.#tensors.has(name));
    const ports = inputPorts(source);
    const outputs = outputPorts(source).filter(({ name }) => !Object.hasOwn(stays, name));
    return {
      get inputs() {
        return fed();
      },
      run: async (feeds, accepts = () => true) => {
        const results = await this.#run(session, ports, feeds);
        const seen = Object.fromEntries(outputs.map(({ name }) => [name, feedOf(results[name]!)]));
        const takes = accepts(seen);
        for (const [output, name] of Object.entries(stays)) {
          if (takes) this.#replace(name, results[output]!);
          else results[output]!.dispose();
        }
        return seen;
      },
    };
  }

  async #run(session: RuntimeSession<T>, ports: readonly Port[], feeds: Feeds): Promise<Record<string, T>> {
    const fed = ports.filter(({ name }) => !this.#tensors.has(name));
    const { bound } = bindFeeds(fed, feeds, false);
    const tensors = ports.map(({ name, dtype }) => {
      const feed = bound.get(name);
      return [name, feed ? this.#tensor(dtype, feed) : this.#at(name)] as const;
    });
    try {
      return await session.run(Object.fromEntries(tensors));
    } catch (error) {
      throw runtimeError(error);
    }
  }

  #tensor(dtype: Port["dtype"], { data, shape }: Feed): T {
    return new this.#runtime.Tensor(types[dtype], data as Float32Array, [...shape]) as T;
  }

  #at(name: string): T {
    const tensor = this.#tensors.get(name);
    if (tensor) return tensor;
    throw new LayerwiseError(`residence: expected a resident tensor, got none of the name ${name}`);
  }

  #replace(name: string, tensor: T): void {
    const before = this.#tensors.get(name);
    this.#tensors.set(name, tensor);
    if (before && before !== tensor) free(before);
  }

  async #open(source: ProgramSource, stay: readonly string[]): Promise<RuntimeSession<T>> {
    const open = (model: Uint8Array) => this.#runtime.open(model, stay);
    const session = await openSession(source, { open, target: "gpu" });
    this.#sessions.push(session);
    return session;
  }

  async #copies(names: readonly string[]): Promise<Record<string, T>> {
    const key = names.join("\n");
    const reader =
      this.#readers.get(key) ?? this.#open({ outputs: copiesOf(names, (name) => this.#at(name).dims) }, []);
    this.#readers.set(key, reader);
    const feeds = names.map((name, i) => [`x${i}`, this.#at(name)] as const);
    const results = await (await reader).run(Object.fromEntries(feeds));
    return Object.fromEntries(names.map((name, i) => [name, results[`y${i}`]!]));
  }

  async release(): Promise<void> {
    // Tensors first: one that outlives the program that made it ends the process when it is freed.
    for (const tensor of this.#tensors.values()) free(tensor);
    this.#tensors.clear();
    this.#readers.clear();
    for (const session of this.#sessions.splice(0)) await session.release();
  }
}

/** Memory of this process is the collector's; what a caller put there is the caller's. */
function free(tensor: DeviceTensor): void {
  if (tensor.location !== "cpu") tensor.dispose();
}

const feedOf = ({ data, dims }: RuntimeTensor): Feed => ({ data: data as Numbers, shape: dims });

/** Outputs y0, y1, … that are inputs x0, x1, … as they are. */
function copiesOf(names: readonly string[], dimsOf: (name: string) => readonly number[]): Record<string, Tensor> {
  return Object.fromEntries(names.map((name, i) => [`y${i}`, input(`x${i}`, dimsOf(name))]));
}
