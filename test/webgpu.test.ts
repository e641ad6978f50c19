import { describe, expect, it } from "vitest";
import { engineContract, instantiate } from "../src/engine/engine.contract.ts";
import type { Engine } from "../src/engine/engine.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { referenceEngine } from "../src/engine/reference.ts";
import { opCases } from "../src/graph/cases.contract.ts";
import type { Op } from "../src/graph/index.ts";
import type { training } from "../src/index.ts";
import { lowerGraph } from "../src/onnx/lower.ts";
import { deviceGraph } from "../src/train/device-graph.ts";
import { optimiserGroups } from "../src/train/groups.ts";
import { train } from "../src/train/train.ts";
import { BATCH, LENGTH, smallBatches, smallModels } from "./small-models.ts";
import { hasVulkan } from "./vulkan.ts";

const present = await hasVulkan();

/** The programs of a step of a small model: loss, gradients, update. */
async function programsOf(name: string, optimiser: training.OptimiserName = "adamw", accumulate = 1) {
  const model = smallModels[name]!();
  const { loss, inputs, noise = [], carried } = model.objective({ batch: BATCH, length: LENGTH, training: true });
  const groups = optimiserGroups(model.parameters, { optimiser, weightDecay: 0.1, engine: referenceEngine() });
  const given = { engine: referenceEngine(), loss, inputs, noise, groups, initial: new Map(), seed: 1, clipNorm: 1 };
  const { pass, update } = await deviceGraph({ ...given, ...(carried ? { carried } : {}), accumulate });
  return [pass, ...(update ? [update] : [])];
}

/** Compiles programs of which no node may be left to the processor. */
async function compiled(given: ReturnType<typeof programsOf>): Promise<void> {
  const engine = await ortEngine({ device: "webgpu", threads: 1, strict: true });
  for (const { outputs } of await given) await (await engine.compile({ outputs })).release();
}

/** Operations that our page of ONNX may write and that have no kernel in ONNX Runtime's WebGPU provider. */
const without = ["FusedMatMul", "LogSoftmax", "Or", "NonZero", "Compress"];

describe.each(Object.keys(smallModels))("a training step of a model with %s", (name) => {
  it("is written with operations that have a WebGPU kernel", async () => {
    const nodes = (await programsOf(name)).flatMap(({ outputs }) => lowerGraph({ outputs, target: "gpu" }).nodes);
    expect(nodes.map(({ op }) => op).filter((op) => without.includes(op))).toEqual([]);
  });

  it.runIf(present)("is wholly on the device, by the provider's own word", async () => {
    await compiled(programsOf(name));
  });
});

interface Session {
  readonly resume?: training.TrainState | undefined;
  readonly steps?: number;
  readonly groups?: training.GroupOptions;
}

/** Losses of training a small model, and its states: after ten updates and at the end. */
async function trained(engine: Engine, name: string, { steps = 20, ...how }: Session = {}) {
  const session = train(smallModels[name]!(), {
    engine,
    data: { train: smallBatches(name) },
    steps,
    shuffle: false,
    checkpointEvery: 10,
    rate: 0.003,
    warmup: 5,
    ...how,
  });
  const [losses, states]: [number[], training.TrainState[]] = [[], []];
  for await (const event of session) {
    if (event.type === "step") losses.push(event.loss);
    if (event.type === "checkpoint") states.push(event.state);
  }
  return { losses, states };
}

const distance = (a: readonly number[], b: readonly number[]) => Math.max(...a.map((x, i) => Math.abs(x - b[i]!)));

describe.runIf(present)("training on WebGPU, weights and moments staying there,", () => {
  it.each(["a plan", "halting", "Transformer-XL"])(
    "gives the losses of the processor over 20 updates: %s",
    async (name) => {
      const [gpu, cpu] = [
        await ortEngine({ device: "webgpu", threads: 1, strict: true }),
        await ortEngine({ threads: 1 }),
      ];
      const [there, here] = [await trained(gpu, name), await trained(cpu, name)];
      expect(there.losses).toHaveLength(20);
      expect(distance(there.losses, here.losses)).toBeLessThan(1e-4);
      if (name !== "a plan") return;
      const [back, forth] = [
        await trained(cpu, name, { resume: there.states[0] }),
        await trained(gpu, name, { resume: here.states[0] }),
      ];
      expect(distance(back.losses, here.losses.slice(10))).toBeLessThan(1e-4);
      expect(distance(forth.losses, here.losses.slice(10))).toBeLessThan(1e-4);
    },
  );
});

/** Whether the provider takes every node of a case. */
async function takesAll(engine: Engine, opCase: (typeof opCases)[Op][number]): Promise<boolean> {
  try {
    await (await engine.compile({ outputs: { y: instantiate(opCase).result } })).release();
    return true;
  } catch (error) {
    expect(String(error)).toContain("assigned to the default CPU EP");
    return false;
  }
}

describe.runIf(present)("WebGPU", () => {
  it("takes the update of every optimiser as a whole, also of batches that are added up", async () => {
    for (const optimiser of ["muon", "adam", "lamb", "sgd"] as const) await compiled(programsOf("a plan", optimiser));
    await compiled(programsOf("halting", "adamw", 2));
  });

  it("has kernels for every operation but `which`", async () => {
    const engine = await ortEngine({ device: "webgpu", threads: 1, strict: true });
    const left: string[] = [];
    for (const op of Object.keys(opCases) as Op[]) {
      for (const opCase of opCases[op]) if (!(await takesAll(engine, opCase))) left.push(`${op} ${opCase.label}`);
    }
    expect(left.filter((each) => !each.startsWith("which "))).toEqual([
      "replaceRows none",
      "replaceRows those that a condition names",
    ]);
  });
});

// A minute on a software driver: by hand.
if (present && process.env.LAYERWISE_WEBGPU_CONTRACT) {
  const engine = ortEngine({ device: "webgpu", threads: 1 });
  engineContract("WebGPU", () => engine);
}
