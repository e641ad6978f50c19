import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { difference, runOnce } from "../engine/engine.contract.ts";
import { ortEngine } from "../engine/ort.ts";
import { referenceEngine } from "../engine/reference.ts";
import * as g from "../graph/index.ts";
import { languageModel } from "../model/language/language.ts";
import { initialise } from "../nn/index.ts";
import { adamw, type Optimiser, sgd } from "./optimiser.ts";
import { TrainingStep } from "./step.ts";
import { stepGraph } from "./step-graph.ts";

const options = { vocabulary: 20, width: 16, heads: 2, plan: [0, 1, 0], length: 8 };
const [BATCH, LENGTH] = [4, 8];

function batchOf(seed: number): { ids: Int32Array; targets: Int32Array } {
  const random = new RandomStream(seed, "batch");
  const ids = Int32Array.from({ length: BATCH * LENGTH }, () => random.integer(options.vocabulary));
  return { ids, targets: ids.map((id) => (3 * id + 1) % options.vocabulary) };
}

async function openStep(settings: { dropout?: number; optimiser?: Optimiser; clipNorm?: number; seed?: number } = {}) {
  const { dropout = 0, optimiser = adamw(), seed = 1, ...rest } = settings;
  const model = languageModel({ ...options, dropout });
  const step = await TrainingStep.create({
    engine: await ortEngine({ threads: 2 }),
    ...model.objective({ batch: BATCH, length: LENGTH, training: true }),
    groups: [{ parameters: model.parameters.map(({ tensor }) => tensor), optimiser }],
    initial: initialise(model.parameters, 1),
    seed,
    ...rest,
  });
  return { model, step };
}

/** A step on one table that is looked up, summed and used as a head. */
async function tableStep(
  lossOf: (table: g.Tensor, ids: g.Tensor) => g.Tensor,
  optimiser: Optimiser,
  rest: { clipNorm?: number; accumulate?: number } = {},
) {
  const table = g.parameter("table", [5, 2]);
  const ids = g.input("ids", [3], "int");
  const initial = new Map([[table, Float32Array.from({ length: 10 }, (_, i) => i / 10)]]);
  const groups = [{ parameters: [table], optimiser }];
  const loss = lossOf(table, ids);
  const engine = await ortEngine({ threads: 1 });
  const step = await TrainingStep.create({
    engine,
    loss,
    inputs: { ids },
    noise: [],
    groups,
    initial,
    seed: 1,
    ...rest,
  });
  return { step, table };
}

