/** The training step of a 4-layer language model: against PyTorch, and against its own matrix products timed alone. */
import { RandomStream } from "../src/base/random.ts";
import type { Engine } from "../src/engine/engine.ts";
import { ortEngine } from "../src/engine/ort.ts";
import type { Tensor } from "../src/graph/index.ts";
import { languageModel } from "../src/model/language/language.ts";
import { initialise } from "../src/nn/index.ts";
import { firstValues } from "../src/train/first-values.ts";
import { adamw } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";
import { stepGraph } from "../src/train/step-graph.ts";
import { type Bench, compare, timed } from "./measure.ts";
import { raceSteps, recordsOf, torchSteps } from "./peer.ts";
import { floor, productsAlone } from "./products.ts";

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

function trained({ batch, ...sizes }: ModelConfig) {
  const model = languageModel(sizes);
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const size = { batch, length: sizes.length };
  return { model, size, parameters, objective: model.objective({ ...size, training: true }) };
}

/** The matrix products of a step, timed alone. */
export function stepProducts(engine: Engine, config: ModelConfig): ReturnType<typeof productsAlone> {
  const { objective, parameters } = trained(config);
  return productsAlone(engine, Object.values(stepGraph(objective.loss, parameters).outputs));
}

/** Model, batch and step; `run` makes one update. */
export async function openStep(engine: Engine, { recompute, ...given }: ModelConfig = config) {
  const { model, size, parameters, objective } = trained(given);
  const initial = firstValues(model.parameters, 1);
  const groups = [{ parameters, optimiser: adamw({ weightDecay: 0.01 }) }];
  const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1, recompute });
  const batch = batchOf(given);
  const ours = { model, size, parameters, objective, step, batch, run: () => step.run(batch, RATE) };
  return { ...ours, initial: () => initialise(model.parameters, 1) };
}

/** The loss with dropout off: what a peer must find too. */
export async function plainLoss(engine: Engine, { model, size, initial, batch }: Awaited<ReturnType<typeof openStep>>) {
  const { loss } = model.objective({ ...size, training: false });
  const program = await engine.compile({ outputs: { loss }, weights: new Map<Tensor, Float32Array>(initial()) });
  const found = (await program.run(batch)).loss!.data[0]!;
  await program.release();
  return found;
}

export const bench: Bench = async ({ say, note, rounds, threads }) => {
  const engine = await ortEngine({ threads });
  const ours = await openStep(engine);
  const contenders = { ours: () => timed(ours.run), products: await stepProducts(engine, config) };
  const tensors = recordsOf(ours.initial());
  for (const [name, data] of Object.entries(ours.batch)) {
    tensors.set(`input.${name}`, { dtype: "I32", shape: [config.batch, config.length], data });
  }
  const loss = await plainLoss(engine, ours);
  const peers = await torchSteps({ script: "torch_language_model.py", config, tensors, loss, threads, say });
  const times = await raceSteps(contenders, peers, rounds);
  await ours.step.release();
  const [mine, alone] = [times.get("ours")!, times.get("products")!];
  for (const peer of peers.keys()) note(floor(NAME, alone, peer, times.get(peer)!));
  return [
    ...[...peers.keys()].map((peer) => compare(NAME, 0.68, mine, peer, times.get(peer)!)),
    compare(NAME, 1.35, mine, "its own matrix products, timed alone", alone),
  ];
};
