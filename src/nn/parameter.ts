/** Parameters: a graph node with a name, the distribution its first value is drawn from, and its role. */
import { drawNormal, drawUniform } from "../base/draws.ts";
import { RandomStream } from "../base/random.ts";
import { parameter, type Role, roleOf, type Tensor } from "../graph/index.ts";

export type { Role } from "../graph/index.ts";

/** Draws the first value of a weight; linear weights have shape [out, in]. */
export type Initial = (shape: readonly number[], random: RandomStream) => Float32Array;

/** What training moves. Blocks of one's own may leave the role out: it is then taken from the shape. */
export interface Parameter {
  readonly name: string;
  readonly tensor: Tensor<"parameter">;
  readonly initial: Initial;
  /** How it is updated: optimiser groups are made by it. */
  readonly role?: Role | undefined;
}

/** A new parameter. Default role: a matrix where it has two axes, otherwise a bias. */
export function newParameter(name: string, shape: readonly number[], initial: Initial, role?: Role): Parameter {
  const tensor = parameter(name, shape);
  return { name, tensor, initial, role: roleOf({ tensor, role }) };
}

const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);
const fans = (shape: readonly number[]) => ({ out: shape[0] ?? 1, in: sizeOf(shape.slice(1)) });

function filled(shape: readonly number[], fill: (values: Float32Array) => void): Float32Array {
  const values = new Float32Array(sizeOf(shape));
  fill(values);
  return values;
}

/** All 0. */
export const zeros: Initial = (shape) => new Float32Array(sizeOf(shape));
/** All 1. */
export const ones: Initial = (shape) => new Float32Array(sizeOf(shape)).fill(1);
/** Normal, with mean 0 and the given deviation. */
export const normal =
  (deviation: number): Initial =>
  (shape, random) =>
    filled(shape, (values) => drawNormal(random, values, deviation));
/** Even between ± the given bound. */
export const uniform =
  (bound: number): Initial =>
  (shape, random) =>
    filled(shape, (values) => drawUniform(random, values, bound));
/** ±√(6 / (in + out)); Glorot's, and Xavier's. */
export const xavierUniform: Initial = (shape, random) => {
  const { in: fanIn, out } = fans(shape);
  return uniform(Math.sqrt(6 / (fanIn + out)))(shape, random);
};
/** ±1 / √in: PyTorch's default for linear layers. */
export const kaimingUniform: Initial = (shape, random) => uniform(1 / Math.sqrt(fans(shape).in))(shape, random);

/** First values for all parameters. Each has its own stream, named after it, so that adding one does not move the others. */
export function initialise(parameters: readonly Parameter[], seed: number): Map<Tensor<"parameter">, Float32Array> {
  return new Map(
    parameters.map(({ name, tensor, initial }) => {
      return [tensor, initial(tensor.attributes.shape, new RandomStream(seed, `initial ${name}`))];
    }),
  );
}
