import ort from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { exits } from "../../depth/exits.ts";
import { fixed } from "../../depth/fixed.ts";
import { halting } from "../../depth/halting.ts";
import { layerDropout } from "../../depth/layer-dropout.ts";
import { looped } from "../../depth/looped.ts";
import { nested } from "../../depth/nested.ts";
import type { DepthPolicy } from "../../depth/policy.ts";
import { relaxed } from "../../depth/relaxed.ts";
import { routed } from "../../depth/routed.ts";
import { searched } from "../../depth/searched.ts";
import { difference } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { add, cumulativeSum, input, multiply, reshape, sigmoid, type Tensor } from "../../graph/index.ts";
import {
  type Block,
  feedForwardCandidate,
  identity,
  initialise,
  Linear,
  selfAttentionCandidate,
  TransformerBlock,
} from "../../nn/index.ts";
import { lower } from "../../onnx/lower.ts";
import { train } from "../../train/train.ts";
import { generateIds } from "../generation.ts";
import { reportOn } from "../report.ts";
import type { Weights } from "../weights.ts";
import { languageProgram } from "./export.ts";
import { languageModel } from "./language.ts";

const [WIDTH, LENGTH] = [16, 12];
const sizes = { vocabulary: 11, width: WIDTH, length: LENGTH };
const text = [3, 7, 1, 9, 4, 4, 2, 10];

/** A block of a user: what all tokens so far add up to, gated. It knows of no caches. */
function gatedSum(name: string): Block {
  const [gate, value] = ["gate", "value"].map((part) => new Linear(`${name}.${part}`, { in: WIDTH, out: WIDTH }));
  return {
    parameters: [...gate!.parameters, ...value!.parameters],
    apply: (x, { rows }) => {
      const texts = reshape(value!.apply(x), [rows.batch, rows.length, WIDTH]);
      return add(x, multiply(sigmoid(gate!.apply(x)), reshape(cumulativeSum(texts, 1), x.shape)));
    },
  };
}

const transformer = (name: string) =>
  new TransformerBlock(name, { width: WIDTH, heads: 2, hidden: 24, dropout: 0, activation: "gelu" });

/** A policy of a user: the mean of what goes in and what the last block gives, with a penalty that grows. */
function blended(blocks: readonly Block[], caches?: number): DepthPolicy {
  const blend = input("blend", []);
  return {
    parameters: blocks.flatMap((block) => [...block.parameters]),
    depth: blocks.length,
    caches,
    scalars: { blend: { input: blend, at: (step, total) => (step + 1) / total } },
    apply: (x, context) => {
      const deep = blocks.reduce((state, block, i) => {
        return block.apply(state, context.caches ? { ...context, cache: context.caches[i] } : context);
      }, x);
      return { hidden: multiply(add(x, deep), 0.5), penalty: multiply(blend, 0.1), probes: {} };
    },
  };
}

/** Attention or feed-forward, two passes through both, and every token halts by itself. */
function composed(): DepthPolicy {
  const options = { width: WIDTH, heads: 2, hidden: 24, dropout: 0, activation: "gelu" } as const;
  const candidates = (i: number) => [
    selfAttentionCandidate(`stack.${i}.attention`, options),
    feedForwardCandidate(`stack.${i}.dense`, options),
    identity,
  ];
  const stack = searched("stack", [candidates(0), candidates(1)]);
  return nested([stack], [0, 0], (blocks, plan) => halting(blocks, plan, { width: WIDTH, ponder: 0.01 }));
}

/** Two to four loops between two blocks of their own. */
const loopedOf = () =>
  looped({
    prelude: [transformer("prelude")],
    core: [transformer("core")],
    coda: [transformer("coda")],
    loops: { mean: 2, most: 4 },
    width: WIDTH,
    injection: "diagonal",
    gradientLoops: 2,
  });

/** A stack of two blocks with an exit after each pass through it. */
const exitsOf = () =>
  nested([fixed([transformer("a"), transformer("b")], [0, 1])], [0, 0, 0], (stacks, plan) => {
    return exits(stacks, plan, { width: WIDTH, gate: true });
  });
const byEntropy = { width: WIDTH, rule: { kind: "entropy", level: 2.3 } } as const;
const routedBy = (choice: "token" | "expert") => routed([transformer("a")], [0, 0, 0], { width: WIDTH, choice });
const relax = { width: WIDTH, rank: 2, norms: true, scales: true };
const skips = { dropout: 0.4, growing: true };

