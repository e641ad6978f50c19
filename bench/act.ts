/** Adaptive depth in use, mean 3.8 of 6, 16 texts of 128 tokens: only running tokens are computed, against PyTorch's loop over all of them. */
import { spreadDepths } from "../src/analysis/depth-bench.ts";
import { ortEngine } from "../src/engine/ort.ts";
import type { TensorRecord } from "../src/format/safetensors.ts";
import { albert } from "../src/model/albert/albert.ts";
import { SteppedAlbert, type SteppedResult } from "../src/model/albert/stepped.ts";
import { stateDict } from "../src/model/state-dict.ts";
import { initialise } from "../src/nn/index.ts";
import { type Bench, compare, interleave, timed } from "./measure.ts";
import { admitted, pythonPeer, torchPython, withTensors } from "./peer.ts";

const [BATCH, LENGTH] = [16, 128];
const sizes = { vocabulary: 1000, width: 768, heads: 12, hidden: 3072, depth: 6, length: LENGTH, epsilon: 1e-12 };
/** Probabilities of about 0.02 never add up to 1 in six depths: each token halts at the depth it is told. */
const halting = { biasInitial: -4 };
/** States are layer-normed, so of order 1; single precision through six depths. */
const TOLERANCE = 1e-3;

/** What the peer prints: mean |state|, the first numbers, mean depth. */
interface Checksum {
  mean: number;
  first: number[];
  depth: number;
}

const average = (values: ArrayLike<number>) => Array.from(values).reduce((a, b) => a + b, 0) / values.length;

function checkEqual({ sequence, updates }: SteppedResult, { mean, first, depth }: Checksum): void {
  const mine = [average(sequence.map(Math.abs)), ...sequence.subarray(0, first.length), average(updates)];
  const worst = Math.max(...[mean, ...first, depth].map((value, i) => Math.abs(value - mine[i]!)));
  if (!(worst <= TOLERANCE)) throw new Error(`the outputs differ by ${worst}`);
}

export const bench: Bench = async ({ say, rounds, threads }) => {
  const python = torchPython(say);
  if (!python) return [];
  const model = albert({ ...sizes, halting });
  const weights = initialise(model.parameters, 1);
  const stepped = await SteppedAlbert.create(await ortEngine({ threads }), model, weights);
  const caps = spreadDepths(BATCH * LENGTH, sizes.depth, 3.8);
  const ids = Int32Array.from({ length: BATCH * LENGTH }, (_, i) => 5 + ((i * 7919) % 990));
  const run = () => stepped.encode({ batch: BATCH, length: LENGTH, ids, caps });
  const ours = await run();

  const tensors = new Map<string, TensorRecord>(stateDict(model.parameters, weights));
  for (const [name, data] of Object.entries({ ids, caps })) {
    tensors.set(`input.${name}`, { dtype: "I32", shape: [BATCH, LENGTH], data });
  }
  const peer = await withTensors(tensors, (path) => {
    const args = ["--config", JSON.stringify(sizes), "--weights", path, "--threads", String(threads)];
    return admitted("PyTorch", pythonPeer(python, "torch_act.py", args), say, async (started) => {
      checkEqual(ours, await started.ask<Checksum>("checksum"));
    });
  });
  if (!peer) return [];
  const contenders = { ours: () => timed(run), torch: () => peer.ask<number[]>("forward 1") };
  await interleave(contenders, 2); // warm-up
  const times = await interleave(contenders, rounds);
  peer.end();
  await stepped.release();
  const name = `depth ${average(ours.updates).toFixed(1)} of 6, width ${sizes.width}, batch ${BATCH}`;
  return [compare(name, 0.6, times.get("ours")!, "PyTorch, dense loop", times.get("torch")!)];
};
