/** The forward pass of the default shared encoder, 8 × 100 × 512, six layers deep, beside torch's nn.TransformerEncoder. */
import { RandomStream } from "../src/base/random.ts";
import { ortEngine } from "../src/engine/ort.ts";
import type { TensorRecord } from "../src/format/safetensors.ts";
import { input, simplify } from "../src/graph/index.ts";
import { EncoderProgram, ParameterSharedTransformerEncoder } from "../src/model/seq2seq/shared-encoder.ts";
import { stateDict } from "../src/model/state-dict.ts";
import { inference, initialise } from "../src/nn/index.ts";
import { type Bench, compare, interleave, timed } from "./measure.ts";
import { admitted, pythonPeer, torchPython, withTensors } from "./peer.ts";
import { floor, productsAlone } from "./products.ts";

const SHAPE = [8, 100, 512] as const;
const [NAME, PEER] = ["shared encoder, forward", "torch nn.TransformerEncoder"];
/** Outputs are layer-normed, so of order 1; single precision through six layers. */
const TOLERANCE = 1e-4;

export const bench: Bench = async ({ say, note, rounds, threads }) => {
  const python = torchPython(say);
  if (!python) return [];
  const encoder = new ParameterSharedTransformerEncoder();
  const weights = initialise(encoder.parameters, 1);
  const random = new RandomStream(1, "encoder input");
  const data = Float32Array.from({ length: SHAPE[0] * SHAPE[1] * SHAPE[2] }, () => random.normal());
  const x = { data, shape: SHAPE };
  const engine = await ortEngine({ threads });
  const program = await EncoderProgram.create(engine, encoder, weights);

  const y = await program.forward(x);
  const tensors = new Map<string, TensorRecord>(stateDict(encoder.parameters, weights));
  const peer = await withTensors(tensors.set("input.x", { dtype: "F32", shape: SHAPE, data }), (path) => {
    const args = ["--weights", path, "--config", JSON.stringify({ plan: encoder.plan }), "--threads", String(threads)];
    return admitted("PyTorch", pythonPeer(python, "torch_encoder.py", args), say, async (started) => {
      checkEqual(y, await started.ask<number[]>("checksum"));
    });
  });
  if (!peer) return [];

  const graph = simplify([encoder.apply(input("x", SHAPE), { mode: inference })]);
  const contenders = {
    ours: () => timed(() => program.forward(x)),
    products: await productsAlone(engine, graph, { weights }),
    torch: () => peer.ask<number[]>("forward 1"),
  };
  await interleave(contenders, 3); // warm-up
  const times = await interleave(contenders, rounds);
  peer.end();
  await program.release();
  const theirs = times.get("torch")!;
  note(floor(NAME, times.get("products")!, PEER, theirs));
  return [compare(NAME, 0.8, times.get("ours")!, PEER, theirs)];
};

function checkEqual(ours: { data: ArrayLike<number> }, [mean, ...first]: readonly number[]): void {
  const values = Array.from(ours.data);
  const mine = [values.reduce((a, b) => a + Math.abs(b), 0) / values.length, ...values.slice(0, first.length)];
  const worst = Math.max(...[mean!, ...first].map((value, i) => Math.abs(value - mine[i]!)));
  if (worst > TOLERANCE) throw new Error(`the outputs differ by ${worst}`);
}
