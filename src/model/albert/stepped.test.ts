import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import { runOnce } from "../../engine/engine.contract.ts";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { input } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { type Albert, type AlbertOptions, albert } from "./albert.ts";
import { textInputs } from "./heads.ts";
import { encodeRunning } from "./running.ts";
import { SteppedAlbert, type TextBatch } from "./stepped.ts";

const sizes = { vocabulary: 50, embedding: 8, width: 16, heads: 2, hidden: 32, depth: 6, length: 16 };

/** Weights far from their first values, so that depths differ from token to token. */
function spread(model: Albert, seed = 5): Map<Albert["parameters"][number]["tensor"], Float32Array> {
  const random = new RandomStream(seed, "spread");
  const weights = initialise(model.parameters, 2);
  for (const [{ attributes }, values] of weights) {
    const scale = attributes.name.includes("word") ? 1 : attributes.name.endsWith("unit.weight") ? 0.8 : 0.1;
    for (let i = 0; i < values.length; i++) values[i]! += scale * random.normal();
    if (attributes.name.endsWith("unit.bias")) values[0] = -2.5;
  }
  return weights;
}

function textsOf(lengths: readonly number[], length: number, seed = 3): TextBatch {
  const random = new RandomStream(seed, "texts");
  const count = lengths.length * length;
  const mask = Int32Array.from({ length: count }, (_, i) => (i % length < lengths[Math.floor(i / length)]! ? 1 : 0));
  return {
    batch: lengths.length,
    length,
    mask,
    ids: Int32Array.from(mask, (real) => (real ? 1 + random.integer(49) : 0)),
    types: Int32Array.from({ length: count }, () => random.integer(2)),
  };
}

async function dense(model: Albert, weights: ReadonlyMap<object, Float32Array>, texts: TextBatch) {
  const { batch, length } = texts;
  const caps = texts.caps && input("caps", [batch, length], "int");
  const { sequence, pooled, probes } = model.encode({ ...textInputs({ batch, length }), caps });
  const { updates, remainders } = probes;
  const named = model.parameters.map(({ name, tensor }) => [name, weights.get(tensor)!] as const);
  const { ids, mask, types } = texts;
  const numbers = {
    ids,
    mask: Int32Array.from(mask!),
    types: types!,
    ...(caps && { caps: Int32Array.from(texts.caps!) }),
  };
  const feeds = { ...numbers, ...Object.fromEntries(named) };
  const outputs = { sequence, pooled: pooled!, updates: updates!, remainders: remainders! };
  return runOnce(referenceEngine(), outputs, feeds);
}

/** Room for another order of summation over twelve depths; remainders may all be 0. */
function expectClose(actual: Float32Array, expected: ArrayLike<number>): void {
  const largest = Math.max(...Array.from(expected, Math.abs));
  const worst = Math.max(...Array.from(expected, (value, i) => Math.abs(value - actual[i]!)));
  expect(worst / Math.max(largest, 1e-3)).toBeLessThan(1e-5);
}

async function expectEqual(model: Albert, weights: ReturnType<typeof spread>, batches: readonly TextBatch[]) {
  const stepped = await SteppedAlbert.create(await ortEngine({ threads: 1 }), model, weights);
  for (const texts of batches) {
    const expected = await dense(model, weights, texts);
    const found = await stepped.encode(texts);
    expect(found.updates).toEqual(Float32Array.from(expected.updates!.data));
    expectClose(found.remainders, expected.remainders!.data);
    expectClose(found.sequence, expected.sequence!.data);
    expectClose(found.pooled!, expected.pooled!.data);
  }
  await stepped.release();
}

const kinds: [string, Partial<AlbertOptions>][] = [
  ["blend", {}],
  ["blend without a halt at the cap", { halting: { haltAtCap: false } }],
  ["Graves' sum", { halting: { accumulate: "weightedSum" } }],
  ["Graves' sum with halted tokens running", { halting: { accumulate: "weightedSum", halted: "running" } }],
  ["step vectors", { halting: { stepEmbedding: true } }],
  ["two layers in turn", { groups: 1, inner: 2, depth: 3 }],
  ["padding that runs", { halting: { pads: "run" } }],
];

