/** The training step of a 4-layer language model: against PyTorch, and against its own matrix products timed alone. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RandomStream } from "../src/base/random.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { type TensorRecord, writeSafetensors } from "../src/format/safetensors.ts";
import type { Tensor } from "../src/graph/index.ts";
import { languageModel } from "../src/model/language.ts";
import { initialise } from "../src/nn/index.ts";
import { adamw } from "../src/train/optimiser.ts";
import { TrainingStep } from "../src/train/step.ts";
import { stepGraph } from "../src/train/stepgraph.ts";
import {
  type Bench,
  type Contender,
  compare,
  findPython,
  interleave,
  type Measurement,
  PythonPeer,
  timed,
} from "./measure.ts";
import { productsAlone } from "./products.ts";

const config = { vocabulary: 8000, width: 256, heads: 8, hidden: 1024, depth: 4, batch: 16, length: 128, dropout: 0.1 };
const NAME = "language model, training step";
const RATE = 1e-4;

function batchOf(): { ids: Int32Array; targets: Int32Array } {
  const random = new RandomStream(1, "bench batch");
  const draw = () => Int32Array.from({ length: config.batch * config.length }, () => random.integer(config.vocabulary));
  return { ids: draw(), targets: draw() };
}

export const bench: Bench = async ({ say, rounds, threads }) => {
  const engine = await ortEngine({ threads });
  const model = languageModel({ ...config, plan: [0, 1, 2, 3] });
  const initial = initialise(model.parameters, 1);
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const objective = model.objective({ batch: config.batch, length: config.length, training: true });
  const groups = [{ parameters, optimiser: adamw({ weightDecay: 0.01 }) }];
  const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1 });
  const products = await productsAlone(engine, Object.values(stepGraph(objective.loss, parameters).outputs));
  const batch = batchOf();
  const tensors = new Map<string, TensorRecord>(
    [...initial].map(([{ attributes }, data]) => [attributes.name, { dtype: "F32", shape: attributes.shape, data }]),
  );
  for (const [name, data] of Object.entries(batch)) {
    tensors.set(`input.${name}`, { dtype: "I32", shape: [config.batch, config.length], data });
  }
  const plain = model.objective({ batch: config.batch, length: config.length, training: false });
  const weights = new Map<Tensor, Float32Array>(initial);
  const evaluation = await engine.compile({ outputs: { loss: plain.loss }, weights });
  const ourLoss = (await evaluation.run(batch)).loss!.data[0]!;
  await evaluation.release();

  const contenders: Record<string, Contender> = {
    ours: () => timed(() => step.run(batch, RATE)),
    products,
  };
  const folder = mkdtempSync(join(tmpdir(), "layerwise-bench-"));
  const peers = await openPeers(folder, writeSafetensors(tensors), threads, ourLoss, say);
  for (const [name, peer] of peers) contenders[name] = () => peer.ask<number[]>("step 1");

  await interleave(contenders, 3); // warm-up
  const times = await interleave(contenders, rounds);
  for (const peer of peers.values()) peer.end();
  rmSync(folder, { recursive: true });
  const ours = times.get("ours")!;
  const rows: Measurement[] = [...peers.keys()].map((peer) => compare(NAME, 0.9, ours, peer, times.get(peer)!));
  return [...rows, compare(NAME, 1.35, ours, "its own matrix products, timed alone", times.get("products")!)];
};

/** PyTorch eager and compiled, where they are there and compute the same loss from the same weights. */
async function openPeers(
  folder: string,
  weights: Uint8Array,
  threads: number,
  ourLoss: number,
  say: (text: string) => void,
) {
  const peers = new Map<string, PythonPeer>();
  const python = findPython(["torch", "safetensors"]);
  if (!python) {
    say(
      "PyTorch is absent: pip install torch==2.13.0 numpy safetensors, and set LAYERWISE_PYTHON if it is not python3's",
    );
    return peers;
  }
  const path = join(folder, "weights.safetensors");
  writeFileSync(path, weights);
  const args = ["--config", JSON.stringify(config), "--weights", path, "--threads", String(threads)];
  for (const [name, extra] of [["PyTorch eager", []] as const, ["torch.compile", ["--compile"]] as const]) {
    const peer = new PythonPeer(python, "torch_language_model.py", [...args, ...extra]);
    try {
      say(`starting ${name}`);
      await peer.line();
      const theirs = await peer.ask<number>("loss");
      if (Math.abs(theirs - ourLoss) > 1e-4) throw new Error(`its loss is ${theirs}, ours ${ourLoss}`);
      peers.set(name, peer);
    } catch (error) {
      say(`${name} is left out: ${(error as Error).message}`);
      peer.end();
    }
  }
  return peers;
}
