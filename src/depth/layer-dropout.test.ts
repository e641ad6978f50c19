import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { add, input, type Tensor } from "../graph/index.ts";
import { type Block, inference, Training, TransformerBlock } from "../nn/index.ts";
import { depthContract } from "./depth.contract.ts";
import { type LayerDropoutOptions, layerDropout } from "./layer-dropout.ts";

const blocks = (width: number, count: number): Block[] =>
  Array.from({ length: count }, (_, i) => {
    return new TransformerBlock(`blocks.${i}`, { width, heads: 2, hidden: 12, dropout: 0.1, activation: "gelu" });
  });

depthContract("layer dropout", (width) => layerDropout(blocks(width, 2), [0, 1, 0, 1], { dropout: 0.5 }));
depthContract("layer dropout that grows", (width) =>
  layerDropout(blocks(width, 3), [0, 1, 2], { dropout: 0.5, growing: true, exitLoss: 0 }),
);

const rows = { batch: 2, length: 2 };
const x = input("x", [4, 1]);
const one: Block = { parameters: [], caches: 0, apply: (state) => add(state, 1) };
const policyOf = (options: LayerDropoutOptions = {}) => layerDropout([one], [0, 0, 0, 0], options);

async function valuesOf(outputs: Record<string, Tensor>, feeds: Record<string, Float64Array> = {}) {
  const found = await runOnce(referenceEngine({ precision: "double" }), outputs, { x: new Float64Array(4), ...feeds });
  return Object.values(found).map(({ data }) => [...data]);
}

describe("layer dropout", () => {
  it("skips deeper blocks more often, whole texts at a time", async () => {
    const mode = new Training();
    const { hidden } = policyOf({ dropout: 0.5, exitLoss: 0 }).apply(x, { rows, mode });
    // Rates ½·(2^(l/3) − 1) at l = 1, 2, 3: 0.13, 0.294, 0.5. The first text draws 0.2, the second 0.4, at every depth.
    const noise = mode.noise.map(({ tensor }) => [tensor.attributes.name, Float64Array.of(0.2, 0.4)] as const);
    expect(noise).toHaveLength(3);
    expect(await valuesOf({ hidden }, Object.fromEntries(noise))).toEqual([[2, 2, 3, 3]]);
  });

  it("weighs exits by depth, the last one most, and all of them by 1", () => {
    const weights = (options: LayerDropoutOptions) => {
      const list = policyOf(options).apply(x, { rows, mode: new Training() }).exits!;
      return list.map(({ probability }) => (probability.attributes as { data: number[] }).data[0]);
    };
    // 0 (left out), 0.5·1, 0.5·3, 3 + 0.5·3
    expect(weights({ exitLoss: 0.5 })).toEqual([0.5, 1.5, 4.5].map((w) => expect.closeTo(w / 6.5, 12)));
    expect(weights({ exitLoss: 0.5, every: 2 })).toEqual([0.5, 4.5].map((w) => expect.closeTo(w / 5, 12)));
    expect(weights({ exitLoss: 0.5, exit: 2 })).toEqual([0.5, 1].map((w) => expect.closeTo(w / 1.5, 12)));
  });

  it("has its one exit before the end, and no others beside it", () => {
    const exitOf = (hidden: Tensor) => policyOf({ dropout: 0, exit: 3 }).apply(hidden, { rows, mode: new Training() });
    expect(exitOf(x).exits![0]!.hidden).not.toBe(exitOf(x).hidden);
    expect(() => policyOf({ exit: 4 })).toThrow("layer dropout / exit: expected a whole number from 1 to 3, got 4");
    expect(() => policyOf({ exit: 2, every: 2 })).toThrow("layer dropout / exit: expected no `every`, got 2");
  });

  it("runs all depths in use, or stops after those it is told", async () => {
    const at = (depth: number) => policyOf().at(depth).apply(x, { rows, mode: inference }).hidden;
    const whole = policyOf().apply(x, { rows, mode: inference }).hidden;
    expect(await valuesOf({ whole, three: at(3) })).toEqual([Array(4).fill(4), Array(4).fill(3)]);
    expect(() => policyOf().at(5)).toThrow("layer dropout / depth: expected a whole number from 1 to 4, got 5");
  });

  it("grows its rates from nothing to all of them", () => {
    const { at } = policyOf({ growing: true }).scalars!.layerDropout!;
    expect([at(0, 101), at(100, 101)]).toEqual([0, 1]);
    expect(at(50, 101)).toBeCloseTo(Math.SQRT2 - 1, 12);
  });
});
