import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { constant, input, is, type Tensor, topological } from "../graph/index.ts";
import {
  type Block,
  type Candidate,
  feedForwardCandidate,
  identity,
  inference,
  initialise,
  Training,
  TransformerBlock,
} from "../nn/index.ts";
import { depthContract } from "./depth.contract.ts";
import { fixed } from "./fixed.ts";
import { halting } from "./halting.ts";
import { nested, type Outer } from "./nested.ts";
import type { DepthPolicy } from "./policy.ts";
import { searched } from "./searched.ts";

const WIDTH = 8;
const options = { heads: 2, hidden: 12, dropout: 0, activation: "gelu" } as const;
const rows = { batch: 2, length: 3 };
const x = input("x", [6, WIDTH]);
const states = Float64Array.from({ length: 6 * WIDTH }, (_, i) => Math.sin(1 + 1.7 * i));

const block = (name: string, width = WIDTH) => new TransformerBlock(name, { ...options, width });

function candidates(name: string, width: number): Candidate[] {
  const whole = block(`${name}.whole`, width);
  const { parameters, caches } = whole;
  const attention = { kind: "attention", parameters, caches, apply: whole.apply.bind(whole) } as const;
  return [attention, feedForwardCandidate(`${name}.dense`, { ...options, width }), identity];
}

const halts =
  (width: number): Outer =>
  (blocks, plan) =>
    halting(blocks, plan, { width, ponder: 0.1 });

/** One stack of two searched blocks, passed through until each token halts. */
const stack = (width = WIDTH) =>
  nested([searched("s", [candidates("s.0", width), candidates("s.1", width)])], [0, 0, 0], halts(width));

/** Two searched blocks, each of them repeated. */
const blockwise = (width = WIDTH) =>
  nested(
    [searched("a", [candidates("a", width)]), searched("b", [candidates("b", width)])],
    [0, 0, 1, 1],
    halts(width),
  );

depthContract("halting over a searched stack", stack);
depthContract("halting over searched blocks", blockwise);
depthContract("searched stacks in a plan", (width) =>
  nested([searched("a", [candidates("a", width)]), searched("b", [candidates("b", width)])], [0, 1, 0], fixed),
);

async function run(policy: DepthPolicy, outputs: Record<string, Tensor>) {
  const weights = [...initialise(policy.parameters, 3)].map(([{ attributes }, data]) => [attributes.name, data]);
  const used = new Set(
    topological(Object.values(outputs)).flatMap((n) => (is(n, "parameter") ? n.attributes.name : [])),
  );
  const feeds = Object.fromEntries(weights.filter(([name]) => used.has(name as string)));
  return runOnce(referenceEngine({ precision: "double" }), outputs, { x: states, ...feeds });
}

describe("policies within policies", () => {
  it("run a stack as often as its blocks would stand in one plan", async () => {
    const blocks: Block[] = [block("blocks.0"), block("blocks.1")];
    const inner = nested([fixed(blocks, [0, 1])], [0, 0], fixed);
    const flat = fixed(blocks, [0, 1, 0, 1]);
    const found = await Promise.all(
      [inner, flat].map((policy) => run(policy, { hidden: policy.apply(x, { rows, mode: inference }).hidden })),
    );
    expect(found[0]!.hidden!.data).toEqual(found[1]!.hidden!.data);
    expect(inner.depth).toBe(flat.depth);
  });

  it("draw an architecture once, however often it is passed through", () => {
    const mode = new Training();
    const policy = stack();
    const { probes } = policy.apply(x, { rows, mode });
    expect(mode.noise).toHaveLength(2);
    expect(Object.keys(probes)).toEqual(expect.arrayContaining(["stack0.pi.0", "stack0.mixture.1", "updates"]));
    expect(Object.keys(policy.scalars!)).toEqual(["temperature"]);
    const again = new Training();
    policy.apply(x, { rows, mode: again });
    expect(again.noise).toHaveLength(2);
  });

  it("refuse two courses of one scalar", () => {
    const stacks = [1, 2].map((initialTemperature) =>
      searched(`s${initialTemperature}`, [candidates(`s${initialTemperature}`, WIDTH)], { initialTemperature }),
    );
    expect(() => nested(stacks, [0, 1], fixed)).toThrow("nested / temperature: expected one course for all policies");
  });

  it("count every block that may run", () => {
    expect([stack().depth, blockwise().depth]).toEqual([6, 4]);
  });

  it("give tokens depths of their own", async () => {
    const policy = stack();
    const weights = initialise(policy.parameters, 3);
    const unit = [...weights.keys()].find(({ attributes }) => attributes.name === "halting.unit.weight")!;
    weights.set(
      unit,
      Float32Array.from({ length: WIDTH }, (_, i) => 3 * Math.cos(5 * i)),
    );
    const { updates } = policy.apply(x, { rows, mode: inference }).probes;
    const feeds = Object.fromEntries([...weights].map(([{ attributes }, data]) => [attributes.name, data]));
    const { n } = await runOnce(referenceEngine(), { n: updates! }, { x: Float32Array.from(states), ...feeds });
    expect(new Set(n!.data).size).toBeGreaterThan(1);
  });

  it("add to the outer penalty the mean of the inner ones", async () => {
    const costly = nested([fixed([block("b")], [0]), fixedPenalty(0.5)], [0, 1, 1, 0], fixed);
    const { penalty } = costly.apply(x, { rows, mode: inference });
    expect((await run(costly, { penalty: penalty! })).penalty!.data[0]).toBeCloseTo(0.25, 12);
  });
});

function fixedPenalty(value: number): DepthPolicy {
  return {
    parameters: [],
    depth: 1,
    apply: (hidden) => ({ hidden, penalty: constant([value], []), probes: {} }),
  };
}
