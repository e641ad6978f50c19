import { describe, expect, it } from "vitest";
import { base, tokens, weightsOf } from "../../test/steep-model.ts";
import { exits } from "../depth/exits.ts";
import { fixed } from "../depth/fixed.ts";
import { halting } from "../depth/halting.ts";
import { layerDropout } from "../depth/layer-dropout.ts";
import { looped } from "../depth/looped.ts";
import type { DepthPolicy } from "../depth/policy.ts";
import { relaxed } from "../depth/relaxed.ts";
import { routed } from "../depth/routed.ts";
import { searched } from "../depth/searched.ts";
import type { Engine } from "../engine/engine.ts";
import { ortEngine } from "../engine/ort.ts";
import { referenceEngine } from "../engine/reference.ts";
import { feedForwardCandidate, selfAttentionCandidate, TransformerBlock } from "../nn/index.ts";
import type { CausalModel } from "./causal.ts";
import { generate, generateIds } from "./generation.ts";
import { languageModel } from "./language/language.ts";
import { generateMany, generateTogether, type ManyIdsOptions, openBatch } from "./many.ts";
import { parModel } from "./par/par.ts";
import type { Weights } from "./weights.ts";

const { width, ...sizes } = base;
const shape = { width, heads: 4, hidden: 32, dropout: 0, activation: "gelu" } as const;
const block = (name: string) => new TransformerBlock(name, shape);
const over = (depth: DepthPolicy) =>
  languageModel({ vocabulary: sizes.vocabulary, width, length: sizes.length, depth });
const newer = { positions: "rotary", norm: "rms", keyHeads: 2, queryKeyNorm: true, gated: true, bias: false } as const;
const segments = { vocabulary: base.vocabulary, width, heads: 4, hidden: 32, memory: 12 } as const;

/** Every kind of causal model. */
const models: Readonly<Record<string, () => CausalModel>> = {
  "own blocks": () => languageModel({ ...base, plan: [0, 1] }),
  "shared blocks": () => languageModel({ ...base, plan: [0, 0, 0] }),
  "newer blocks": () => languageModel({ ...base, ...newer, plan: [0, 1], tied: false }),
  "a written depth": () => languageModel({ ...base, depth: "1 + 2*2 halt + 1" }),
  halting: () => over(halting([block("a")], [0, 0, 0], { width, biasInitial: -0.5 })),
  exits: () => over(exits([block("a")], [0, 0, 0], { width, gate: true })),
  loops: () => over(looped({ core: [block("a")], loops: 3, width, injection: "linear" })),
  "layer dropout": () => over(layerDropout([block("a")], [0, 0], { dropout: 0.5 })),
  "token choice": () => over(routed([block("a")], [0, 0, 0], { width, choice: "token" })),
  "keys of running tokens": () =>
    over(routed([block("a"), block("b")], [0, 1, 0, 1], { width, choice: "token", keys: "running" })),
  "expert choice": () => over(routed([block("a")], [0, 0, 0], { width, choice: "expert" })),
  "relaxed sharing": () => over(fixed([relaxed(block("a"), 2, { width, rank: 2, norms: true })], [0, 0])),
  "mixed candidates": () =>
    over(searched("s", [[feedForwardCandidate("s.0.f", shape), selfAttentionCandidate("s.0.s", shape)]])),
  "a block without caches": () => over(fixed([{ parameters: [], apply: (x) => x }, block("b")], [0, 1])),
  "Transformer-XL": () => parModel({ ...segments, blocks: "sfs" }),
  "Transformer-XL of the original": () => parModel({ ...segments, blocks: "sfs", compat: "original" }),
  "Transformer-XL without memory": () => parModel({ ...segments, memory: 0, blocks: "sf" }),
  "a supernet": () => parModel({ ...segments, blocks: 2 }),
};

/** Shorter and longer ones, some longer than a memory, one longer than positions reach. */
const prompts = [tokens(3), tokens(20).slice(4), tokens(1), tokens(9), tokens(90).slice(1)];

async function alone(engine: Engine, model: CausalModel, weights: Weights, options: ManyIdsOptions) {
  const { prompts, seeds, ...how } = options;
  const texts: number[][] = [];
  for (const [i, prompt] of prompts.entries()) {
    const text: number[] = [];
    for await (const id of generateIds(engine, model, weights, { ...how, prompt, seed: seeds?.[i] ?? how.seed }))
      text.push(id);
    texts.push(text);
  }
  return texts;
}

async function together(engine: Engine, model: CausalModel, weights: Weights, options: ManyIdsOptions) {
  const decoder = await openBatch({ model, weights }, engine);
  const texts: number[][] = options.prompts.map(() => []);
  for await (const { text, token } of generateTogether(decoder, options)) texts[text]!.push(token);
  await decoder.release();
  return texts;
}