const policies: Record<string, { make: () => DepthPolicy; unique: number; depth: number }> = {
  "an own block in a plan": { make: () => fixed([gatedSum("blocks.0")], [0, 0, 0]), unique: 1, depth: 3 },
  "own policy and own block": { make: () => blended([gatedSum("a"), gatedSum("b")]), unique: 2, depth: 2 },
  "an own policy with caches": { make: () => blended([transformer("a"), transformer("b")], 2), unique: 2, depth: 2 },
  "search, sharing and halting at once": { make: composed, unique: 2, depth: 4 },
  "loops of drawn number": { make: loopedOf, unique: 3, depth: 6 },
  "a trained exit after every pass": { make: exitsOf, unique: 2, depth: 6 },
  "an exit by entropy": { make: () => exits([transformer("a")], [0, 0, 0], byEntropy), unique: 1, depth: 3 },
  "a depth chosen at the entrance": { make: () => routedBy("token"), unique: 1, depth: 3 },
  "capacity at each depth": { make: () => routedBy("expert"), unique: 1, depth: 3 },
  "a relaxed block": { make: () => fixed([relaxed(transformer("a"), 3, relax)], [0, 0, 0]), unique: 1, depth: 3 },
  "layer dropout": { make: () => layerDropout([transformer("a")], [0, 0, 0], skips), unique: 1, depth: 3 },
};

/** A few updates on one text, and the same from its middle on. */
async function trained(model: ReturnType<typeof languageModel>, steps = 8) {
  const batch = { ids: text.slice(0, -1), targets: text.slice(1) };
  const data = { train: { count: 1, rows: 1, length: text.length - 1, at: () => batch } };
  const options = { engine: referenceEngine(), data, steps, rate: 0.03, warmup: 0, checkpointEvery: steps / 2 };
  const [losses, resumed]: [number[], number[]] = [[], []];
  const session = train(model, options);
  for await (const event of session) {
    if (event.type === "step") losses.push(event.loss);
    if (event.type !== "checkpoint" || event.step !== steps / 2) continue;
    for await (const again of train(model, { ...options, resume: event.state })) {
      if (again.type === "step") resumed.push(again.loss);
    }
  }
  const { weights } = await session.result;
  return { losses, resumed, weights };
}

/** Logits of the last of the ids, from the whole text. */
async function lastLogits(model: ReturnType<typeof languageModel>, weights: Weights, ids: readonly number[]) {
  const program = await referenceEngine().compile(languageProgram(model, weights));
  const { logits } = await program.run({ ids: { data: Int32Array.from(ids), shape: [1, ids.length] } });
  await program.release();
  return logits!.data.slice(-sizes.vocabulary);
}

describe.each(Object.entries(policies))("a language model over %s", (_, { make, unique, depth }) => {
  it("trains, resumes, generates, exports and reports", async () => {
    const model = languageModel({ ...sizes, depth: make() });
    const { losses, resumed, weights } = await trained(model);
    expect(losses.at(-1)!).toBeLessThan(losses[0]!);
    expect(resumed).toEqual(losses.slice(4));

    const decoder = await model.open(referenceEngine(), weights);
    const read: number[] = [];
    for (const id of [...text, ...text]) {
      read.push(id);
      const window = read.length > LENGTH ? read.slice(-LENGTH / 2 - (read.length - LENGTH - 1)) : read;
      // Single precision, summed in another order.
      expect(difference(await decoder.read([id]), await lastLogits(model, weights, window))).toBeLessThan(1e-4);
    }
    await decoder.release();
    const ids: number[] = [];
    const asked = { prompt: text.slice(0, 3), maxTokens: 20, temperature: 0 };
    for await (const id of generateIds(referenceEngine(), model, weights, asked)) ids.push(id);
    expect(ids).toHaveLength(20);

    const session = await ort.InferenceSession.create(lower(languageProgram(model, weights)));
    const data = Int32Array.from(text);
    const { logits } = await session.run({ ids: new ort.Tensor("int32", data, [1, text.length]) });
    const last = (logits!.data as Float32Array).slice(-sizes.vocabulary);
    expect(difference(last, await lastLogits(model, weights, text))).toBeLessThan(1e-4);

    const report = reportOn(model, { length: 6 });
    expect([report.uniqueBlocks, report.executedDepth]).toEqual([unique, depth]);
    expect(report.trainingFlopsPerToken).toBeGreaterThan(2 * report.flopsPerToken);
  });
});

