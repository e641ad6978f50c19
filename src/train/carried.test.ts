import { describe, expect, it } from "vitest";
import { ortEngine } from "../engine/ort.ts";
import { referenceEngine } from "../engine/reference.ts";
import * as g from "../graph/index.ts";
import { sgd } from "./optimiser.ts";
import { TrainingStep } from "./step.ts";
import type { StepOptions } from "./step-options.ts";

const engines = [() => Promise.resolve(referenceEngine()), () => ortEngine({ threads: 1 })];

async function open(
  engine: () => Promise<StepOptions["engine"]>,
  options: Omit<StepOptions, "engine" | "noise" | "seed">,
) {
  return TrainingStep.create({ engine: await engine(), noise: [], seed: 1, ...options });
}

/** loss = w · (x + state); the state adds x up. */
function summing() {
  const w = g.parameter("w", []);
  const [x, state] = [g.input("x", []), g.input("state", [])];
  const total = g.add(x, state);
  const groups = [{ parameters: [w], optimiser: sgd() }];
  const initial = new Map([[w, Float32Array.of(1)]]);
  const carried = [{ input: state, output: total }];
  return {
    loss: g.multiply(w, total),
    inputs: { x },
    carried,
    probes: { double: g.multiply(total, 2) },
    groups,
    initial,
  };
}

describe.each(engines)("a step that carries state (engine %#)", (engine) => {
  it("hands each run what the one before gave, zeros at first", async () => {
    const step = await open(engine, summing());
    const losses = [];
    for (const x of [1, 2, 3]) losses.push(await step.differentiate({ x: [x] }));
    expect(losses).toEqual([1, 3, 6]);
    expect([...step.carried.get("state")!.data]).toEqual([6]);
    expect([...step.probes.double!.data]).toEqual([12]);
    await step.release();
  });

  it("keeps what it carries in its state, and goes on from there", async () => {
    const [first, second] = [await open(engine, summing()), await open(engine, summing())];
    await first.differentiate({ x: [5] });
    second.restore(first.state);
    expect(await second.differentiate({ x: [1] })).toBe(6);
    await first.release();
    await second.release();
  });
});

describe.each(engines)("a step with inputs of changing length (engine %#)", (engine) => {
  const table = g.parameter("table", [4, 2]);
  const ids = g.input("ids", ["N"], "int");
  const options = {
    loss: g.sum(g.gather(table, ids)),
    inputs: { ids },
    sizes: { N: 3 },
    groups: [{ parameters: [table], optimiser: sgd() }],
    initial: new Map([[table, new Float32Array(8).fill(1)]]),
  };

  it("takes what comes, none included", async () => {
    const step = await open(engine, options);
    for (const [batch, loss, gradient] of [
      [[0, 0, 3], 6, [2, 2, 0, 0, 0, 0, 1, 1]],
      [[], 0, [0, 0, 0, 0, 0, 0, 0, 0]],
      [[1], 2, [0, 0, 1, 1, 0, 0, 0, 0]],
    ] as const) {
      expect(await step.differentiate({ ids: batch })).toBe(loss);
      expect([...step.gradients.get(table)!]).toEqual(gradient);
    }
    await expect(step.differentiate({ ids: [0, 1, 2, 3] })).rejects.toThrow(
      "batch / ids: expected at most 3 numbers, got 4",
    );
    await step.release();
  });

  it("clips a table that is looked up by occurrence, and one that is also used whole as a whole", async () => {
    const looked = await open(engine, { ...options, clipValue: 0.75 });
    await looked.differentiate({ ids: [0, 0, 3] });
    expect([...looked.gradients.get(table)!]).toEqual([1.5, 1.5, 0, 0, 0, 0, 0.75, 0.75]);
    await looked.release();
    const both = g.add(options.loss, g.multiply(g.sum(table), 0.5));
    const mixed = await open(engine, { ...options, loss: both, clipValue: 0.75 });
    await mixed.differentiate({ ids: [0, 0, 3] });
    expect([...mixed.gradients.get(table)!]).toEqual([0.75, 0.75, 0.5, 0.5, 0.5, 0.5, 0.75, 0.75]);
    await mixed.release();
  });
});
