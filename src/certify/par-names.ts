/** The original's names and layouts in PAR Transformer-XL cases: kernels are in × out there, out × in here. */
import { type Engine, type engines, graph, type nn } from "../index.ts";
import { compare, type Finding, floats, type GoldenCase } from "./case.ts";

type Values = ArrayLike<number>;

/** Sizes of a layer in a case, as it names them. */
export interface LayerSizes {
  readonly batch: number;
  readonly length: number;
  readonly memory: number;
  readonly width: number;
  readonly heads: number;
  readonly straightThrough: boolean;
}

/** Sizes of a model in a case. */
export interface ParSizes extends LayerSizes {
  readonly segments: number;
}

/** An adaptive softmax in a case. */
export interface SoftmaxConfig extends Pick<LayerSizes, "batch" | "length" | "width"> {
  readonly vocabulary: number;
  readonly cutoffs: readonly number[];
  readonly projectionFactor: number;
  readonly projectionSizes: readonly number[];
}

/** blocks.0.dense.up.weight → block0.dense.first.kernel */
export function originalName(name: string): string {
  return name
    .replace(/^blocks\.(\d+)\./, "block$1.")
    .replace(/\.tails\.(\d+)\./, ".tail$1.")
    .replace("dense.up", "dense.first")
    .replace("dense.down", "dense.second")
    .replace("norm.weight", "norm.gamma")
    .replace("norm.bias", "norm.beta")
    .replace("embedding.weight", "embedding")
    .replace(/\.weight$/, ".kernel");
}

const isKernel = ({ name, tensor }: nn.Parameter) =>
  originalName(name).endsWith(".kernel") && tensor.attributes.shape.length === 2;

/** [rows, columns] → [columns, rows] */
function transposed(values: Values, rows: number, columns: number): Float32Array {
  return Float32Array.from({ length: rows * columns }, (_, i) => values[(i % rows) * columns + Math.floor(i / rows)]!);
}

/** A stored tensor of a parameter in our layout. */
export function stored(golden: GoldenCase, prefix: string, parameter: nn.Parameter): Float32Array {
  const values = floats(golden, `${prefix}${originalName(parameter.name)}`);
  const [rows, columns] = parameter.tensor.attributes.shape as [number, number];
  return isKernel(parameter) ? transposed(values, columns, rows) : values;
}

export function weightsOf(
  golden: GoldenCase,
  parameters: readonly nn.Parameter[],
): Map<graph.Tensor<"parameter">, Float32Array> {
  return new Map(parameters.map((parameter) => [parameter.tensor, stored(golden, "weight.", parameter)]));
}

interface Exceptions {
  readonly zeroGradients?: readonly string[];
  readonly roundingOnlyGradients?: readonly string[];
}

const largestOf = (values: Values) => Array.from(values).reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/** The largest gradient in a file: the scale of those that are nothing but rounding. */
function gradientScale(golden: GoldenCase): number {
  const names = [...golden.tensors.keys()].filter((name) => name.startsWith("grad."));
  return Math.max(...names.map((name) => largestOf(floats(golden, name))));
}

/** Zero gradients must be zero; those that are rounding only are held to 1e-6 of the largest gradient. */
export function compareGradient(golden: GoldenCase, name: string, actual: Values, expected: Values): Finding {
  const { zeroGradients = [], roundingOnlyGradients = [] } = golden.about as Exceptions;
  const tensor = `grad.${name}`;
  if (roundingOnlyGradients.includes(tensor)) {
    return { tensor, error: largestOf(actual) / gradientScale(golden), tolerance: 1e-6 };
  }
  if (!zeroGradients.includes(tensor)) return compare(tensor, actual, expected);
  return { tensor, error: largestOf(actual), tolerance: Number.MIN_VALUE };
}

/** The key third of the q, v, k bias moves all logits of a query alike: its gradient is rounding, the rest is not. */
export function compareParameterGradient(golden: GoldenCase, parameter: nn.Parameter, actual: Values): Finding[] {
  const name = originalName(parameter.name);
  const expected = stored(golden, "grad.", parameter);
  const { zeroGradients = [], roundingOnlyGradients = [] } = golden.about as Exceptions;
  const special = [...zeroGradients, ...roundingOnlyGradients].includes(`grad.${name}`);
  if (!name.endsWith("qvk.bias") || special) {
    return [compareGradient(golden, name, actual, expected)];
  }
  const split = (expected.length * 2) / 3;
  const key = Array.from(actual).slice(split);
  return [
    compare(`grad.${name}`, Array.from(actual).slice(0, split), expected.slice(0, split)),
    { tensor: `grad.${name} (key)`, error: largestOf(key) / gradientScale(golden), tolerance: 1e-6 },
  ];
}

/** Simplifies, compiles, runs once, and gives the results by name. */
export async function evaluate(
  engine: Engine,
  wanted: Readonly<Record<string, graph.Tensor>>,
  feeds: engines.Feeds,
  weights: ReadonlyMap<graph.Tensor, Float32Array> = new Map(),
): Promise<Record<string, ArrayLike<number>>> {
  const names = Object.keys(wanted);
  const simple = graph.simplify(Object.values(wanted));
  const outputs = Object.fromEntries(names.map((name, i) => [name, simple[i]!]));
  const program = await engine.compile({ outputs, weights });
  const results = await program.run(feeds);
  await program.release();
  return Object.fromEntries(names.map((name) => [name, results[name]!.data]));
}
