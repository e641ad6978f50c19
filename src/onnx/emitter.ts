/** Collects ONNX nodes and tensors while a graph is lowered; knows how to name things and to compute sizes at run time. */
import { dimTerms, namesIn } from "../graph/dims.ts";
import type { Dim, Shape, Tensor } from "../graph/index.ts";
import type { AttributeValue, ElementType, OnnxNode, OnnxTensor } from "./proto.ts";

export interface EmitOptions {
  domain?: string;
  attributes?: Readonly<Record<string, AttributeValue>>;
  /** How many outputs; the first one's name is returned. */
  outputs?: number;
}

export class Emitter {
  nodes: OnnxNode[] = [];
  readonly tensors: OnnxTensor[] = [];
  #shared = new Map<string, string>();
  /** Where a named dimension can be read: an input and an axis of it. */
  #sources = new Map<string, { input: string; axis: number }>();
  readonly #taken: ReadonlySet<string>;
  #count = 0;

  /** `taken` are the names of inputs and outputs: what is emitted gets others. */
  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken);
  }

  fresh(hint: string): string {
    const name = `${hint}_${this.#count++}`;
    return this.#taken.has(name) ? this.fresh(hint) : name;
  }

  emit(op: string, inputs: readonly string[], options: EmitOptions = {}): string {
    return this.emitAll(op, inputs, options)[0]!;
  }

  emitAll(op: string, inputs: readonly string[], { domain, attributes = {}, outputs = 1 }: EmitOptions = {}): string[] {
    const names = Array.from({ length: outputs }, () => this.fresh(op));
    this.nodes.push({ op, inputs, outputs: names, attributes, ...(domain ? { domain } : {}) });
    return names;
  }

  /** A tensor stored in the model. */
  store(name: string, type: ElementType, shape: readonly number[], data: ArrayLike<number>): string {
    this.tensors.push({ name, type, shape, bytes: bytesOf(type, data) });
    return name;
  }

  /** Emits once for equal keys. */
  once(key: string, make: () => string): string {
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#shared.set(key, made);
    return made;
  }

  /** Nodes of a branch: they see what is outside, and nobody outside sees them. */
  apart(make: () => void): OnnxNode[] {
    const outside = [this.nodes, this.#shared, this.#sources] as const;
    [this.nodes, this.#shared, this.#sources] = [[], new Map(this.#shared), new Map(this.#sources)];
    make();
    const made = this.nodes;
    [this.nodes, this.#shared, this.#sources] = outside;
    return made;
  }

  integers(values: readonly number[]): string {
    const key = `int64 ${values.length} ${values}`;
    return this.once(key, () => this.store(this.fresh("shape"), "int64", [values.length], values));
  }

  scalar(value: number, type: ElementType = "float"): string {
    return this.once(`${type} scalar ${Object.is(value, -0) ? "-0" : value}`, () =>
      this.store(this.fresh("scalar"), type, [], [value]),
    );
  }

  /** Notes where named dimensions of an input, or of what it told, and their sums can be read at run time. */
  learnDims(tensor: Tensor, name: string): void {
    tensor.shape.forEach((dim, axis) => {
      if (typeof dim === "string" && !this.#sources.has(dim)) this.#sources.set(dim, { input: name, axis });
    });
  }

  /** A dimension as an int64 tensor of one element. */
  dim(dim: Dim): string {
    if (typeof dim === "number") return this.integers([dim]);
    if (this.#sources.has(dim)) return this.#namedDim(dim);
    return this.once(`dim ${dim}`, () => {
      const terms = dimTerms(dim).map(({ names, coefficient }) => {
        const factors = names.map((name) => this.#namedDim(name));
        if (coefficient !== 1 || factors.length === 0) factors.push(this.integers([coefficient]));
        return factors.reduce((a, b) => this.emit("Mul", [a, b]));
      });
      return terms.reduce((a, b) => this.emit("Add", [a, b]));
    });
  }

  #namedDim(name: string): string {
    const source = this.#sources.get(name);
    if (!source) throw new Error(`dimension ${name} is not a dimension of any input`);
    return this.once(`dim ${name}`, () =>
      this.emit("Shape", [source.input], { attributes: { start: source.axis, end: source.axis + 1 } }),
    );
  }

  /** A shape as an int64 vector. */
  shape(shape: Shape): string {
    if (shape.every((dim) => typeof dim === "number")) return this.integers(shape);
    return this.once(`shape ${shape}`, () =>
      this.emit(
        "Concat",
        shape.map((dim) => this.dim(dim)),
        { attributes: { axis: 0 } },
      ),
    );
  }

  /** The shape operand of a Reshape: one unknown among known non-zero sizes is left to the runtime. */
  reshapeTarget(shape: Shape): string {
    const unknown = shape.filter((dim) => namesIn(dim).length > 0).length;
    if (unknown !== 1 || shape.includes(0)) return this.shape(shape);
    return this.integers(shape.map((dim) => (typeof dim === "number" ? dim : -1)));
  }

  reshape(name: string, shape: Shape): string {
    return this.emit("Reshape", [name, this.reshapeTarget(shape)], { attributes: { allowzero: 1 } });
  }
}

function bytesOf(type: ElementType, data: ArrayLike<number>): Uint8Array {
  const array =
    type === "float"
      ? data instanceof Float32Array
        ? data
        : Float32Array.from(data)
      : type === "int"
        ? Int32Array.from(data)
        : type === "int64"
          ? BigInt64Array.from(Array.from(data, BigInt))
          : Uint8Array.from(data);
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
