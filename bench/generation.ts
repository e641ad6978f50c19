/** Greedy generation, one text at a time with cached keys and values: against PyTorch with a cache of its own. */
import { RandomStream } from "../src/base/random.ts";
import { ortEngine } from "../src/engine/ort.ts";
import type { TensorRecord } from "../src/format/safetensors.ts";
import { generateWith } from "../src/model/generation.ts";
import { languageModel } from "../src/model/language/language.ts";
import { initialise } from "../src/nn/index.ts";
import { type Bench, type Contender, compare, interleave, median, timed } from "./measure.ts";
import { admitted, type Peer, pythonPeer, recordsOf, torchPython, withTensors } from "./peer.ts";

const sizes = { vocabulary: 8000, width: 256, heads: 8, hidden: 1024, length: 256 };
const config = { ...sizes, depth: 4, tokens: 128 };
const PROMPT = 16;
const NAME = `generation, ${config.tokens} tokens`;

function promptOf(): Int32Array {
  const random = new RandomStream(1, "bench prompt");
  return Int32Array.from({ length: PROMPT }, () => random.integer(config.vocabulary));
}

export const bench: Bench = async ({ say, rounds, threads }) => {
  const engine = await ortEngine({ threads });
  const model = languageModel({ ...sizes, plan: [0, 1, 2, 3] });
  const weights = initialise(model.parameters, 1);
  const decoder = await model.open(engine, weights);
  const prompt = promptOf();
  const run = async () => {
    const ids: number[] = [];
    const options = { prompt, maxTokens: config.tokens, temperature: 0 };
    for await (const token of generateWith(decoder, options)) ids.push(token);
    return ids;
  };
  const contenders: Record<string, Contender> = { ours: () => timed(run) };
  const tensors = recordsOf(weights).set("input.prompt", { dtype: "I32", shape: [PROMPT], data: prompt });
  const peer = await openPeer(tensors, threads, await run(), say);
  if (peer) contenders.peer = () => peer.ask<number[]>("generate 1");

  await interleave(contenders, 2); // warm-up
  const times = await interleave(contenders, rounds);
  peer?.end();
  await decoder.release();
  const ours = times.get("ours")!;
  say(`${Math.round((1000 * config.tokens) / median(ours))} tokens per second`);
  return peer ? [compare(NAME, 0.7, ours, "PyTorch eager, with cache", times.get("peer")!)] : [];
};

/** PyTorch, where it is there and continues the prompt with the same tokens. */
async function openPeer(
  tensors: ReadonlyMap<string, TensorRecord>,
  threads: number,
  ours: readonly number[],
  say: (text: string) => void,
): Promise<Peer | undefined> {
  const python = torchPython(say);
  if (!python) return undefined;
  return withTensors(tensors, (path) => {
    const args = ["--config", JSON.stringify(config), "--weights", path, "--threads", String(threads)];
    return admitted("PyTorch", pythonPeer(python, "torch_generation.py", args), say, async (peer) => {
      const theirs = await peer.ask<number[]>("tokens");
      if (String(theirs) !== String(ours)) throw new Error(`its tokens are ${theirs}, ours ${ours}`);
    });
  });
}
