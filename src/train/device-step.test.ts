import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { cycle } from "../depth/plan.ts";
import { type Engine, type Feed, feedsFor, type Residence } from "../engine/engine.ts";
import { ortEngine } from "../engine/ort.ts";
import * as g from "../graph/index.ts";
import { languageModel } from "../model/language/language.ts";
import { parModel } from "../model/par/par.ts";
import { DeviceStep } from "./device-step.ts";
import type { TrainState } from "./events.ts";
import { type OptimiserName, optimiserGroups } from "./groups.ts";
import type { Group } from "./memory.ts";
import { compileStep } from "./open-step.ts";
import { adamw } from "./optimiser.ts";
import { TrainingStep } from "./step.ts";
import type { Batch, StepOptions } from "./step-options.ts";
import { train } from "./train.ts";

const processor = await ortEngine({ threads: 1 });

/** An engine that keeps tensors in this process: the same graphs and the same bookkeeping, without a device. */
const resident: Engine = { ...processor, residence: () => keptHere(processor) };

function keptHere(engine: Engine): Residence {
  const kept: Record<string, Feed> = {};
  return {
    put: (values) => void Object.assign(kept, values),
    read: async (names) => Object.fromEntries(names.map((name) => [name, Float32Array.from(kept[name]!.data)])),
    compile: async (source, stays) => {
      const program = await engine.compile(source);
      return {
        inputs: program.inputs,
        run: async (feeds, accepts = () => true) => {
          const results: Record<string, Feed> = {};
          Object.assign(results, await program.run({ ...feedsFor(program, kept), ...feeds }));
          const staying = Object.entries(stays).map(([output, name]) => [name, results[output]!] as const);
          for (const output of Object.keys(stays)) delete results[output];
          if (accepts(results)) Object.assign(kept, Object.fromEntries(staying));
          return results;
        },
      };
    },
    release: async () => {},
  };
}

const [BATCH, LENGTH, VOCABULARY] = [2, 6, 20];
const plan = cycle({ unique: 1, depth: 2 });
const sizes = { vocabulary: VOCABULARY, width: 16, heads: 2, length: LENGTH, dropout: 0.2 } as const;

function batchesOf(count: number): Batch[] {
  const random = new RandomStream(3, "tokens");
  const draw = () => Int32Array.from({ length: BATCH * LENGTH }, () => random.integer(VOCABULARY));
  return Array.from({ length: count }, () => ({ ids: draw(), targets: draw() }));
}

interface Told extends Partial<StepOptions> {
  readonly groups: readonly Group[];
}

/** The same model, updated by kernels and in the graph. */
async function both(told: (model: ReturnType<typeof languageModel>) => Told) {
  const model = languageModel({ ...sizes, plan });
  const { loss, inputs, noise } = model.objective({ batch: BATCH, length: LENGTH, training: true });
  const initial = new Map(
    model.parameters.map(({ tensor, initial: first }) => [
      tensor,
      first(tensor.attributes.shape, new RandomStream(1, tensor.attributes.name)),
    ]),
  );
  const options = { loss, inputs, noise, initial, seed: 1, ...told(model) };
  return {
    kernels: await TrainingStep.create({ engine: processor, ...options }),
    graph: await DeviceStep.create({ engine: resident, ...options }),
  };
}

/** The largest difference between two arrays, relative to the largest number, at least 1. */
function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const [largest, apart] = [1, 0].map((_, k) =>
    Array.from(a).reduce((most, x, i) => Math.max(most, k === 0 ? Math.abs(x) : Math.abs(x - b[i]!)), k === 0 ? 1 : 0),
  );
  return apart! / largest!;
}

/**
 * How far weights may part in a few updates of a whole model at rate 0.01: where a gradient is 0 but for rounding (biases of keys),
 * m / √v makes a last bit a part of the rate, and Newton–Schulz is steep at 0. The rules themselves agree to 1e-6 (graph-updates.test.ts).
 */
const APART = 1e-4;