describe("the stepped program", () => {
  it.each(kinds)("equals the dense loop: %s, batches of different lengths", async (_, options) => {
    const model = albert({ ...sizes, halting: {}, ...options });
    await expectEqual(model, spread(model), [textsOf([9, 5, 1], 9), textsOf([7, 7], 7), textsOf([12], 12)]);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])("equals the dense loop on random models, batches and caps: %i", async (seed) => {
    const random = new RandomStream(seed, "random models");
    const either = <T>(...of: T[]): T => of[random.integer(of.length)]!;
    const halting = {
      accumulate: either("blend", "weightedSum"),
      haltAtCap: either(true, false),
      stepEmbedding: either(true, false, false),
      pads: either("skip", "run"),
    } as const;
    const model = albert({ ...sizes, heads: either(1, 2, 4), depth: either(1, 3, 6), inner: either(1, 2), halting });
    const length = 1 + random.integer(sizes.length);
    const lengths = Array.from({ length: either(1, 2, 5) }, () => 1 + random.integer(length));
    const texts = textsOf(lengths, length, seed);
    const caps = Int32Array.from(texts.ids, () => 1 + random.integer(model.policy.depth));
    await expectEqual(model, spread(model, seed), [texts, { ...texts, caps }]);
  });

  it("computes as many rows as tokens ran through depths, over a spread of depths", async () => {
    const model = albert({ ...sizes, halting: {} });
    const weights = spread(model);
    const texts = textsOf([12, 9, 3], 12);
    const { probes } = encodeRunning(model, textInputs({ batch: 3, length: 12 }));
    const ids = Object.fromEntries(Object.entries(probes).filter(([name]) => name.endsWith(".rows")));
    const program = await referenceEngine().compile({ outputs: { ...ids, updates: probes.updates! }, weights });
    const { updates, ...rows } = await program.run({
      ids: texts.ids,
      mask: Int32Array.from(texts.mask!),
      types: texts.types!,
    });
    const depths = [...updates!.data];
    const expected = Object.keys(ids).map((_, depth) => depths.filter((each) => each > depth).length);
    expect(Object.values(rows).map(({ shape }) => shape[0])).toEqual(expected);
    expect(new Set(depths).size).toBeGreaterThan(3);
  });

  it("runs no further than its deepest token", async () => {
    const model = albert({ ...sizes, halting: { biasInitial: 2 } });
    const stepped = await SteppedAlbert.create(referenceEngine(), model, initialise(model.parameters, 1));
    const { updates, iterations } = await stepped.encode(textsOf([12, 9, 3], 12));
    expect(iterations).toBe(Math.max(...updates));
    expect(iterations).toBeLessThan(sizes.depth);
  });

  it("halts tokens at caps of their own", async () => {
    const model = albert({ ...sizes, halting: { biasInitial: -20 } });
    const stepped = await SteppedAlbert.create(referenceEngine(), model, initialise(model.parameters, 1));
    const caps = [1, 2, 3, 4, 5, 6];
    const { updates } = await stepped.encode({ ...textsOf([6], 6), caps });
    expect([...updates]).toEqual(caps);
  });

  it("refuses models of fixed depth, and texts that do not fit", async () => {
    const model = albert({ ...sizes, halting: {} });
    const weights = initialise(model.parameters, 1);
    await expect(SteppedAlbert.create(referenceEngine(), albert(sizes), weights)).rejects.toThrow(
      "ALBERT: expected a model whose tokens halt, got fixed depth",
    );
    const stepped = await SteppedAlbert.create(referenceEngine(), model, weights);
    await expect(stepped.encode(textsOf([20], 20))).rejects.toThrow("texts: expected at most 16 tokens, got 20");
    await expect(stepped.encode({ batch: 1, length: 4, ids: new Int32Array(3) })).rejects.toThrow(
      "ids: expected 4 numbers for [1,4], got 3",
    );
  });
});
