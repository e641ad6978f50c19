import { describe, expect, it } from "vitest";
import { tokens } from "../../test/steep-model.ts";
import { difference } from "../engine/engine.contract.ts";
import type { Engine } from "../engine/engine.ts";
import { ortEngine } from "../engine/ort.ts";
import { referenceEngine } from "../engine/reference.ts";
import { input, roleOf, simplifyNamed } from "../graph/index.ts";
import { type LanguageModel, languageModel } from "../model/language/language.ts";
import { boundWeights } from "../model/weights.ts";
import { initialise } from "../nn/index.ts";

const sizes = { vocabulary: 23, width: 16, heads: 4, length: 12 };
const modern = { positions: "rotary", norm: "rms", keyHeads: 2, queryKeyNorm: true, gated: true } as const;

/** Large first weights, so that states, gates and routers are far from even. */
function weightsOf({ parameters }: LanguageModel) {
  const drawn = initialise(parameters, 5);
  const scaled = parameters.map((parameter) => {
    const { tensor } = parameter;
    const factor = tensor.shape.length === 1 ? 1 : roleOf(parameter) === "halting" ? 40 : 8;
    return [tensor, drawn.get(tensor)!.map((x) => factor * x)] as const;
  });
  return new Map(scaled);
}

/** Depths and states of texts, computed for all tokens or only for those that run. */
async function read(engine: Engine, model: LanguageModel, ids: readonly number[], batch: number, skips: boolean) {
  const length = ids.length / batch;
  const { hidden, probes } = model.deepened(input("ids", [batch, length], "int"), undefined, undefined, skips);
  const outputs = simplifyNamed({ hidden, updates: probes.updates! });
  const program = await engine.compile({ outputs, weights: boundWeights(model, weightsOf(model)) });
  const found = await program.run({ ids: Int32Array.from(ids) });
  const [states, depths] = [found.hidden!.data.slice(), Array.from(found.updates!.data)];
  await program.release();
  return { states: states as Float32Array, depths };
}

async function checkEqual(engine: Engine, model: LanguageModel) {
  const ids = tokens(24);
  const [dense, sparse] = [await read(engine, model, ids, 2, false), await read(engine, model, ids, 2, true)];
  expect(sparse.depths).toEqual(dense.depths);
  expect(new Set(dense.depths).size).toBeGreaterThan(1);
  expect(difference(sparse.states, dense.states)).toBeLessThan(1e-5);
  return dense.states;
}

/** Tokens read one by one score what may follow as all of them do that are read at once, by the reference. */
async function checkTokens(engine: Engine, model: LanguageModel) {
  const [weights, ids] = [weightsOf(model), tokens(8)];
  const program = await referenceEngine().compile({
    outputs: { logits: model.logits(input("ids", [1, 8], "int")) },
    weights: boundWeights(model, weights),
  });
  const { logits } = await program.run({ ids: Int32Array.from(ids) });
  const decoder = await model.open(engine, weights);
  for (const [i, id] of ids.entries()) {
    const whole = logits!.data.slice(i * 23, (i + 1) * 23) as Float32Array;
    expect(difference(await decoder.read([id]), whole)).toBeLessThan(1e-5);
  }
  await decoder.release();
}

const texts = [
  "2*3 halt(keys=own, biasInitial=-1)",
  "4 halt(keys=own, biasInitial=-1)",
  "2*2 relax(2, norms, scales) halt(keys=own, biasInitial=-1)",
  "(sf)x2*2 halt(keys=own, biasInitial=-1, accumulate=weightedSum)",
  "1*4 halt(keys=own, biasInitial=-1, stepEmbedding)",
  "1 + 2*2 halt(keys=own, biasInitial=-1) + 1*3 route(expert, keys=own, threshold=0.45)",
  "2*2 route(token, keys=own)",
  "4 route(expert, keys=own, capacity=1/0.5/1/0.5, threshold=0.4)",
  "2*3 exits(gate, rule=quantile, level=0.8, keys=own)",
  "5 exits(every=2, rule=entropy, level=2.9, keys=own)",
  "1*5 exits(rule=agreement, level=1, keys=own)",
  "2*3 exits(rule=difference, level=0.9, keys=own)",
];
const withKeys = (text: string, keys: string) => text.replaceAll("keys=own", `keys=${keys}`);