/** The largest distance of losses, norms and all state after some updates. */
async function apart(steps: Awaited<ReturnType<typeof both>>, updates: number, each = 1): Promise<number> {
  const batches = batchesOf(updates * each);
  let worst = 0;
  for (let i = 0; i < updates; i++) {
    const taken = batches.slice(i * each, (i + 1) * each);
    const [one, other] = [await steps.kernels.run(taken, 0.01), await steps.graph.run(taken, 0.01)];
    worst = Math.max(worst, distance([one.loss], [other.loss]), distance([one.gradientNorm], [other.gradientNorm]));
  }
  await steps.graph.gather();
  const [expected, found] = [steps.kernels.state, steps.graph.state];
  expect([found.updates, found.groupUpdates, found.noise]).toEqual([
    expected.updates,
    expected.groupUpdates,
    expected.noise,
  ]);
  for (const kind of ["weights", "moments"] as const) {
    expect([...found[kind].keys()]).toEqual([...expected[kind].keys()]);
    for (const [name, { data }] of expected[kind]) worst = Math.max(worst, distance(data, found[kind].get(name)!.data));
  }
  await Promise.all([steps.kernels.release(), steps.graph.release()]);
  return worst;
}

const groupsBy =
  (optimiser: OptimiserName, weightDecay = 0.1) =>
  (model: { parameters: Parameters<typeof optimiserGroups>[0] }) =>
    optimiserGroups(model.parameters, { optimiser, weightDecay, engine: processor });

describe("a step that updates weights in its graph", () => {
  it("is AdamW of the kernels to 1e-6, with clipping and groups that do not decay", async () => {
    const steps = await both((model) => ({ groups: groupsBy("adamw")(model), clipNorm: 0.5 }));
    expect(await apart(steps, 1)).toBeLessThan(1e-6);
  });

  it("keeps to the kernels' losses over 20 updates", async () => {
    const { kernels, graph } = await both((model) => ({ groups: groupsBy("adamw")(model), clipNorm: 0.5 }));
    for (const batch of batchesOf(20)) {
      const [one, other] = [await kernels.run(batch, 0.01), await graph.run(batch, 0.01)];
      expect(distance([one.loss, one.gradientNorm], [other.loss, other.gradientNorm])).toBeLessThan(1e-5);
    }
  });

  it.each(["adam", "lamb", "sgd", "muon"] as const)("is %s of the kernels", async (name) => {
    const steps = await both((model) => ({ groups: groupsBy(name)(model), clipNorm: 1 }));
    expect(await apart(steps, 4)).toBeLessThan(APART);
  });

  it("corrects bias each way, and adds decay to the gradient under Adam", async () => {
    for (const correction of ["rate", "none"] as const) {
      const optimiser = adamw({ correction, beta2: 0.98, epsilon: 1e-6, weightDecay: 0.2 });
      const steps = await both((model) => ({
        groups: [{ parameters: model.parameters.map(({ tensor }) => tensor), optimiser }],
      }));
      expect(await apart(steps, 3)).toBeLessThan(APART);
    }
  });

  it("adds up batches, with clipping by value", async () => {
    const steps = await both((model) => ({ groups: groupsBy("adamw")(model), accumulate: 3, clipNorm: 0.5 }));
    expect(await apart(steps, 4, 3)).toBeLessThan(APART);
    const clipped = await both((model) => ({ groups: groupsBy("sgd")(model), clipValue: 0.003 }));
    expect(await apart(clipped, 4)).toBeLessThan(APART);
  });

  it("lets groups rest with their moments", async () => {
    const steps = await both((model) => {
      const [wide, narrow] = groupsBy("adamw")(model);
      return { groups: [{ ...wide!, active: (step: number) => step % 2 === 0, rateFactor: 0.5 }, narrow!] };
    });
    expect(await apart(steps, 5)).toBeLessThan(APART);
  });

  it("goes on from the other kind's state", async () => {
    const [first, second] = [
      await both((model) => ({ groups: groupsBy("adamw")(model) })),
      await both((model) => ({ groups: groupsBy("adamw")(model) })),
    ];
    for (const batch of batchesOf(3)) await first.graph.run(batch, 0.01);
    await first.graph.gather();
    second.kernels.restore(first.graph.state);
    second.graph.restore(first.graph.state);
    expect(await apart(second, 3)).toBeLessThan(APART);
  });

  it("says that its weights are on the device until they are fetched", async () => {
    const { graph } = await both((model) => ({ groups: groupsBy("adamw")(model) }));
    await graph.run(batchesOf(1), 0.01);
    expect(() => graph.weights).toThrow("the weights are on the device; await fetch() first");
    await graph.fetch();
    expect(() => graph.state).toThrow("its state is on the device; await gather() first");
    expect(graph.weights.size).toBeGreaterThan(5);
  });

  it("keeps its weights where a loss is not finite", async () => {
    const w = g.parameter("w", [1]);
    const x = g.input("x", [1]);
    const options = {
      loss: g.sum(g.multiply(w, x)),
      inputs: { x },
      noise: [],
      initial: new Map([[w, Float32Array.of(2)]]),
      seed: 1,
    };
    const step = await DeviceStep.create({
      engine: resident,
      ...options,
      groups: [{ parameters: [w], optimiser: adamw() }],
    });
    await expect(step.run({ x: [Number.NaN] }, 0.1)).rejects.toThrow("at step 1, the loss is NaN");
    await step.gather();
    expect([...step.state.weights.get("w")!.data]).toEqual([2]);
    expect(step.state.updates).toBe(0);
  });
});

