import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { add, input, type Tensor } from "../graph/index.ts";
import { type Block, causalMask, inference, initialise, Training, TransformerBlock } from "../nn/index.ts";
import { depthContract } from "./depth.contract.ts";
import { fixed } from "./fixed.ts";
import { nested } from "./nested.ts";
import { type RoutedOptions, type RoutedPolicy, routed } from "./routed.ts";

const blocks = (width: number, count: number): Block[] =>
  Array.from({ length: count }, (_, i) => {
    return new TransformerBlock(`blocks.${i}`, { width, heads: 2, hidden: 12, dropout: 0, activation: "gelu" });
  });

depthContract("token choice", (width) =>
  routed(blocks(width, 2), [0, 1, 0, 1], { width, choice: "token", balance: 0.1 }),
);
depthContract("expert choice", (width) =>
  routed(blocks(width, 1), [0, 0, 0], { width, choice: "expert", auxiliary: 0.1 }),
);
depthContract("routed passes through a stack", (width) =>
  nested([fixed(blocks(width, 2), [0, 1])], [0, 0, 0], (stacks, plan) =>
    routed(stacks, plan, { width, choice: "token" }),
  ),
);

const WIDTH = 2;
const one: Block = { parameters: [], caches: 0, apply: (state) => add(state, 1) };
const rows = { batch: 2, length: 3 };
const x = input("x", [6, WIDTH]);
const policyOf = (options: Partial<RoutedOptions>) =>
  routed([one], [0, 0, 0], { width: WIDTH, choice: "expert", ...options });

/** The router looks at the first column only, by the given factors. */
async function run(policy: RoutedPolicy, outputs: Record<string, Tensor>, first: number[], factors: number[]) {
  const feeds = {
    x: Float64Array.from({ length: 12 }, (_, i) => (i % WIDTH === 0 ? first[i / WIDTH]! : 0)),
    "router.weight": Float64Array.from(factors.flatMap((factor) => [factor, 0])),
    "router.bias": new Float64Array(factors.length),
  };
  expect(initialise(policy.parameters, 1).size).toBe(2);
  return runOnce(referenceEngine({ precision: "double" }), outputs, feeds);
}

describe("token choice", () => {
  it("runs every token as deep as its most probable depth says, the last block by the router's weight", async () => {
    const policy = policyOf({ choice: "token" });
    const { hidden, probes } = policy.apply(x, { rows, mode: inference });
    const found = await run(policy, { hidden, n: probes.updates! }, [1, -1, 1, -1, -1, 1], [5, 0, -5]);
    expect([...found.n!.data]).toEqual([1, 3, 1, 3, 3, 1]);
    const p = 1 / (1 + Math.exp(-5) + Math.exp(-10));
    // Column 1: whole blocks add 1 each, the last one p.
    expect([...found.hidden!.data].filter((_, i) => i % 2 === 1)).toEqual(
      [p, 2 + p, p, 2 + p, 2 + p, p].map((v) => expect.closeTo(v, 12)),
    );
  });

  it("goes no deeper than it is told in use", async () => {
    const policy = policyOf({ choice: "token" });
    const { probes } = policy.at({ most: 2 }).apply(x, { rows, mode: inference });
    const found = await run(policy, { n: probes.updates! }, [1, -1, 1, -1, -1, 1], [5, 0, -5]);
    expect([[...found.n!.data], policy.at({ most: 2 }).caches]).toEqual([[1, 2, 1, 2, 2, 1], 0]);
    expect(() => policy.at({ threshold: 0.3 })).toThrow("expected expert choice, got token choice; set most");
    expect(() => policy.at({ most: 4 })).toThrow("expected a whole number from 1 to 3, got 4");
  });

  it("is balanced where all depths are chosen alike: the penalty is then its factor", async () => {
    const policy = policyOf({ choice: "token", balance: 0.5 });
    const { penalty } = policy.apply(x, { rows, mode: new Training() });
    const found = await run(policy, { penalty: penalty! }, [0, 0, 0, 0, 0, 0], [5, 0, -5]);
    expect(found.penalty!.data[0]).toBeCloseTo(0.5, 12);
  });
});

describe("expert choice", () => {
  it("in training lets so many of each text go on, the highest of those that still run, the earlier of equals", async () => {
    const policy = policyOf({ capacity: [1, 0.6, 0.3] });
    const { probes } = policy.apply(x, { rows, mode: new Training() });
    const found = await run(policy, { n: probes.updates! }, [0.1, 0.9, 0.5, 0.7, 0.7, 0.7], [1, 1]);
    expect([...found.n!.data]).toEqual([1, 3, 2, 3, 2, 1]);
  });

  it("in use goes by a threshold, so that no later token changes an earlier one's depth", async () => {
    const policy = routed(blocks(WIDTH, 1), [0, 0, 0], { width: WIDTH, choice: "expert" });
    const { probes } = policy.apply(x, { rows, mode: inference, mask: causalMask(3) });
    const weights = [...initialise(policy.parameters, 2)].map(
      ([{ attributes }, data]) => [attributes.name, data] as const,
    );
    const depths = async (last: number) => {
      const feeds = {
        x: Float64Array.of(0.3, 1, -1, 0.2, last, 0.4, 0.3, 1, -1, 0.2, 0.1, 0.4),
        ...Object.fromEntries(weights),
      };
      const many = {
        ...feeds,
        "router.weight": Float64Array.of(3, -2, 1, 2),
        "router.bias": Float64Array.of(0.1, 0.2),
      };
      const found = await runOnce(referenceEngine({ precision: "double" }), { n: probes.updates! }, many);
      return [...found.n!.data];
    };
    const [a, b] = [await depths(5), await depths(-5)];
    expect(a.slice(0, 2)).toEqual(b.slice(0, 2));
    expect(new Set([...a, ...b]).size).toBeGreaterThan(1);
  });

  it("goes deeper with a lower threshold", async () => {
    const mean = async (threshold: number) => {
      const policy = policyOf({}).at({ threshold });
      const { probes } = policy.apply(x, { rows, mode: inference });
      const { n } = await run(policy, { n: probes.updates! }, [-1, -0.5, 0, 0.5, 1, 1.5], [1, 1]);
      return [...n!.data].reduce((a, b) => a + b) / 6;
    };
    // What a block adds lifts all but the first above ½ for good.
    expect(await Promise.all([0, 0.5, 0.99].map(mean))).toEqual([3, expect.closeTo(16 / 6), 1]);
  });

  it("is penalised by how badly scores tell who goes on", async () => {
    const policy = policyOf({ capacity: [1, 1, 0.5], auxiliary: 1 });
    const { penalty } = policy.apply(x, { rows, mode: new Training() });
    const found = await run(policy, { penalty: penalty! }, [0, 0, 0, 0, 0, 0], [0]);
    expect(found.penalty!.data[0]).toBeCloseTo(Math.LN2, 12);
  });

  it.each<[object, string]>([
    [
      { capacity: [1, 0.5] },
      "routed / capacity: expected 3 fractions, one per depth and not all of them 1, got [1,0.5]",
    ],
    [{ capacity: [1, 1, 1] }, "not all of them 1"],
    [{ capacity: [1, 0.5, 0] }, "routed / capacity 2: expected a number above 0 to 1, got 0"],
    [{ choice: "expret" }, "did you mean expert?"],
  ])("refuses %j", (options, message) => {
    expect(() => policyOf(options)).toThrow(message);
  });
});
