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

const sizes = { vocabulary: 8000, width: 256, heads: 8, hidden: 1024, length: 128, dropout: 0.1 };
export const config = { ...sizes, depth: 4, batch: 16 };
const NAME = "language model, training step";
const RATE = 1e-4;

function batchOf(): { ids: Int32Array; targets: Int32Array } {
  const random = new RandomStream(1, "bench batch");
  const draw = () => Int32Array.from({ length: config.batch * config.length }, () => random.integer(config.vocabulary));
  return { ids: draw(), targets: draw() };
}

/** Model, batch and step; `run` makes one update. */
export async function openStep(engine: Engine) {
  const model = languageModel({ ...sizes, plan: [0, 1, 2, 3] });
  const initial = initialise(model.parameters, 1);
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const objective = model.objective({ batch: config.batch, length: config.length, training: true });
  const groups = [{ parameters, optimiser: adamw({ weightDecay: 0.01 }) }];
  const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1 });
  const batch = batchOf();
  return { model, initial, parameters, objective, step, batch, run: () => step.run(batch, RATE) };
}

/** The loss with dropout off: what a peer must find too. */
async function plainLoss(engine: Engine, { model, initial, batch }: Awaited<ReturnType<typeof openStep>>) {
  const { loss } = model.objective({ batch: config.batch, length: config.length, training: false });
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