describe.each(Object.keys(models))("many texts of a model with %s", (kind) => {
  const model = models[kind]!();
  const weights = weightsOf(model);
  const options = { prompts, maxTokens: 70, seeds: [3, 1, 4, 1, 5], topK: 5 };

  it("are each what they would be alone, past the end of positions and memory", async () => {
    const engine = await ortEngine({ threads: 1 });
    const found = await together(engine, model, weights, options);
    expect(found.map(({ length }) => length)).toEqual([70, 70, 70, 70, 70]);
    expect(found).toEqual(await alone(engine, model, weights, options));
  });

  it("are the likeliest where no others may be, whether the program chooses them or scores are compared", async () => {
    for (const engine of [await ortEngine({ threads: 1 }), referenceEngine()]) {
      const greedy = { prompts: prompts.slice(0, 3), maxTokens: 12, temperature: 0 };
      expect(await together(engine, model, weights, greedy)).toEqual(await alone(engine, model, weights, greedy));
    }
  });

  it("end each by itself, and the others go on", async () => {
    const engine = await ortEngine({ threads: 1 });
    const free = await alone(engine, model, weights, { ...options, maxTokens: 30 });
    const stop = [free[0]![4]!, free[3]![11]!];
    const found = await together(engine, model, weights, { ...options, maxTokens: 30, stop });
    const until = (text: readonly number[]) => {
      const end = text.findIndex((id) => stop.includes(id));
      return end < 0 ? text : text.slice(0, end);
    };
    expect(found).toEqual(free.map(until));
    expect(new Set(found.map(({ length }) => length)).size).toBeGreaterThan(1);
  });
});

describe("many texts", () => {
  const model = languageModel({ ...base, plan: [0, 1] });
  const weights = weightsOf(model);
  const engine = referenceEngine();
  const run = (options: Partial<ManyIdsOptions>) =>
    together(engine, model, weights, { prompts: [[1, 2], [3]], maxTokens: 4, ...options });

  it("are the same on the reference engine", async () => {
    const options = { prompts: prompts.slice(0, 3), maxTokens: 6, seeds: [1, 2, 3] };
    expect(await run(options)).toEqual(await alone(engine, model, weights, options));
  });

  it("of a model that reads one text only come from as many decoders", async () => {
    const single: CausalModel = {
      parameters: model.parameters,
      policy: model.policy,
      objective: (size) => model.objective(size),
      forward: (size) => model.forward(size),
      open: (engine, weights) => model.open(engine, weights),
    };
    const options = { prompts: prompts.slice(0, 3), maxTokens: 6, seed: 2 };
    expect(await together(engine, single, weights, options)).toEqual(await alone(engine, single, weights, options));
  });

  it("says that weights are broken, however tokens are chosen", async () => {
    const broken: Weights = new Map([...weights].map(([tensor, values]) => [tensor, values.map(() => Number.NaN)]));
    const engines = [engine, await ortEngine({ threads: 1 })];
    for (const each of engines) {
      for (const temperature of [0, 1]) {
        const found = together(each, model, broken, { prompts: [[1, 2], [3]], maxTokens: 2, temperature });
        await expect(found).rejects.toThrow("sampling: expected finite logits, got NaN");
      }
    }
  });

  it("are none of no tokens; refuses what is wrong", async () => {
    expect(await run({ maxTokens: 0 })).toEqual([[], []]);
    await expect(run({ prompts: [] })).rejects.toThrow("prompts: expected at least one, got none");
    await expect(run({ prompts: [[1], []] })).rejects.toThrow("prompt 2: expected at least one token, got none");
    await expect(run({ seeds: [1] })).rejects.toThrow("seeds: expected one for each of 2 prompts, got 1");
    await expect(run({ prompts: [[1], [99]] })).rejects.toThrow("text: expected ids from 0 to 22, got 99");
  });

  it("as text: every sample is what its seed gives alone, stop text and all", async () => {
    const tokenizer = {
      encode: (text: string) => Array.from(text, (letter) => letter.charCodeAt(0) - 97),
      decode: (ids: readonly number[]) => ids.map((id) => String.fromCharCode(97 + id)).join(""),
    };
    const how = { engine, tokenizer, maxTokens: 14, temperature: 2 };
    const texts = new Map<string, string>();
    const ended: string[] = [];
    const asked = ["abc", "b"];
    const pieces = generateMany({ model, weights }, { ...how, prompts: asked, samples: 3, seed: 7, stop: "e" });
    for await (const { prompt, sample, text, isLast } of pieces) {
      const name = `${prompt} ${sample}`;
      texts.set(name, `${texts.get(name) ?? ""}${text}`);
      if (isLast) ended.push(name);
    }
    expect(new Set(ended).size).toBe(6);
    for (const [name, text] of texts) {
      const [prompt, sample] = name.split(" ").map(Number) as [number, number];
      let single = "";
      const options = { ...how, prompt: asked[prompt]!, seed: 7 + sample, stop: "e" };
      for await (const part of generate({ model, weights }, options)) single += part;
      expect(text).toBe(single);
    }
  });
});
