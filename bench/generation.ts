/** Greedy generation of 1, 8 and 32 texts at once from caches, of a language model and a Transformer-XL: against PyTorch with caches of its own. */
import { RandomStream } from "../src/base/random.ts";
import type { Engine, ProgramSource } from "../src/engine/engine.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { is, topological } from "../src/graph/index.ts";
import type { CausalModel } from "../src/model/causal.ts";
import { languageModel } from "../src/model/language/language.ts";
import { generateTogether, openBatch } from "../src/model/many.ts";
import { parModel } from "../src/model/par/par.ts";
import { initialise } from "../src/nn/index.ts";
import {
  type Bench,
  type BenchOptions,
  type Contender,
  compare,
  interleave,
  type Measurement,
  median,
  timed,
} from "./measure.ts";
import { admitted, pythonPeer, recordsOf, torchPython, withTensors } from "./peer.ts";
import { floor, productsAlone } from "./products.ts";

const sizes = { vocabulary: 8000, width: 256, heads: 8, hidden: 1024 };
const TOKENS = 128;
const PROMPT = 16;
const BATCHES = [1, 8, 32];
/** How much of PyTorch's time is aimed at. */
const TARGET = 0.5;
const PEER = "PyTorch eager, with cache";
/** Room for keys that are still to come, in the mean. */
const SPARE = 16;

/** Models by name, and what the peer is told of them. */
const models: Readonly<Record<string, { make: () => CausalModel; config: object }>> = {
  "language model": {
    make: () => languageModel({ ...sizes, length: 256, plan: [0, 1, 2, 3] }),
    config: { ...sizes, length: 256, depth: 4 },
  },
  "Transformer-XL, memory 64": {
    make: () => parModel({ ...sizes, memory: 64, blocks: "sfsfsfsf" }),
    config: { ...sizes, memory: 64, blocks: "sfsfsfsf" },
  },
};

function promptsOf(count: number): number[][] {
  const random = new RandomStream(1, "bench prompt");
  return Array.from({ length: count }, () => Array.from({ length: PROMPT }, () => random.integer(sizes.vocabulary)));
}

/** Larger first weights than a training begins with, so that no two words are almost equally likely. */
function weightsOf(model: CausalModel) {
  const entries = [...initialise(model.parameters, 1)];
  return new Map(
    entries.map(([tensor, values]) => [tensor, tensor.shape.length > 1 ? values.map((x) => 3 * x) : values]),
  );
}

/** An engine that remembers what was compiled. */
function remembering(engine: Engine) {
  const sources: ProgramSource[] = [];
  const compile = (source: ProgramSource) => {
    sources.push(source);
    return engine.compile(source);
  };
  return { engine: { ...engine, compile }, sources };
}

/** The matrix products of reading the prompts, and of all tokens but the first, timed alone: a step as it is halfway. */
async function productsOf(engine: Engine, sources: readonly ProgramSource[], count: number) {
  const sizes = new Map([
    ["B", count],
    ["T", PROMPT],
    ["P", PROMPT + TOKENS / 2],
    ["E", SPARE],
  ]);
  const alone = sources.map(async ({ outputs, weights }) => {
    const all = Object.values(outputs);
    const ids = topological(all).find((node) => is(node, "input") && node.attributes.name === "ids")!;
    return { isStep: ids.shape[1] === 1, time: await productsAlone(engine, all, { sizes, weights }) };
  });
  const found = await Promise.all(alone);
  const [first, step] = [false, true].map((wanted) => found.find(({ isStep }) => isStep === wanted)!.time);
  const steps = async () => {
    let whole = await first!();
    for (let i = 1; i < TOKENS; i++) whole += await step!();
    return whole;
  };
  return { products: steps, "products of the first": first! };
}

async function race(engine: Engine, kind: string, count: number, options: BenchOptions): Promise<Measurement[]> {
  const { say, note, rounds, threads } = options;
  const { make, config } = models[kind]!;
  const model = make();
  const weights = weightsOf(model);
  const watched = remembering(engine);
  const decoder = await openBatch({ model, weights }, watched.engine);
  const prompts = promptsOf(count);
  const run = async (maxTokens: number) => {
    const texts: number[][] = prompts.map(() => []);
    const drawn = generateTogether(decoder, { prompts, maxTokens, temperature: 0 });
    for await (const { text, token } of drawn) texts[text]!.push(token);
    return texts;
  };
  const ours = await run(TOKENS);
  const name = `generation, ${kind}, ${count} ${count === 1 ? "text" : "texts"} of ${TOKENS} tokens`;
  const first = `${name}: time to the first token`;
  const contenders: Record<string, Contender> = {
    ours: () => timed(() => run(TOKENS)),
    first: () => timed(() => run(1)),
    ...(await productsOf(engine, watched.sources, count)),
  };
  const python = torchPython(say);
  const data = Int32Array.from(prompts.flat());
  const tensors = recordsOf(weights).set("input.prompts", { dtype: "I32", shape: [count, PROMPT], data });
  const peer =
    python &&
    (await withTensors(tensors, (path) => {
      const args = ["--config", JSON.stringify({ ...config, tokens: TOKENS }), "--weights", path];
      const started = pythonPeer(python, "torch_generation.py", [...args, "--threads", String(threads)]);
      return admitted("PyTorch", started, say, async (peer) => {
        const theirs = await peer.ask<number[][]>("tokens");
        const odd = ours.findIndex((text, i) => String(text) !== String(theirs[i]));
        if (odd >= 0) throw new Error(`its text ${odd + 1} is ${theirs[odd]}, ours ${ours[odd]}`);
      });
    }));
  if (peer) {
    contenders.peer = () => peer.ask<number[]>("generate 1");
    contenders["peer's first"] = () => peer.ask<number[]>("first 1");
  }
  await interleave(contenders, 1); // warm-up
  const times = await interleave(contenders, rounds);
  if (peer) peer.end();
  await decoder.release();
  const speed = (of: string) => `${Math.round((1000 * count * TOKENS) / median(times.get(of)!))} tokens per second`;
  say(`${name}: ${speed("ours")}`);
  if (!peer) return [];
  const [mine, theirs] = [median(times.get("ours")!), median(times.get("peer")!)];
  note({ name, ours: speed("ours"), peer: PEER, theirs: speed("peer"), ratio: theirs / mine });
  note(floor(name, times.get("products")!, PEER, times.get("peer")!));
  note(floor(first, times.get("products of the first")!, PEER, times.get("peer's first")!));
  return [
    compare(name, TARGET, times.get("ours")!, PEER, times.get("peer")!),
    compare(first, TARGET, times.get("first")!, PEER, times.get("peer's first")!),
  ];
}

export const bench: Bench = async (options) => {
  const engine = await ortEngine({ threads: options.threads });
  const found: Measurement[] = [];
  for (const kind of Object.keys(models)) {
    for (const count of BATCHES) found.push(...(await race(engine, kind, count, options)));
  }
  return found;
};
