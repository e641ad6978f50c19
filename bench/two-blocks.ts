/** The work of the blocks benchmarks, in Node and on pages: two transformer blocks trained by plain gradient descent. */
import { RandomStream } from "../src/base/random.ts";
import type { Engine } from "../src/engine/engine.ts";
import { flattenRows, input, mean, square, subtract } from "../src/graph/index.ts";
import { inference, initialise, normal, TransformerBlock } from "../src/nn/index.ts";
import { sgd } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";

const sizes = { width: 256, heads: 8, hidden: 1024, rate: 0.1 };
/** As in Node. */
export const config = { ...sizes, batch: 16, length: 128 };
/** As on pages: an eighth of the tokens, since their engines are slower. */
export const pageConfig = { ...sizes, batch: 4, length: 64 };

type Config = typeof config;

export const shapeOf = ({ batch, length, width }: Config) => [batch, length, width] as const;

/** Relative. Single precision, and a mean over half a million numbers that jax-js adds up one by one. */
const TOLERANCE = 1e-3;
/** Updates from the first weights whose losses must agree: forward pass, gradients and update are then the same. */
export const CHECKED = 3;

export function drawn(name: string, { batch, length, width }: Config): Float32Array {
  const random = new RandomStream(1, name);
  return Float32Array.from({ length: batch * length * width }, () => random.normal());
}

/** Two pre-norm blocks; the loss is the mean square of output − target. */
export function problem(config: Config) {
  const { width, heads, hidden } = config;
  const options = { width, heads, hidden, dropout: 0, activation: "relu", weight: normal(0.05) } as const;
  const blocks = [0, 1].map((i) => new TransformerBlock(`blocks.${i}`, options));
  const [x, target] = [input("x", shapeOf(config)), input("target", shapeOf(config))];
  const context = { rows: { batch: config.batch, length: config.length }, mode: inference };
  const y = blocks.reduce((state, block) => block.apply(state, context), flattenRows(x));
  const loss = mean(square(subtract(y, flattenRows(target))));
  const initial = initialise(
    blocks.flatMap((block) => block.parameters),
    1,
  );
  return { loss, inputs: { x, target }, initial };
}

/** Our side. */
export async function openOurs(engine: Engine, config: Config) {
  const { loss, inputs, initial } = problem(config);
  const groups = [{ parameters: [...initial.keys()], optimiser: sgd() }];
  const step = await TrainingStep.create({ engine, loss, inputs, noise: [], groups, initial, seed: 1 });
  const batch = { x: drawn("x", config), target: drawn("target", config) };
  return { run: () => step.run(batch, config.rate), release: () => step.release() };
}

/** Throws where a peer's losses are not ours. */
export function checkLosses(ours: readonly number[], theirs: readonly number[]): void {
  const worst = Math.max(...ours.map((loss, i) => Math.abs(theirs[i]! / loss - 1)));
  if (!(worst <= TOLERANCE)) throw new Error(`its losses are ${theirs.join(", ")}, ours ${ours.join(", ")}`);
}
