/** The training step of two transformer blocks, by plain gradient descent: against jax-js and TensorFlow.js on WebAssembly. */
import { messageOf } from "../src/base/errors.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { stepGraph } from "../src/train/step-graph.ts";
import { type Bench, type BenchOptions, compare, interleave, type Measurement, timed } from "./measure.ts";
import { admitted, nodePeer, type Peer, packageFolder, recordsOf, withTensors } from "./peer.ts";
import { floor, productsAlone } from "./products.ts";
import { CHECKED, checkLosses, config, drawn, openOurs, problem, shapeOf } from "./two-blocks.ts";

const NAME = "two transformer blocks, training step";
const TARGET = 0.2;
/** Peers take seconds a step, so few rounds are enough. */
const ROUNDS = 7;

/** What each peer needs. */
export const packages = {
  "jax-js": ["@jax-js/jax@0.1.25"],
  "TensorFlow.js": ["@tensorflow/tfjs@4.22.0", "@tensorflow/tfjs-backend-wasm@4.22.0"],
} as const;
const scripts: Readonly<Record<keyof typeof packages, string>> = {
  "jax-js": "jax_blocks.mjs",
  "TensorFlow.js": "tfjs_blocks.mjs",
};

/** What a peer says of itself: how it computes, and on how many threads. */
interface About {
  backend: string;
  threads: number;
}

/** One peer beside ours on as many threads as it has. */
async function against(name: string, peer: Peer, { rounds, say, note }: BenchOptions): Promise<Measurement> {
  const { backend, threads } = await peer.ask<About>("about");
  const engine = await ortEngine({ threads });
  const ours = await openOurs(engine, config);
  const { loss, initial } = problem(config);
  const losses: number[] = [];
  for (let i = 0; i < CHECKED; i++) losses.push((await ours.run()).loss);
  checkLosses(losses, await peer.ask<number[]>(`losses ${CHECKED}`));
  say(`${name} computes on ${backend}, ${threads} thread(s); losses agree: ${losses.map((loss) => loss.toFixed(4))}`);
  const contenders = {
    ours: () => timed(ours.run),
    products: await productsAlone(engine, Object.values(stepGraph(loss, [...initial.keys()]).outputs)),
    theirs: () => peer.ask<number[]>("step 1"),
  };
  await interleave(contenders, 1); // warm-up
  const times = await interleave(contenders, Math.min(rounds, ROUNDS));
  await ours.release();
  const title = `${name}, ${backend}, ${threads} thread${threads === 1 ? "" : "s"} each`;
  note(floor(NAME, times.get("products")!, title, times.get("theirs")!));
  return compare(NAME, TARGET, times.get("ours")!, title, times.get("theirs")!);
}

export const bench: Bench = async (options) => {
  const { say } = options;
  const tensors = recordsOf(problem(config).initial);
  for (const name of ["x", "target"])
    tensors.set(`input.${name}`, { dtype: "F32", shape: shapeOf(config), data: drawn(name, config) });
  const found: Measurement[] = [];
  await withTensors(tensors, async (path) => {
    for (const name of Object.keys(packages) as (keyof typeof packages)[]) {
      const folder = packageFolder(name, packages[name], say);
      const args = [folder ?? "", path, JSON.stringify(config)];
      const peer = folder && (await admitted(name, nodePeer(scripts[name], args), say));
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
