/** The training step of the default shared encoder, 8 × 100 × 512, three layers run six times, dropout and Adam: beside PyTorch. */
import { RandomStream } from "../src/base/random.ts";
import { ortEngine } from "../src/engine/ort.ts";
import type { TensorRecord } from "../src/format/safetensors.ts";
import { input, mean, square, subtract } from "../src/graph/index.ts";
import { ParameterSharedTransformerEncoder } from "../src/model/seq2seq/shared-encoder.ts";
import { stateDict } from "../src/model/state-dict.ts";
import { inference, initialise, type Mode, Training } from "../src/nn/index.ts";
import { adam } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";
import { stepGraph } from "../src/train/step-graph.ts";
import { type Bench, compare, timed } from "./measure.ts";
import { raceSteps, torchSteps } from "./peer.ts";
import { floor, productsAlone } from "./products.ts";

const SHAPE = [8, 100, 512] as const;
const NAME = "shared encoder, training step";
const RATE = 1e-4;

function drawn(name: string): Float32Array {
  const random = new RandomStream(1, name);
  return Float32Array.from({ length: SHAPE[0] * SHAPE[1] * SHAPE[2] }, () => random.normal());
}

export const bench: Bench = async ({ say, note, rounds, threads }) => {
  const encoder = new ParameterSharedTransformerEncoder();
  const initial = initialise(encoder.parameters, 1);
  const inputs = { x: input("x", SHAPE), target: input("target", SHAPE) };
  const batch = { x: drawn("encoder input"), target: drawn("encoder target") };
  const lossOf = (mode: Mode) => mean(square(subtract(encoder.apply(inputs.x, { mode }), inputs.target)));
  const engine = await ortEngine({ threads });
  const plain = await engine.compile({ outputs: { loss: lossOf(inference) }, weights: initial });
  const loss = (await plain.run(batch)).loss!.data[0]!;
  await plain.release();

  const mode = new Training();
  const training = { loss: lossOf(mode), inputs, noise: mode.noise };
  const groups = [{ parameters: [...initial.keys()], optimiser: adam() }];
  const step = await TrainingStep.create({ engine, ...training, groups, initial, seed: 1 });
  const tensors = new Map<string, TensorRecord>(stateDict(encoder.parameters, initial));
  for (const [name, data] of Object.entries(batch)) tensors.set(`input.${name}`, { dtype: "F32", shape: SHAPE, data });
  const config = { plan: encoder.plan, rate: RATE };
  const modes = ["PyTorch eager"] as const;
  const peers = await torchSteps({ script: "torch_encoder_step.py", config, tensors, loss, threads, say, modes });
  const products = await productsAlone(engine, Object.values(stepGraph(training.loss, [...initial.keys()]).outputs));
  const times = await raceSteps({ ours: () => timed(() => step.run(batch, RATE)), products }, peers, rounds);
  await step.release();
  for (const peer of peers.keys()) note(floor(NAME, times.get("products")!, peer, times.get(peer)!));
  return [...peers.keys()].map((peer) => compare(NAME, 0.72, times.get("ours")!, peer, times.get(peer)!));
};
