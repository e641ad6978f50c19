import { describe, expect, it } from "vitest";
import { ponderScale } from "../../depth/halting.ts";
import { cycle } from "../../depth/plan.ts";
import { runOnce } from "../../engine/engine.contract.ts";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { input } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { adamw } from "../../train/optimiser.ts";
import { TrainingStep } from "../../train/step.ts";
import { languageModel } from "./language.ts";

const plan = cycle({ unique: 2, depth: 5 });
const options = { vocabulary: 20, width: 16, heads: 2, hidden: 32, length: 12, plan, halting: { ponder: 0.05 } };
const text = [3, 7, 1, 9, 4, 4, 2, 11];

/** Far from the first values, so that depths differ. */
function spread(model: ReturnType<typeof languageModel>) {
  const weights = initialise(model.parameters, 2);
  for (const [{ attributes }, values] of weights) {
    if (attributes.name === "halting.unit.weight")
      for (let i = 0; i < values.length; i++) values[i] = 2 * Math.cos(7 * i);
    if (attributes.name === "halting.unit.bias") values[0] = -1;
  }
  return weights;
}

describe("a language model of shared blocks whose tokens halt", () => {
  it("owns its blocks once, and a halting unit", () => {
    const names = languageModel(options).parameters.map(({ name }) => name);
    expect(names.filter((name) => name.startsWith("blocks."))).toHaveLength(24);
    expect(names.filter((name) => name.startsWith("halting."))).toHaveLength(2);
    expect(new Set(names).size).toBe(names.length);
  });

  it("continues a text token by token as it reads it at once", async () => {
    const model = languageModel(options);
    const weights = spread(model);
    const ids = input("ids", [1, text.length], "int");
    const { probes } = model.deepened(ids);
    const named = [...weights].map(([{ attributes }, data]) => [attributes.name, data]);
    const feeds = { ids: Int32Array.from(text), ...Object.fromEntries(named) };
    const outputs = { logits: model.logits(ids), depths: probes.updates! };
    const { logits, depths } = await runOnce(referenceEngine(), outputs, feeds);
    expect(new Set(depths!.data).size).toBeGreaterThan(1);
    const decoder = await model.open(referenceEngine(), weights);
    const last = await decoder.read(text);
    const expected = Array.from(logits!.data).slice(-20);
    for (const [i, value] of [...last].entries()) expect(value).toBeCloseTo(expected[i]!, 5);
    await decoder.release();
  });

  it("learns a text by heart, with fewer depths as time costs more", async () => {
    const costly = await trained(0.3);
    const free = await trained(0);
    expect(free.losses.at(-1)!).toBeLessThan(0.5 * free.losses[0]!);
    expect(costly.depth).toBeLessThanOrEqual(free.depth);
  });
});

async function trained(ponder: number): Promise<{ losses: number[]; depth: number }> {
  const model = languageModel({ ...options, halting: { ponder, biasInitial: -2 } });
  const engine = await ortEngine({ threads: 1 });
  const objective = model.objective({ batch: 1, length: text.length - 1, training: true });
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const groups = [{ parameters, optimiser: adamw({ weightDecay: 0 }) }];
  const initial = initialise(model.parameters, 1);
  const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1 });
  const batch = { ids: text.slice(0, -1), targets: text.slice(1) };
  const losses: number[] = [];
  for (let i = 0; i < 60; i++) losses.push((await step.run(batch, 0.01)).loss);
  const ids = input("ids", [1, text.length - 1], "int");
  const program = await engine.compile({ outputs: { n: model.deepened(ids).probes.updates! }, weights: step.weights });
  const { n } = await program.run({ ids: Int32Array.from(batch.ids) });
  const depth = Array.from(n!.data).reduce((a, b) => a + b) / n!.data.length;
  await program.release();
  await step.release();
  return { losses, depth };
}

describe("a penalty that grows", () => {
  const model = languageModel({ ...options, halting: { ponder: 0.5, ponderWarmup: 10 } });

  it("asks for its scale in training only, and adds so much of the penalty", async () => {
    const { loss, inputs } = model.objective({ batch: 1, length: 7, training: true });
    expect(Object.keys(inputs)).toEqual(["ids", "targets", "ponderScale"]);
    expect(model.objective({ batch: 1, length: 7, training: false }).inputs).not.toHaveProperty("ponderScale");
    const named = [...spread(model)].map(([{ attributes }, data]) => [attributes.name, data]);
    const feeds = { ids: text.slice(0, -1), targets: text.slice(1) };
    const at = async (scale: number) => {
      const given = { ids: Int32Array.from(feeds.ids), targets: Int32Array.from(feeds.targets) };
      const all = { ...given, ponderScale: Float32Array.of(scale), ...Object.fromEntries(named) };
      return (await runOnce(referenceEngine(), { loss }, all)).loss!.data[0]!;
    };
    const [none, half, all] = [await at(0), await at(0.5), await at(1)];
    expect(all).toBeGreaterThan(none + 0.5); // at least one depth, and τ is one half
    expect(half).toBeCloseTo((none + all) / 2, 5);
  });

  it("is whole once the warm-up is over", () => {
    expect([0, 4, 9, 10].map(ponderScale(10))).toEqual([0.1, 0.5, 1, 1]);
    expect([0, 49, 62, 74, 99].map(ponderScale(25, 50))).toEqual([0, 0, 0.52, 1, 1]);
    expect([49, 50].map(ponderScale(0, 50))).toEqual([0, 1]);
    expect(ponderScale(0)(0)).toBe(1);
  });
});
