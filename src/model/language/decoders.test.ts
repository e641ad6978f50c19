import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { base, tokens, weightsOf } from "../../../test/steep-model.ts";
import type { Engine, Numbers } from "../../engine/engine.ts";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { input, type Tensor } from "../../graph/index.ts";
import type { Decoder } from "../causal.ts";
import { generateWith } from "../generation.ts";
import { likeliest } from "../sampling.ts";
import type { CachedDecoder } from "./decoders.ts";
import { type LanguageModel, languageModel } from "./language.ts";

/** Logits after the last of `ids`, computed over the whole text. */
async function openRecomputed(engine: Engine, model: LanguageModel, weights: ReadonlyMap<Tensor, Float32Array>) {
  const outputs = { logits: model.logits(input("ids", ["B", "T"], "int")) };
  const program = await engine.compile({ outputs, weights });
  return async (ids: readonly number[]) => {
    const { logits } = await program.run({ ids: { data: Int32Array.from(ids), shape: [1, ids.length] } });
    return logits!.data.subarray(-base.vocabulary);
  };
}

function furthest(a: Numbers, b: Numbers): number {
  return Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i]!)));
}

async function collect(source: AsyncIterable<number>): Promise<number[]> {
  const all: number[] = [];
  for await (const token of source) all.push(token);
  return all;
}

const engines = { reference: async () => referenceEngine(), onnxruntime: () => ortEngine({ threads: 1 }) };
const newer = { positions: "rotary", norm: "rms", keyHeads: 2, queryKeyNorm: true, gated: true, bias: false } as const;
const models = {
  "own blocks": { plan: [0, 1] },
  "shared blocks": { plan: [0, 1, 0, 1] },
  "newer blocks, an own head": { plan: [0, 1, 0], ...newer, tied: false },
};
const cases = Object.entries(engines).flatMap(([engine, open]) => {
  return Object.entries(models).map(([kind, options]) => ({ engine, open, kind, options }));
});

describe.each(cases)("cached generation with $kind on $engine", ({ open, options }) => {
  const model = languageModel({ ...base, ...options });
  const weights = weightsOf(model);
  let decoder: Decoder;
  let recomputed: Awaited<ReturnType<typeof openRecomputed>>;
  beforeAll(async () => {
    const engine = await open();
    decoder = await model.open(engine, weights);
    recomputed = await openRecomputed(engine, model, weights);
  });
  afterAll(() => decoder.release());

  it.each([1, 5])(
    "has those after each of %i tokens that are read in one pass, with room and without",
    async (count) => {
      const once = decoder as CachedDecoder;
      // Room grows by 32 tokens: some of it is unused after 20, nothing after 32.
      for (const before of [20, 32]) {
        const text = tokens(before + count);
        once.clear();
        await once.read(text.slice(0, before));
        const scores = await once.readEach(text.slice(before));
        for (const [i, each] of scores.entries()) {
          expect(furthest(each, await recomputed(text.slice(0, before + i + 1)))).toBeLessThan(1e-5);
        }
      }
    },
  );

  // 3 tokens are read one by one, 40 at once.
  it.each([1, 3, 40])("has the logits of the whole text after a prompt of %i", async (count) => {
    decoder.clear();
    const text = tokens(count);
    let logits = await decoder.read(text);
    for (let i = 0; i < 12; i++) {
      // Float32 logits of size 10: a few units in the last place, summed in another order.
      expect(furthest(logits, await recomputed(text))).toBeLessThan(1e-5);
      text.push(likeliest(logits));
      logits = await decoder.read(text.slice(-1));
    }
  });

  it("gives the tokens of greedy recomputation, beyond the model's length too", async () => {
    const prompt = tokens(60);
    const text = [...prompt];
    let window = [...prompt];
    for (let i = 0; i < 30; i++) {
      const token = likeliest(await recomputed(window));
      text.push(token);
      window.push(token);
      if (window.length > base.length) window = text.slice(-base.length / 2);
    }
    const generated = await collect(generateWith(decoder, { prompt, maxTokens: 30, temperature: 0 }));
    expect(generated).toEqual(text.slice(60));
  });
});

describe("a step after several tokens", () => {
  it("reads several more, with a cache and a batch", async () => {
    const model = languageModel({ ...base, plan: [0, 0] });
    const weights = weightsOf(model);
    const engine = await ortEngine({ threads: 1 });
    const ids = Int32Array.from(tokens(2 * 9));
    const cut = (from: number, to: number) =>
      Int32Array.from([0, 9].flatMap((row) => [...ids.subarray(row + from, row + to)]));
    const whole = await engine.compile({ outputs: { logits: model.logits(input("ids", ["B", "T"], "int")) }, weights });
    const expected = (await whole.run({ ids: { data: ids, shape: [2, 9] } })).logits!;

    const first = model.extend(input("ids", ["B", "T"], "int")).added.flatMap(({ keys, values }) => [keys, values]);
    const reader = await engine.compile({ outputs: Object.fromEntries(first.entries()), weights });
    const pairs = await reader.run({ ids: { data: cut(0, 5), shape: [2, 5] } });
    const past = [0, 1].map((depth) => ({
      keys: input(`${2 * depth}`, ["B", "P", base.width]),
      values: input(`${2 * depth + 1}`, ["B", "P", base.width]),
    }));
    const { logits } = model.extend(input("ids", ["B", "T"], "int"), past);
    const later = await engine.compile({ outputs: { logits }, weights });
    const got = (await later.run({ ids: { data: cut(5, 9), shape: [2, 4] }, ...pairs })).logits!;
    for (const row of [0, 1]) {
      const size = base.vocabulary;
      const right = expected.data.subarray((9 * row + 5) * size, 9 * (row + 1) * size);
      expect(furthest(got.data.subarray(4 * row * size, 4 * (row + 1) * size), right)).toBeLessThan(1e-5);
    }
  });

  it("wants one pair per cache", () => {
    const model = languageModel({ ...base, plan: [0, 0] });
    expect(() => model.extend(input("ids", [1, 1], "int"), [])).toThrow("keys and values for 2 caches, got 0");
  });
});
