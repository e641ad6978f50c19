/** Products in 8-bit integers, where a model is used: the forward pass and generation beside the same in 32 bits, and beside PyTorch's dynamic quantisation. */
import { RandomStream } from "../src/base/random.ts";
import type { Engine } from "../src/engine/engine.ts";
import { ortEngine } from "../src/engine/ort.ts";
import type { TensorRecord } from "../src/format/safetensors.ts";
import { generateWith } from "../src/model/generation.ts";
import { languageProgram } from "../src/model/language/export.ts";
import { languageModel } from "../src/model/language/language.ts";
import { initialise } from "../src/nn/index.ts";
import { type Bench, type BenchOptions, type Contender, compare, interleave, timed } from "./measure.ts";
import { admitted, type Peer, pythonPeer, recordsOf, torchPython, withTensors } from "./peer.ts";

const [ROWS, LENGTH, PROMPT] = [8, 128, 16];
const sizes = { vocabulary: 8000, width: 256, heads: 8, hidden: 1024, length: 256 };
const config = { ...sizes, depth: 4, tokens: 128 };
const TARGET = 0.6;

const model = languageModel({ ...sizes, plan: [0, 1, 2, 3] });
const weights = initialise(model.parameters, 1);
const drawn = (name: string, count: number) => {
  const random = new RandomStream(1, name);
  return Int32Array.from({ length: count }, () => random.integer(sizes.vocabulary));
};
const [prompt, ids] = [drawn("int8 prompt", PROMPT), drawn("int8 texts", ROWS * LENGTH)];

/** What an engine does with the model: logits of a batch, and a text. */
async function used(engine: Engine) {
  const program = await engine.compile(languageProgram(model, weights));
  const decoder = await model.open(engine, weights);
  return {
    forward: async () => (await program.run({ ids: { data: ids, shape: [ROWS, LENGTH] } })).logits!.data,
    generate: async () => {
      for await (const _ of generateWith(decoder, { prompt, maxTokens: config.tokens, temperature: 0 }));
    },
    release: async () => void (await Promise.all([program.release(), decoder.release()])),
  };
}

/** Mean size of the right numbers, and the mean distance as a fraction of it. */
function distance(exact: ArrayLike<number>, near: ArrayLike<number>): readonly [number, number] {
  let [size, off] = [0, 0];
  for (let i = 0; i < exact.length; i++) {
    size += Math.abs(exact[i]!);
    off += Math.abs(near[i]! - exact[i]!);
  }
  return [size / exact.length, off / size];
}

export const bench: Bench = async (options) => {
  const { rounds, threads, say } = options;
  const [exact, small] = [
    await used(await ortEngine({ threads })),
    await used(await ortEngine({ threads, int8: true })),
  ];
  const right = (await exact.forward()).slice();
  const [size, off] = distance(right, await small.forward());
  say(`logits are off by ${(100 * off).toFixed(2)} % of their mean size`);
  const peer = await openPeer(options, size);
  const rows = [];
  for (const [what, name] of [
    ["forward", `int8, forward ${ROWS} × ${LENGTH}`],
    ["generate", `int8, generation, ${config.tokens} tokens`],
  ] as const) {
    const contenders: Record<string, Contender> = { exact: () => timed(exact[what]), small: () => timed(small[what]) };
    if (peer) contenders.peer = () => peer.ask<number[]>(`${what} 1`);
    await interleave(contenders, 2); // warm-up
    const times = await interleave(contenders, rounds);
    const ours = times.get("small")!;
    rows.push(compare(name, TARGET, ours, "ours in 32 bits", times.get("exact")!));
    if (peer) rows.push(compare(name, 1, ours, "PyTorch, dynamic int8", times.get("peer")!));
  }
  peer?.end();
  await Promise.all([exact.release(), small.release()]);
  return rows;
};

/** PyTorch, where it is there and its logits in 32 bits are of the same size. */
async function openPeer({ say, threads }: BenchOptions, size: number): Promise<Peer | undefined> {
  const python = torchPython(say);
  if (!python) return undefined;
  const tensors: Map<string, TensorRecord> = recordsOf(weights);
  tensors.set("input.prompt", { dtype: "I32", shape: [PROMPT], data: prompt });
  tensors.set("input.ids", { dtype: "I32", shape: [ROWS, LENGTH], data: ids });
  return withTensors(tensors, (path) => {
    const args = ["--config", JSON.stringify(config), "--weights", path, "--threads", String(threads)];
    return admitted("PyTorch", pythonPeer(python, "torch_int8.py", args), say, async (peer) => {
      const [theirs, off] = await peer.ask<[number, number]>("check");
      if (Math.abs(theirs / size - 1) > 1e-3) throw new Error(`its logits have a mean size of ${theirs}, ours ${size}`);
      say(`PyTorch's are off by ${(100 * off).toFixed(2)} %`);
    });
  });
}