describe("one set of weights", () => {
  it("serves any count of loops, exit rule, threshold and depth in use", async () => {
    const uses = async <P extends DepthPolicy>(policy: P, others: readonly ((policy: P) => DepthPolicy)[]) => {
      const model = languageModel({ ...sizes, depth: policy });
      const weights = initialise(model.parameters, 4);
      const each = others.map((at) => lastLogits(model.withDepth(at(policy)), weights, text));
      const found = await Promise.all([lastLogits(model, weights, text), ...each]);
      expect(new Set(found.map(String)).size).toBe(others.length + 1);
    };
    await uses(loopedOf(), [(policy) => policy.at(1), (policy) => policy.at(7)]);
    await uses(exits([transformer("a")], [0, 0, 0], byEntropy), [
      (policy) => policy.at({ kind: "difference", level: 9 }),
    ]);
    const shallow = routed([transformer("a")], [0, 0, 0], { width: WIDTH, choice: "expert", threshold: 1 });
    const every = { threshold: 0 };
    await uses(shallow, [(policy) => policy.at(every), (policy) => policy.at({ ...every, most: 2 })]);
    await uses(layerDropout([transformer("a")], [0, 0, 0]), [(policy) => policy.at(1), (policy) => policy.at(2)]);
  });

  it("is not that of other blocks", () => {
    const model = languageModel({ ...sizes, depth: fixed([transformer("a")], [0]) });
    const other = fixed([transformer("a")], [0, 0]);
    expect(() => model.withDepth(other)).toThrow(
      "withDepth: expected a policy over the same parameters, got a.norm1.weight",
    );
  });
});

describe("mistakes with an own policy", () => {
  const cached = (apply: Block["apply"], caches = 1): DepthPolicy => fixed([{ parameters: [], caches, apply }], [0]);
  const opened = (policy: DepthPolicy) => {
    const model = languageModel({ ...sizes, depth: policy });
    return model.open(referenceEngine(), initialise(model.parameters, 1));
  };

  it("blocks that claim a cache but do not store or read it are refused, not wrong", async () => {
    await expect(async () => opened(cached((x) => x))).rejects.toThrow(
      "depth policy / caches: expected one pair of keys and values stored per cache, got 0 stored of the 1 it speaks of",
    );
    const pair = (x: Tensor) => ({ keys: reshape(x, [1, 1, WIDTH]), values: reshape(x, [1, 1, WIDTH]) });
    const forgetful = cached((x, { cache }) => {
      cache?.store(pair(x));
      return x;
    });
    await expect(async () => opened(forgetful)).rejects.toThrow("got 2 of 2 keys and values unread");
  });

  it.each<[string, object, string]>([
    ["policy and plan", { depth: fixed([gatedSum("b")], [0]), plan: [0], heads: 2 }, "got depth, heads, plan"],
    [
      "neither",
      {},
      "language model: expected heads with either a plan or a depth in words, or a policy as depth, got neither",
    ],
    ["a plan without heads", { plan: [0] }, "got plan"],
    [
      "no width",
      { plan: [0], heads: 2, width: 0 },
      "language model / width: expected a whole number from 1 to 65536, got 0",
    ],
    [
      "dropout of 2",
      { plan: [0], heads: 2, dropout: 2 },
      "language model / dropout: expected a number from 0 to below 1, got 2",
    ],
    ["a name of another library", { plan: [0], heads: 2, d_model: 16 }, "language model: expected options among"],
    [
      "an activation of another",
      { plan: [0], heads: 2, activation: "swish" },
      "blocks.0 / activation: expected one of",
    ],
    ["a misspelt option of halting", { plan: [0], heads: 2, halting: { pondr: 1 } }, "did you mean ponder?"],
    ["one name twice", { depth: blended([gatedSum("a"), gatedSum("a")]) }, "got a.gate.weight twice"],
    [
      "another width",
      { depth: cached((x) => reshape(x, [4, WIDTH / 2]), 0) },
      "depth policy: expected states of width 16, [2,16], got [4,8]",
    ],
  ])("%s is refused when the model is built", (_, options, message) => {
    expect(() => languageModel({ ...sizes, ...options } as never)).toThrow(message);
  });
});
