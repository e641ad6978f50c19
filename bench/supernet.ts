/** The training step of the PAR supernet in its base size: against PyTorch, and against its own matrix products timed alone. */
import { RandomStream } from "../src/base/random.ts";
import type { Engine } from "../src/engine/engine.ts";
import { ortEngine } from "../src/engine/ort.ts";
import type { Tensor } from "../src/graph/index.ts";
import { type ParModel, parModel } from "../src/model/par/par.ts";
import { initialise } from "../src/nn/index.ts";
import { adam } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";
import { stepGraph } from "../src/train/step-graph.ts";
import { type Bench, compare, timed } from "./measure.ts";
import { raceSteps, recordsOf, torchSteps } from "./peer.ts";
import { floor, productsAlone } from "./products.ts";

const options = {
  vocabulary: 12_000,
  width: 128,
  heads: 4,
  hidden: 512,
  blocks: 6,
  memory: 16,
  dropout: 0.1,
  cutoffs: [250, 2500],
  projectionFactor: 4,
};
const config = { ...options, batch: 32, length: 32 };
const NAME = "supernet, training step";
const RATE = 1e-4;

/** Ids as skewed as words are: the chance of being below n grows with log n. */
function batchOf(): { ids: Int32Array; targets: Int32Array } {
  const random = new RandomStream(1, "bench batch");
  const word = () => Math.floor((config.vocabulary + 1) ** random.uniform()) - 1;
  const draw = () => Int32Array.from({ length: config.batch * config.length }, word);
  return { ids: draw(), targets: draw() };
}

/** The loss without memory, dropout and noise: what the peer must find too. */
async function plainLoss(
  engine: Engine,
  model: ParModel,
  initial: ReadonlyMap<Tensor, Float32Array>,
  batch: ReturnType<typeof batchOf>,
) {
  const { loss } = model.objective({ batch: config.batch, length: config.length, memory: 0, training: false });
  const program = await engine.compile({ outputs: { loss }, weights: initial });
  const rows = Object.entries(model.rowsOf(batch.targets)).map(([name, data]) => [
    name,
    { data, shape: [data.length] },
  ]);
  const { loss: found } = await program.run({ ...batch, ...Object.fromEntries(rows) });
  await program.release();
  return found!.data[0]!;
}

export const bench: Bench = async ({ say, note, rounds, threads }) => {
  const engine = await ortEngine({ threads });
  const model = parModel(options);
  const initial = initialise(model.parameters, 1);
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const objective = model.objective({ batch: config.batch, length: config.length, training: true });
  const groups = [{ parameters, optimiser: adam() }];
  const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1 });
  const batch = batchOf();
  const rows = model.rowsOf(batch.targets);
  const sizes = new Map(
    model.words.rowInputs.map(({ shape, attributes }) => [String(shape[0]), rows[attributes.name]!.length]),
  );
  const products = await productsAlone(engine, Object.values(stepGraph(objective.loss, parameters).outputs), { sizes });
  const feeds = { ...batch, ...rows, missing: [0], temperature: [1] };
  const tensors = recordsOf(initial);
  for (const [name, data] of Object.entries(batch)) {
    tensors.set(`input.${name}`, { dtype: "I32", shape: [config.batch, config.length], data });
  }
  const contenders = { ours: () => timed(() => step.run(feeds, RATE)), products };
  const loss = await plainLoss(engine, model, new Map<Tensor, Float32Array>(initial), batch);
  const peers = await torchSteps({ script: "torch_supernet.py", config, tensors, loss, threads, say });
  const times = await raceSteps(contenders, peers, rounds);
  await step.release();
  const [ours, alone] = [times.get("ours")!, times.get("products")!];
  for (const peer of peers.keys()) note(floor(NAME, alone, peer, times.get(peer)!));
  return [
    ...[...peers.keys()].map((peer) => compare(NAME, 0.62, ours, peer, times.get(peer)!)),
    compare(NAME, 1.3, ours, "its own matrix products, timed alone", alone),
  ];
};
