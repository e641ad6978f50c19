import { describe, expect, it } from "vitest";
import { engineContract, instantiate } from "../src/engine/engine.contract.ts";
import type { Engine } from "../src/engine/engine.ts";
import { ortEngine } from "../src/engine/ort.ts";
import { opCases } from "../src/graph/cases.contract.ts";
import type { Op } from "../src/graph/index.ts";
import { lowerGraph } from "../src/onnx/lower.ts";
import { stepGraph } from "../src/train/step-graph.ts";
import { BATCH, LENGTH, smallModels } from "./small-models.ts";
import { hasVulkan } from "./vulkan.ts";

const present = await hasVulkan();

/** Loss and gradients of a small model. */
function stepOf(name: string) {
  const model = smallModels[name]!();
  const { loss } = model.objective({ batch: BATCH, length: LENGTH, training: true });
  const parameters = model.parameters.map(({ tensor }) => tensor);
  return stepGraph(loss, parameters).outputs;
}

/** Operations that our page of ONNX may write and that have no kernel in ONNX Runtime's WebGPU provider. */
const without = ["FusedMatMul", "LogSoftmax", "Or", "NonZero", "Compress"];

describe.each(Object.keys(smallModels))("a training step of a model with %s", (name) => {
  it("is written with operations that have a WebGPU kernel", () => {
    const { nodes } = lowerGraph({ outputs: stepOf(name), target: "gpu" });
    expect(nodes.map(({ op }) => op).filter((op) => without.includes(op))).toEqual([]);
  });

  it.runIf(present)("is wholly on the device, by the provider's own word", async () => {
    const engine = await ortEngine({ device: "webgpu", threads: 1, strict: true });
    await (await engine.compile({ outputs: stepOf(name) })).release();
  });
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
