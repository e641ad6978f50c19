/** Greedy generation, one text at a time with cached keys and values: against PyTorch with a cache of its own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RandomStream } from "../src/base/random.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { type TensorRecord, writeSafetensors } from "../src/format/safetensors.ts";
import { Decoder, generateWith } from "../src/model/generation.ts";
import { languageModel, type Weights } from "../src/model/language.ts";
import { initialise } from "../src/nn/index.ts";
import { type Bench, type Contender, compare, findPython, interleave, median, PythonPeer, timed } from "./measure.ts";

const config = { vocabulary: 8000, width: 256, heads: 8, hidden: 1024, depth: 4, length: 256, tokens: 128 };
const PROMPT = 16;
const NAME = `generation, ${config.tokens} tokens`;

function promptOf(): Int32Array {
  const random = new RandomStream(1, "bench prompt");
  return Int32Array.from({ length: PROMPT }, () => random.integer(config.vocabulary));
}

export const bench: Bench = async ({ say, rounds, threads }) => {
  const engine = await ortEngine({ threads });
  const model = languageModel({ ...config, plan: [0, 1, 2, 3] });
  const weights = initialise(model.parameters, 1);
  const decoder = await Decoder.create(engine, model, weights);
  const prompt = promptOf();
  const run = async () => {
    const ids: number[] = [];
    const options = { prompt, maxTokens: config.tokens, temperature: 0 };
    for await (const token of generateWith(decoder, options)) ids.push(token);
    return ids;
  };
  const contenders: Record<string, Contender> = { ours: () => timed(run) };
  const peer = await openPeer(fileOf(weights, prompt), threads, await run(), say);
  if (peer) contenders.peer = () => peer.ask<number>("generate");

  await interleave(contenders, 2); // warm-up
  const times = await interleave(contenders, rounds);
  peer?.end();
  await decoder.release();
  const ours = times.get("ours")!;
  say(`${Math.round((1000 * config.tokens) / median(ours))} tokens per second`);
  return peer ? [compare(NAME, 0.7, ours, "PyTorch eager, with cache", times.get("peer")!)] : [];
};

function fileOf(weights: Weights, prompt: Int32Array): Uint8Array {
  const records = [...weights].map(([{ attributes }, data]): [string, TensorRecord] => {
    return [attributes.name, { dtype: "F32", shape: attributes.shape, data }];
  });
  return writeSafetensors(new Map([...records, ["input.prompt", { dtype: "I32", shape: [PROMPT], data: prompt }]]));
}

/** PyTorch, where it is there and continues the prompt with the same tokens. */
async function openPeer(
  file: Uint8Array,
  threads: number,
  ours: readonly number[],
  say: (text: string) => void,
): Promise<PythonPeer | undefined> {
  const python = findPython(["torch", "safetensors"]);
  if (!python) {
    say(
      "PyTorch is absent: pip install torch==2.13.0 numpy safetensors, and set LAYERWISE_PYTHON if it is not python3's",
    );
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), "layerwise-bench-"));
  const path = join(folder, "weights.safetensors");
  writeFileSync(path, file);
  const args = ["--config", JSON.stringify(config), "--weights", path, "--threads", String(threads)];
  const peer = new PythonPeer(python, "torch_generation.py", args);
  try {
    await peer.line();
    const theirs = await peer.ask<number[]>("tokens");
    if (String(theirs) !== String(ours)) throw new Error(`its tokens are ${theirs}, ours ${ours}`);
    return peer;
  } catch (error) {
    say(`PyTorch is left out: ${(error as Error).message}`);
    peer.end();
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
