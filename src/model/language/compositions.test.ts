import ort from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { exits } from "../../depth/exits.ts";
import { fixed } from "../../depth/fixed.ts";
import { halting } from "../../depth/halting.ts";
import { layerDropout } from "../../depth/layer-dropout.ts";
import { looped } from "../../depth/looped.ts";
import { nested, type Outer } from "../../depth/nested.ts";
import type { DepthPolicy } from "../../depth/policy.ts";
import { relaxed } from "../../depth/relaxed.ts";
import { routed } from "../../depth/routed.ts";
import { searched } from "../../depth/searched.ts";
import { difference } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { feedForwardCandidate, identity, TransformerBlock } from "../../nn/index.ts";
import { lower } from "../../onnx/lower.ts";
import { train } from "../../train/train.ts";
import { languageProgram } from "./export.ts";
import { type LanguageModel, languageModel } from "./language.ts";

const width = 8;
const options = { width, heads: 2, hidden: 8, dropout: 0.1, activation: "gelu" } as const;
const block = (name: string) => new TransformerBlock(name, options);
const text = [3, 5, 1, 4, 2, 0];

/** Policies that run stacks. */
const outers: Readonly<Record<string, Outer>> = {
  fixed,
  halting: (blocks, plan) => halting(blocks, plan, { width, ponder: 0.1 }),
  looped: (core) => looped({ core, loops: { mean: 1.5, most: 2 }, width, injection: "diagonal", gradientLoops: 1 }),
  exits: (blocks, plan) => exits(blocks, plan, { width, gate: true }),
  "layer dropout": (blocks, plan) => layerDropout(blocks, plan, { dropout: 0.5 }),
  "token choice": (blocks, plan) => routed(blocks, plan, { width, choice: "token" }),
  "expert choice": (blocks, plan) => routed(blocks, plan, { width, choice: "expert" }),
};

/** Stacks that are run. */
const inners: Readonly<Record<string, () => DepthPolicy>> = {
  halting: () => halting([block("a")], [0, 0], { width, name: "inner" }),
  searched: () => searched("s", [[feedForwardCandidate("s.0", options), identity]]),
  looped: () => looped({ core: [block("a")], loops: 2, width, injection: "linear", name: "inner" }),
  exits: () => exits([block("a")], [0, 0], { width, gate: true, name: "inner" }),
  "layer dropout": () => layerDropout([block("a")], [0, 0], { dropout: 0.5, growing: true }),
  "token choice": () => routed([block("a")], [0, 0], { width, choice: "token", name: "inner" }),
  "expert choice": () => routed([block("a")], [0, 0], { width, choice: "expert", name: "inner" }),
  "relaxed sharing": () => fixed([relaxed(block("a"), 4, { width, rank: 2, norms: true })], [0, 0]),
};

async function trained(model: LanguageModel) {
  const batch = { ids: text.slice(0, -1), targets: text.slice(1) };
  const data = { train: { count: 1, rows: 1, length: 5, at: () => batch } };
  const session = { engine: referenceEngine(), data, steps: 2, warmup: 0, checkpointEvery: 1 };
  const losses = async (resume?: object) => {
    const found: number[] = [];
    const running = train(model, { ...session, ...resume });
    let middle: object | undefined;
    for await (const event of running) {
      if (event.type === "step") found.push(event.loss);
      if (event.type === "checkpoint" && event.step === 1) middle = { resume: event.state };
    }
    return { found, middle, ...(await running.result) };
  };
  const whole = await losses();
  return { ...whole, resumed: (await losses(whole.middle)).found };
}

/** Logits after the last token: from the program for any runtime, and by ONNX Runtime. */
async function exported(model: LanguageModel, weights: Awaited<ReturnType<typeof trained>>["weights"]) {
  const source = languageProgram(model, weights);
  const program = await referenceEngine().compile(source);
  const { logits } = await program.run({ ids: { data: Int32Array.from(text), shape: [1, text.length] } });
  const session = await ort.InferenceSession.create(lower(source));
  const found = await session.run({ ids: new ort.Tensor("int32", Int32Array.from(text), [1, text.length]) });
  return [logits!.data.slice(-7), (found.logits!.data as Float32Array).slice(-7)] as const;
}

describe.each(Object.keys(outers))("%s over", (outer) => {
  it.each(Object.keys(inners))("%s trains, resumes, exports and reads token by token", async (inner) => {
    const depth = nested([inners[inner]!()], [0, 0], outers[outer]!);
    const model = languageModel({ vocabulary: 7, width, length: 6, depth });
    const { found, resumed, weights } = await trained(model);
    expect(found.every(Number.isFinite)).toBe(true);
    expect(resumed).toEqual(found.slice(1));

    const [whole, byRuntime] = await exported(model, weights);
    expect(difference(byRuntime, whole)).toBeLessThan(1e-5);
    const decoder = await model.open(referenceEngine(), weights);
    let last: Float32Array = new Float32Array();
    for (const id of text) last = await decoder.read([id]);
    expect(difference(last, whole)).toBeLessThan(1e-5);
  });
});
