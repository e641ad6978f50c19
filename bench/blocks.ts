/** The training step of two transformer blocks, by plain gradient descent: against jax-js and TensorFlow.js on WebAssembly. */
import { messageOf } from "../src/base/errors.ts";
import { RandomStream } from "../src/base/random.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { flattenRows, input, mean, square, subtract } from "../src/graph/index.ts";
import { inference, initialise, normal, TransformerBlock } from "../src/nn/index.ts";
import { sgd } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";
import { type Bench, type BenchOptions, compare, interleave, type Measurement, timed } from "./measure.ts";
import { admitted, nodePeer, type Peer, packageFolder, recordsOf, withTensors } from "./peer.ts";

const config = { width: 256, heads: 8, hidden: 1024, batch: 16, length: 128, rate: 0.1 };
const SHAPE = [config.batch, config.length, config.width] as const;
const NAME = "two transformer blocks, training step";
const TARGET = 0.2;
/** Relative. Single precision, and a mean over half a million numbers that jax-js adds up one by one. */
const TOLERANCE = 1e-3;
/** Updates from the first weights whose losses must agree: forward pass, gradients and update are then the same. */
const CHECKED = 3;
/** Peers take seconds a step, so few rounds are enough. */
const ROUNDS = 7;

const peers = {
  "jax-js": { script: "jax_blocks.mjs", packages: ["@jax-js/jax@0.1.25"] },
  "TensorFlow.js": {
    script: "tfjs_blocks.mjs",
    packages: ["@tensorflow/tfjs@4.22.0", "@tensorflow/tfjs-backend-wasm@4.22.0"],
  },
} as const;

/** What a peer says of itself: how it computes, and on how many threads. */
interface About {
  backend: string;
  threads: number;
}

function drawn(name: string): Float32Array {
  const random = new RandomStream(1, name);
  return Float32Array.from({ length: SHAPE[0] * SHAPE[1] * SHAPE[2] }, () => random.normal());
}

/** Two pre-norm blocks; the loss is the mean square of output − target. */
function problem() {
  const { width, heads, hidden } = config;
  const options = { width, heads, hidden, dropout: 0, activation: "relu", weight: normal(0.05) } as const;
  const blocks = [0, 1].map((i) => new TransformerBlock(`blocks.${i}`, options));
  const [x, target] = [input("x", SHAPE), input("target", SHAPE)];
  const context = { rows: { batch: config.batch, length: config.length }, mode: inference };
  const y = blocks.reduce((state, block) => block.apply(state, context), flattenRows(x));
  const loss = mean(square(subtract(y, flattenRows(target))));
  const initial = initialise(
    blocks.flatMap((block) => block.parameters),
    1,
  );
  return { loss, inputs: { x, target }, initial };
}

async function openOurs(threads: number, { loss, inputs, initial }: ReturnType<typeof problem>) {
  const groups = [{ parameters: [...initial.keys()], optimiser: sgd() }];
  const engine = await ortEngine({ threads });
  const step = await TrainingStep.create({ engine, loss, inputs, noise: [], groups, initial, seed: 1 });
  const batch = { x: drawn("x"), target: drawn("target") };
  return { run: () => step.run(batch, config.rate), release: () => step.release() };
}

function checkLosses(ours: readonly number[], theirs: readonly number[]): void {
  const worst = Math.max(...ours.map((loss, i) => Math.abs(theirs[i]! / loss - 1)));
  if (!(worst <= TOLERANCE)) throw new Error(`its losses are ${theirs.join(", ")}, ours ${ours.join(", ")}`);
}

/** One peer beside ours on as many threads as it has. */
async function against(name: string, peer: Peer, { rounds, say }: BenchOptions): Promise<Measurement> {
  const { backend, threads } = await peer.ask<About>("about");
  const ours = await openOurs(threads, problem());
  const losses: number[] = [];
  for (let i = 0; i < CHECKED; i++) losses.push((await ours.run()).loss);
  checkLosses(losses, await peer.ask<number[]>(`losses ${CHECKED}`));
  say(`${name} computes on ${backend}, ${threads} thread(s); losses agree: ${losses.map((loss) => loss.toFixed(4))}`);
  const contenders = { ours: () => timed(ours.run), theirs: () => peer.ask<number[]>("step 1") };
  await interleave(contenders, 1); // warm-up
  const times = await interleave(contenders, Math.min(rounds, ROUNDS));
  await ours.release();
  const title = `${name}, ${backend}, ${threads} thread${threads === 1 ? "" : "s"} each`;
  return compare(NAME, TARGET, times.get("ours")!, title, times.get("theirs")!);
}

export const bench: Bench = async (options) => {
  const { say } = options;
  const tensors = recordsOf(problem().initial);
  for (const name of ["x", "target"]) tensors.set(`input.${name}`, { dtype: "F32", shape: SHAPE, data: drawn(name) });
  const found: Measurement[] = [];
  await withTensors(tensors, async (path) => {
    for (const [name, { script, packages }] of Object.entries(peers)) {
      const folder = packageFolder(name, packages, say);
      const args = [folder ?? "", path, JSON.stringify(config)];
      const peer = folder && (await admitted(name, nodePeer(script, args), say));
      if (!peer) continue;
      try {
        found.push(await against(name, peer, options));
      } catch (error) {
        say(`${name} is left out: ${messageOf(error)}`);
      } finally {
        peer.end();
      }
    }
  });
  return found;
};
