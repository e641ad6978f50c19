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
    await expect(create([[...parameters, g.parameter("stray", [2])]])).rejects.toThrow(
      "weight stray: expected 2 values, got none",
    );
  });

  it.each<[string, object, string]>([
    ["a name that is no input", { label: [1] }, "batch / label: expected an input of the model (ids, targets), got"],
    [
      "floats for ids",
      { ids: new Float32Array(BATCH * LENGTH) },
      "batch / ids: expected whole numbers, as an Int32Array",
    ],
    ["an id outside the vocabulary", { ids: new Int32Array(BATCH * LENGTH).fill(20) }, "20 rows of embedding.weight"],
    [
      "a negative target",
      { targets: new Int32Array(BATCH * LENGTH).fill(-1) },
      "expected ids from 0 to 19 for 20 values",
    ],
    ["nothing", { ids: undefined }, "batch / ids: expected 32 numbers, got nothing"],
  ])("%s in a batch is refused", async (_, wrong, message) => {
    const { step } = await openStep();
    await expect(step.run({ ...batchOf(1), ...wrong }, 0.1)).rejects.toThrow(message);
    await step.release();
  });

  it.each<[string, object, string]>([
    ["clipNorm: 0", { clipNorm: 0 }, "training step / clipNorm: expected a number above 0, got 0"],
    ["accumulate: 0", { accumulate: 0 }, "training step / accumulate: expected a whole number from 1, got 0"],
    ["a seed of 1.5", { seed: 1.5 }, "training step / seed: expected a whole number from 0, got 1.5"],
  ])("%s is refused", async (_, wrong, message) => {
    await expect(openStep(wrong)).rejects.toThrow(message);
  });

  it("an option that a group does not have is refused", async () => {
    const [table, optimiser] = [g.parameter("table", [5, 2]), sgd()];
    const groups = [{ parameters: [table], optimiser, rate: 2 }];
    const initial = new Map([[table, new Float32Array(10)]]);
    const step = { engine: referenceEngine(), loss: g.sum(table), inputs: {}, noise: [], groups, initial, seed: 1 };
    await expect(TrainingStep.create(step)).rejects.toThrow("group 0: expected options among parameters, optimiser");
  });

  it("first weights of another instance of the model are refused", async () => {
    const [model, other] = [languageModel(options), languageModel(options)];
    const parameters = model.parameters.map(({ tensor }) => tensor);
    const create = TrainingStep.create({
      engine: referenceEngine(),
      ...model.objective({ batch: BATCH, length: LENGTH, training: true }),
      groups: [{ parameters, optimiser: sgd() }],
      initial: initialise(other.parameters, 1),
      seed: 1,
    });
    await expect(create).rejects.toThrow("got those of another instance; load them with loadStateDict");
  });

  it("a parameter and an input that the loss does not use are no mistake", async () => {
    const [table, unused] = [g.parameter("table", [5]), g.parameter("unused", [2])];
    const [x, y] = [g.input("x", [5]), g.input("y", [1])];
    const step = await TrainingStep.create({
      engine: referenceEngine(),
      loss: g.sum(g.multiply(table, x)),
      inputs: { x, y },
      noise: [],
      groups: [{ parameters: [table, unused], optimiser: sgd() }],
      initial: new Map([table, unused].map((each) => [each, new Float32Array(each.attributes.shape[0]!)])),
      seed: 1,
    });
    await step.run({ x: [1, 2, 3, 4, 5], y: [0] }, 1);
    expect([...step.weights.get(table)!]).toEqual([-1, -2, -3, -4, -5]);
  });
});
