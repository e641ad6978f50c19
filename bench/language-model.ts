/** The training step of a 4-layer language model: against PyTorch, and against its own matrix products timed alone. */
import { RandomStream } from "../src/base/random.ts";
import type { Engine } from "../src/engine/engine.ts";
import { ortEngine } from "../src/engine/ort.ts";
import type { Tensor } from "../src/graph/index.ts";
import { languageModel } from "../src/model/language/language.ts";
import { initialise } from "../src/nn/index.ts";
import { adamw } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";
import { stepGraph } from "../src/train/step-graph.ts";
import { type Bench, compare, timed } from "./measure.ts";
import { raceSteps, recordsOf, torchSteps } from "./peer.ts";
import { productsAlone } from "./products.ts";

/** Sizes of a language model and of its batches, as torch_language_model.py takes them. */
export interface ModelConfig {
  readonly vocabulary: number;
  readonly width: number;
  readonly heads: number;
  readonly hidden: number;
  readonly length: number;
  readonly dropout: number;
  /** Which block runs at each depth. */
  readonly plan: readonly number[];
  readonly batch: number;
  /** Activations are computed again instead of kept. */
  readonly recompute?: boolean;
}

export const config: ModelConfig = {
  vocabulary: 8000,
  width: 256,
  heads: 8,
  hidden: 1024,
  length: 128,
  dropout: 0.1,
  plan: [0, 1, 2, 3],
  batch: 16,
};
const NAME = "language model, training step";
const RATE = 1e-4;

function batchOf({ batch, length, vocabulary }: ModelConfig): { ids: Int32Array; targets: Int32Array } {
  const random = new RandomStream(1, "bench batch");
  const draw = () => Int32Array.from({ length: batch * length }, () => random.integer(vocabulary));
  return { ids: draw(), targets: draw() };
}

/** Model, batch and step; `run` makes one update. */
export async function openStep(engine: Engine, { batch: rows, recompute, ...sizes }: ModelConfig = config) {
  const model = languageModel(sizes);
  const initial = initialise(model.parameters, 1);
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const size = { batch: rows, length: sizes.length };
  const objective = model.objective({ ...size, training: true });
  const groups = [{ parameters, optimiser: adamw({ weightDecay: 0.01 }) }];
  const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1, recompute });
  const batch = batchOf({ ...sizes, batch: rows });
  return { model, size, initial, parameters, objective, step, batch, run: () => step.run(batch, RATE) };
}

/** The loss with dropout off: what a peer must find too. */
export async function plainLoss(engine: Engine, { model, size, initial, batch }: Awaited<ReturnType<typeof openStep>>) {
  const { loss } = model.objective({ ...size, training: false });
  const program = await engine.compile({ outputs: { loss }, weights: new Map<Tensor, Float32Array>(initial) });
  const found = (await program.run(batch)).loss!.data[0]!;
  await program.release();
  return found;
}

export const bench: Bench = async ({ say, rounds, threads }) => {
  const engine = await ortEngine({ threads });
  const ours = await openStep(engine);
  const { outputs } = stepGraph(ours.objective.loss, ours.parameters);
  const contenders = {
    ours: () => timed(ours.run),
    products: await productsAlone(engine, Object.values(outputs)),
  };
  const tensors = recordsOf(ours.initial);
  for (const [name, data] of Object.entries(ours.batch)) {
    tensors.set(`input.${name}`, { dtype: "I32", shape: [config.batch, config.length], data });
  }
  const loss = await plainLoss(engine, ours);
  const peers = await torchSteps({ script: "torch_language_model.py", config, tensors, loss, threads, say });
  const times = await raceSteps(contenders, peers, rounds);
  await ours.step.release();
  const mine = times.get("ours")!;
  return [
    ...[...peers.keys()].map((peer) => compare(NAME, 0.9, mine, peer, times.get(peer)!)),
    compare(NAME, 1.35, mine, "its own matrix products, timed alone", times.get("products")!),
  ];
};