describe.each(texts)("running tokens only, %s", (text) => {
  it.each(["own", "first", "last", "running"])("gives what computing all tokens gives, with keys %s", async (keys) => {
    const model = languageModel({ ...sizes, depth: withKeys(text, keys) });
    await checkEqual(referenceEngine(), model);
  });
});

describe("running tokens only", () => {
  it("gives it with rotary positions, grouped heads and norms of queries and keys, on ONNX Runtime", async () => {
    const engine = await ortEngine({ threads: 1 });
    for (const text of [texts[0]!, texts[6]!, texts[9]!]) {
      await checkEqual(engine, languageModel({ ...sizes, ...modern, depth: text }));
    }
  });

  it("is another model with other keys", async () => {
    const found = await Promise.all(
      ["own", "first", "last", "running"].map((keys) => {
        return checkEqual(referenceEngine(), languageModel({ ...sizes, depth: withKeys(texts[0]!, keys) }));
      }),
    );
    expect(difference(found[0]!, found[1]!)).toBeGreaterThan(1e-3);
    expect(difference(found[0]!, found[2]!)).toBeGreaterThan(1e-4);
    expect(difference(found[0]!, found[3]!)).toBeGreaterThan(1e-3);
  });

  it("keeps one cache per shared block with keys of the first visit", () => {
    const caches = (keys: string) => languageModel({ ...sizes, depth: withKeys(texts[0]!, keys) }).policy.caches;
    expect([caches("own"), caches("last"), caches("first"), caches("running")]).toEqual([6, 6, 2, 7]);
  });

  it.each(["own", "first", "last", "running"])(
    "reads token by token what it reads at once, with keys %s",
    async (keys) => {
      const model = languageModel({ ...sizes, depth: withKeys("1 + 2*2 halt(keys=own, biasInitial=-1)", keys) });
      await checkTokens(referenceEngine(), model);
    },
  );

  it.each(texts)("reads token by token what it reads at once, on ONNX Runtime, %s", async (text) => {
    const engine = await ortEngine({ threads: 1 });
    for (const keys of ["own", "first", "last", "running"]) {
      await checkTokens(engine, languageModel({ ...sizes, depth: withKeys(text, keys) }));
    }
    await checkTokens(engine, languageModel({ ...sizes, ...modern, depth: text }));
  });

  it("shows tokens that run nothing of those that stopped, with keys running", async () => {
    const readWith = (keys: string, texts: readonly (readonly number[])[]) => {
      const model = languageModel({ ...sizes, depth: `fs route(token, keys=${keys})` });
      return read(referenceEngine(), model, texts.flat(), texts.length, true);
    };
    const pairs = Array.from({ length: 23 * 23 }, (_, i) => [i % 23, Math.floor(i / 23)] as const);
    const { depths } = await readWith("running", pairs);
    // The first token stops where the second goes on: two such pairs that end alike.
    const found = pairs.filter((_, i) => depths[2 * i] === 1 && depths[2 * i + 1] === 2);
    const one = found.find(([a, b]) => found.some(([c, d]) => c !== a && d === b))!;
    const other = found.find(([c, d]) => c !== one[0] && d === one[1])!;
    const states = async (keys: string) => {
      const texts = (await readWith(keys, [one, other])).states;
      return [texts.slice(16, 32), texts.slice(48)] as const;
    };
    expect(difference(...(await states("running")))).toBe(0);
    expect(difference(...(await states("own")))).toBeGreaterThan(1e-3);
  });

  it("refuses keys where blocks do not look at what they are shown, and exits that mix all states", () => {
    expect(() => languageModel({ ...sizes, depth: "(2)*2 exits(gate, rule=weighted, keys=own)" })).toThrow(
      "exits / keys: expected a rule by which tokens leave, got weighted; leave keys out, or choose quantile",
    );
  });
});
