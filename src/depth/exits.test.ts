import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { input, multiply, type Tensor } from "../graph/index.ts";
import { type Block, inference, initialise, Training, TransformerBlock } from "../nn/index.ts";
import { depthContract } from "./depth.contract.ts";
import { type ExitRule, type ExitsOptions, exits } from "./exits.ts";
import { fixed } from "./fixed.ts";
import { nested } from "./nested.ts";

const WIDTH = 4;
const rows = { batch: 1, length: 2 };
const blocks = (width: number, count: number): Block[] =>
  Array.from({ length: count }, (_, i) => {
    return new TransformerBlock(`blocks.${i}`, { width, heads: 2, hidden: 12, dropout: 0, activation: "gelu" });
  });

depthContract("a trained gate", (width) => exits(blocks(width, 2), [0, 1, 0, 1], { width, gate: true }));
depthContract("a trained gate, weighted", (width) =>
  exits(blocks(width, 1), [0, 0, 0], { width, gate: true, every: 2, rule: { kind: "weighted" } }),
);
for (const kind of ["difference", "agreement", "entropy"] as const) {
  depthContract(`exits by ${kind}`, (width) => exits(blocks(width, 2), [0, 1, 0], { width, rule: { kind } }));
}
depthContract("a gate after each pass through a stack", (width) =>
  nested([fixed(blocks(width, 2), [0, 1])], [0, 0, 0], (stacks, plan) => exits(stacks, plan, { width, gate: true })),
);

/** Multiplies by a number: states are x, 2x, 4x, … */
const doubling: Block = { parameters: [], caches: 0, apply: (x) => multiply(x, 2) };
const policyOf = (options: Partial<ExitsOptions> = {}) => exits([doubling], [0, 0, 0, 0], { width: WIDTH, ...options });
const x = input("x", [2, WIDTH]);
const states = Float64Array.of(0.1, 0.2, 0.3, 0.9, 0.5, 0.1, 0.2, 0.3);

async function run(policy: ReturnType<typeof policyOf>, outputs: Record<string, Tensor>, bias = 0) {
  const weights = [...initialise(policy.parameters, 3)].map(([{ attributes }, data]) => [
    attributes.name,
    data.fill(0),
  ]);
  const feeds = { x: states, ...Object.fromEntries(weights), "exits.unit.bias": Float64Array.of(bias) };
  return runOnce(referenceEngine({ precision: "double" }), outputs, feeds);
}

async function depths(rule: ExitRule, options: Partial<ExitsOptions> = {}, scores = (h: Tensor) => h) {
  const { hidden, probes } = policyOf({ ...options, rule }).apply(x, { rows, mode: inference, scores });
  const found = await run(policyOf({ ...options, rule }), { hidden, updates: probes.updates! });
  const first = found.hidden!.data.filter((_, i) => i % WIDTH === 0);
  // A state tells its depth: 2ᵗ times what came in.
  expect(Array.from(first, (value, i) => Math.log2(value / states[i * WIDTH]!)).map(Math.round)).toEqual([
    ...found.updates!.data,
  ]);
  return [...found.updates!.data];
}

describe("exits", () => {
  it("have probabilities that add up to 1, in training the loss of every depth", async () => {
    const policy = policyOf({ gate: true, entropy: 0.5 });
    const { exits: list, penalty } = policy.apply(x, { rows, mode: new Training() });
    const outputs = Object.fromEntries(list!.map(({ probability }, i) => [`p${i}`, probability]));
    const found = await run(policy, { ...outputs, penalty: penalty! }, Math.log(1 / 3));
    const p = [1 / 4, 3 / 16, 9 / 64, 27 / 64]; // λ = ¼
    expect(list!.map((_, i) => found[`p${i}`]!.data[0])).toEqual(p.map((value) => expect.closeTo(value, 12)));
    expect(found.penalty!.data[0]).toBeCloseTo(0.5 * p.reduce((total, each) => total + each * Math.log(each), 0), 12);
  });

  it("by quantile are left where the probabilities so far exceed a level", async () => {
    const gate = { gate: true }; // λ = ½: 0.5, 0.75, 0.875
    expect(await depths({ kind: "quantile", level: 0.4 }, gate)).toEqual([1, 1]);
    expect(await depths({ kind: "quantile", level: 0.7 }, gate)).toEqual([2, 2]);
    expect(await depths({ kind: "quantile", level: 0.99 }, gate)).toEqual([4, 4]);
  });

  it("by difference are left where the state moves less than a level", async () => {
    // ‖2x − x‖ / ‖2x‖ = ½ at every depth.
    expect(await depths({ kind: "difference", level: 0.49 })).toEqual([4, 4]);
    expect(await depths({ kind: "difference", level: 0.51 })).toEqual([1, 1]);
  });

  it("by agreement are left where the most probable token stays, so many times", async () => {
    expect(await depths({ kind: "agreement" })).toEqual([2, 2]);
    expect(await depths({ kind: "agreement", level: 2 })).toEqual([3, 3]);
    expect(await depths({ kind: "agreement", level: 9 })).toEqual([4, 4]);
  });

  it("by entropy are left by each token where it is certain enough", async () => {
    // Of softmax(2ᵗ·x), each token's own.
    expect(await depths({ kind: "entropy", level: 1.2 })).toEqual([1, 3]);
    expect(await depths({ kind: "entropy", level: 1.4 })).toEqual([1, 1]);
  });

  it("come every so many depths, and at the end", async () => {
    expect(await depths({ kind: "entropy", level: 1.4 }, { every: 3 })).toEqual([3, 3]);
    expect(await depths({ kind: "last" })).toEqual([4, 4]);
  });

  it("of the last stack count for the whole", () => {
    const gated = (name: string) => exits([doubling], [0, 0], { width: WIDTH, gate: true, name });
    const apply = (plan: readonly number[]) => {
      return nested([gated("a"), gated("b")], plan, fixed).apply(x, { rows, mode: new Training() }).exits;
    };
    expect(apply([0, 1])).toHaveLength(2);
    expect(exits([doubling], [0], { width: WIDTH }).apply(x, { rows, mode: new Training() }).exits).toBeUndefined();
  });

  it.each<[ExitRule, object, string]>([
    [{ kind: "quantile" }, {}, "exits / rule: expected a rule that needs no gate, got quantile"],
    [{ kind: "agreemnt" as never }, {}, "did you mean agreement?"],
    [{ kind: "entropy", level: -1 }, {}, "exits / rule / level: expected a number from 0, got -1"],
  ])("refuse the rule %j", (rule, options, message) => {
    expect(() => policyOf({ ...options, rule })).toThrow(message);
    expect(() => policyOf(options).at(rule)).toThrow(message);
  });

  it("that ask a head are refused where there is none", () => {
    const policy = policyOf({ rule: { kind: "entropy" } });
    expect(() => policy.apply(x, { rows, mode: inference })).toThrow("expected a model with a head that scores tokens");
  });
});