describe("gradients of a training step", () => {
  it("equal those of the plain graph on the reference engine, rows of the tied table included", async () => {
    const { model, step } = await openStep();
    const { loss } = model.objective({ batch: BATCH, length: LENGTH, training: false });
    const tensors = model.parameters.map(({ tensor }) => tensor);
    const plain = Object.fromEntries(g.gradients(loss, tensors).map((d, i) => [`d ${tensors[i]!.attributes.name}`, d]));
    const weights = Object.fromEntries([...step.weights].map(([p, data]) => [p.attributes.name, data.slice()]));
    const batch = batchOf(1);
    const expected = await runOnce(
      referenceEngine({ precision: "double" }),
      { loss, ...plain },
      { ...weights, ...batch },
    );
    expect(await step.differentiate(batch)).toBeCloseTo(expected.loss!.data[0]!, 5);
    for (const [{ attributes }, gradient] of step.gradients) {
      // Single precision; gradients of order 1e-2, held against 1.
      expect(difference(gradient, expected[`d ${attributes.name}`]!.data), attributes.name).toBeLessThan(1e-6);
    }
    await step.release();
  });

  it("of a table take rows out of the program, and a head's dense part too", () => {
    const model = languageModel(options);
    const { loss } = model.objective({ batch: BATCH, length: LENGTH, training: true });
    const tensors = model.parameters.map(({ tensor }) => tensor);
    const { outputs, rowOutputs, dense } = stepGraph(loss, tensors);
    expect(rowOutputs.map(({ parameter }) => parameter.attributes.name)).toEqual([
      "embedding.weight",
      "embedding.weight",
    ]);
    expect(dense.has(tensors[0]!)).toBe(true);
    expect(g.topological(Object.values(outputs)).filter(({ op }) => op === "scatterAdd")).toEqual([]);
  });

  it("of a repeated id are added, and start from nothing at every run", async () => {
    const { step, table } = await tableStep((each, ids) => g.sum(g.gather(each, ids)), sgd());
    for (const ids of [
      [0, 3, 4],
      [1, 3, 1],
    ])
      await step.differentiate({ ids });
    expect([...step.gradients.get(table)!]).toEqual([0, 0, 2, 2, 0, 0, 1, 1, 0, 0]);
    await step.release();
  });

  it("of accumulated batches leave nothing behind for the next", async () => {
    const { step, table } = await tableStep((each, ids) => g.sum(g.gather(each, ids)), sgd(), { accumulate: 2 });
    await step.run([{ ids: [0, 0, 4] }, { ids: [2, 2, 4] }], 0.1);
    expect([...step.gradients.get(table)!]).toEqual([1, 1, 0, 0, 1, 1, 0, 0, 1, 1]);
    await step.run([{ ids: [1, 1, 3] }, { ids: [1, 3, 3] }], 0.1);
    expect([...step.gradients.get(table)!]).toEqual([0, 0, 1.5, 1.5, 0, 0, 1.5, 1.5, 0, 0]);
    await step.release();
  });

  it("of a table that is also summed hold the number that was broadcast", async () => {
    const both = (each: g.Tensor, ids: g.Tensor) => g.add(g.sum(g.gather(each, ids)), g.multiply(g.sum(each), 0.5));
    const { step, table } = await tableStep(both, sgd());
    await step.differentiate({ ids: [1, 3, 1] });
    expect([...step.gradients.get(table)!]).toEqual([0.5, 0.5, 2.5, 2.5, 0.5, 0.5, 1.5, 1.5, 0.5, 0.5]);
    await step.release();
  });

  it("longer than clipNorm are scaled down to it, and reported as they were", async () => {
    const rate = 1;
    const { step, table } = await tableStep((each, ids) => g.multiply(g.sum(g.gather(each, ids)), 3), sgd(), {
      clipNorm: 0.5,
    });
    const before = step.weights.get(table)!.slice();
    const { gradientNorm } = await step.run({ ids: [0, 1, 2] }, rate);
    expect(gradientNorm).toBeCloseTo(3 * Math.sqrt(6), 5);
    const moved = step.weights.get(table)!.map((weight, i) => before[i]! - weight);
    expect(Math.hypot(...moved)).toBeCloseTo(0.5, 5);
    await step.release();
  });

  it("shorter than clipNorm are left alone", async () => {
    const { step, table } = await tableStep((each, ids) => g.sum(g.gather(each, ids)), sgd(), { clipNorm: 100 });
    const before = step.weights.get(table)!.slice();
    await step.run({ ids: [0, 0, 0] }, 0.25);
    expect([...step.weights.get(table)!.slice(0, 3)]).toEqual([-0.75, before[1]! - 0.75, before[2]!].map(Math.fround));
    await step.release();
  });
});

describe("training", () => {
  it("learns a tiny corpus", async () => {
    const { step } = await openStep();
    const batches = [batchOf(1), batchOf(2)];
    let loss = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 200 && loss >= 0.1; i++) ({ loss } = await step.run(batches[i % 2]!, 1e-2));
    expect(loss).toBeLessThan(0.1);
    await step.release();
  });

  it("gives the same weights to the last bit from the same seed, dropout included", async () => {
    const run = async (seed: number) => {
      const { step } = await openStep({ dropout: 0.2, seed });
      for (let i = 0; i < 20; i++) await step.run(batchOf(i), 1e-3);
      const weights = [...step.weights.values()].map((values) =>
        Buffer.from(Uint8Array.from(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))).toString(
          "base64",
        ),
      );
      await step.release();
      return { weights, noise: step.state.noise };
    };
    const [first, second, other] = [await run(1), await run(1), await run(2)];
    expect(second).toEqual(first);
    expect(first.noise.position).toBeGreaterThan(0);
    expect(other.weights).not.toEqual(first.weights);
  });

  it("draws new masks at every step", async () => {
    const { step } = await openStep({ dropout: 0.5 });
    const batch = batchOf(1);
    const losses = [await step.differentiate(batch), await step.differentiate(batch)];
    expect(losses[0]).not.toBe(losses[1]);
    await step.release();
  });
});

describe("mistakes in a training step", () => {
  it("a parameter in no group, in two, or without a first value is refused", async () => {
    const model = languageModel(options);
    const parameters = model.parameters.map(({ tensor }) => tensor);
    const optimiser = sgd();
    const create = async (groups: g.Tensor<"parameter">[][]) => {
      const objective = model.objective({ batch: BATCH, length: LENGTH, training: true });
      const initial = initialise(model.parameters, 1);
      const lists = groups.map((list) => ({ parameters: list, optimiser }));
      return TrainingStep.create({ engine: referenceEngine(), ...objective, groups: lists, initial, seed: 1 });
    };
    const n = parameters.length;
    const message = (count: number) =>
      `training step: expected every parameter in one group, got ${count} in groups, ${n} with a first value`;
    await expect(create([parameters.slice(1)])).rejects.toThrow(message(n - 1));
    await expect(create([parameters, parameters.slice(0, 1)])).rejects.toThrow(message(n + 1));
    await expect(create([[...parameters, g.parameter("stray", [2])]])).rejects.toThrow(message(n + 1));
  });
});