describe("training on an engine with a residence", () => {
  /** Losses of training, and its last state. */
  async function losses(engine: Engine, resume?: TrainState, steps = 6) {
    const model = parModel({
      vocabulary: VOCABULARY,
      width: 16,
      heads: 2,
      hidden: 24,
      blocks: "sf",
      memory: 4,
      dropout: 0.1,
    });
    const batches = batchesOf(6);
    const [found, states]: [number[], TrainState[]] = [[], []];
    const data = {
      count: 6,
      rows: BATCH,
      length: LENGTH,
      at: (i: number) => ({ ...batches[i]!, missing: [i === 0 ? 4 : 0] }),
    };
    const trained = {
      parameters: model.parameters,
      objective: (size: { batch: number; length: number; training: boolean }) =>
        model.objective({ ...size, memory: 4 }),
    };
    const session = train(trained, {
      engine,
      data: { train: data },
      steps,
      shuffle: false,
      checkpointEvery: 3,
      warmup: 0,
      resume,
    });
    for await (const event of session) {
      if (event.type === "step") found.push(event.loss);
      if (event.type === "checkpoint") states.push(event.state);
    }
    return { found, states };
  }

  it("gives the losses of the processor, memories included, and goes on from one to the other and back", async () => {
    const [there, here] = [await losses(resident), await losses(processor)];
    expect(distance(here.found, there.found)).toBeLessThan(1e-5);
    const [back, forth] = [await losses(processor, there.states[0]), await losses(resident, here.states[0])];
    expect(distance(here.found.slice(3), back.found)).toBeLessThan(1e-5);
    expect(distance(here.found.slice(3), forth.found)).toBeLessThan(1e-5);
  });

  it("leaves weights in this process where an optimiser has no rule", async () => {
    const w = g.parameter("w", [1]);
    const { rule: _, ...optimiser } = adamw();
    const options = { loss: g.sum(w), inputs: {}, noise: [], initial: new Map([[w, Float32Array.of(2)]]), seed: 1 };
    const open = (groups: Group[]) => compileStep({ engine: resident, ...options, groups });
    expect(await open([{ parameters: [w], optimiser }])).toBeInstanceOf(TrainingStep);
    expect(await open([{ parameters: [w], optimiser: adamw() }])).toBeInstanceOf(DeviceStep);
  });
});
