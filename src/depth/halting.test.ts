import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { add, gradients, input, multiply, sum, type Tensor } from "../graph/index.ts";
import { AlbertLayer } from "../nn/albert.ts";
import { type Block, causalMask, inference, initialise, type Mode, Training, TransformerBlock } from "../nn/index.ts";
import { depthContract } from "./depth.contract.ts";
import { fixed } from "./fixed.ts";
import { type HaltingOptions, type HaltingPolicy, halting } from "./halting.ts";
import { cycle } from "./plan.ts";

const WIDTH = 8;
const rows = { batch: 2, length: 3 };
const COUNT = 6;

function layers(count: number, width = WIDTH): Block[] {
  return Array.from({ length: count }, (_, i) => {
    return new TransformerBlock(`blocks.${i}`, { width, heads: 2, hidden: 12, dropout: 0, activation: "gelu" });
  });
}

const policyOf = (options: Partial<HaltingOptions> = {}, depth = 6) =>
  halting(layers(1), cycle({ unique: 1, depth }), { width: WIDTH, ...options });

depthContract("halting", (width) => halting(layers(2, width), cycle({ unique: 2, depth: 5 }), { width, ponder: 0.1 }));
depthContract("halting by Graves' sum with step vectors", (width) =>
  halting(layers(1, width), [0, 0, 0], { width, accumulate: "weightedSum", stepEmbedding: true, ponder: 0.1 }),
);
depthContract("halting with a penalty that grows", (width) =>
  halting(layers(1, width), [0, 0, 0], { width, ponder: 0.1, ponderFrom: 0.3, ponderWarmup: 0.1 }),
);

depthContract("halting with a cap that grows", (width) =>
  halting(layers(1, width), [0, 0, 0, 0], { width, capFrom: 1, capOver: 1, biasInitial: -3 }),
);

const x = input("x", [COUNT, WIDTH]);
const states = Float64Array.from({ length: COUNT * WIDTH }, (_, i) => Math.sin(1 + 1.7 * i));

/** Runs with first weights; the halting unit may be set to one probability for all tokens, or to weights that differ a lot. */
async function run(
  policy: HaltingPolicy,
  outputs: Record<string, Tensor>,
  {
    logit,
    spread = 1,
    feeds = {},
  }: { logit?: number; spread?: number; feeds?: Record<string, Float64Array | Uint8Array> } = {},
) {
  const weights = [...initialise(policy.parameters, 3)].map(([{ attributes }, values]) => {
    const unit = (_: number, i: number) => (logit === undefined ? spread * Math.cos(5 * i) : 0);
    const data = Float64Array.from(values, attributes.name === "halting.unit.weight" ? unit : Number);
    if (attributes.name === "halting.unit.bias") data[0] = logit ?? -2;
    return [attributes.name, data] as const;
  });
  const all = { x: states, ...Object.fromEntries(weights), ...feeds };
  return runOnce(referenceEngine({ precision: "double" }), outputs, all);
}

const logitOf = (p: number) => Math.log(p / (1 - p));
const valuesOf = (found: Awaited<ReturnType<typeof run>>, name: string) => Array.from(found[name]!.data);

describe("halting", () => {
  it.each([
    [0.5, 2],
    [0.3, 4],
    [0.1, 10],
  ])("at a constant probability of %d takes the fewest depths whose sum exceeds 0.99: %d", async (p, depths) => {
    const policy = policyOf({}, 12);
    const { probes } = policy.apply(x, { rows, mode: inference });
    const found = await run(policy, { n: probes.updates!, r: probes.remainders! }, { logit: logitOf(p) });
    expect(valuesOf(found, "n")).toEqual(Array(COUNT).fill(depths));
    for (const r of valuesOf(found, "r")) expect(r).toBeCloseTo(1 - (depths - 1) * p, 9);
  });

  it("gives weights that add up to 1, one for each depth a token ran", async () => {
    const policy = policyOf();
    const { probes } = policy.apply(x, { rows, mode: inference });
    const weights = Object.fromEntries([1, 2, 3, 4, 5, 6].map((t) => [`u${t}`, probes[`step${t}.u`]!]));
    const found = await run(policy, { ...weights, n: probes.updates! });
    const updates = valuesOf(found, "n");
    expect(new Set(updates).size).toBeGreaterThan(2);
    updates.forEach((n, token) => {
      const u = Object.keys(weights).map((name) => valuesOf(found, name)[token]!);
      expect(u.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
      expect(u.filter((value) => value !== 0)).toHaveLength(n);
    });
  });

  it("is one block when every token halts at once", async () => {
    const policy = policyOf();
    const { hidden, probes } = policy.apply(x, { rows, mode: inference });
    const once = policy.blocks[0]!.apply(x, { rows, mode: inference });
    const found = await run(policy, { hidden, once, n: probes.updates!, r: probes.remainders! }, { logit: 20 });
    expect(valuesOf(found, "hidden")).toEqual(valuesOf(found, "once"));
    expect([new Set(valuesOf(found, "n")), new Set(valuesOf(found, "r"))]).toEqual([new Set([1]), new Set([1])]);
  });

  it("leaves the state where it was when nobody ever halts, unless the cap halts", async () => {
    const open = policyOf({ haltAtCap: false });
    const { hidden, probes } = open.apply(x, { rows, mode: inference });
    const found = await run(open, { hidden, n: probes.updates!, r: probes.remainders! }, { logit: -20 });
    expect([new Set(valuesOf(found, "n")), new Set(valuesOf(found, "r"))]).toEqual([new Set([6]), new Set([0])]);
    valuesOf(found, "hidden").forEach((value, i) => {
      expect(value).toBeCloseTo(states[i]!, 6);
    });
    const capped = policyOf();
    const at = capped.apply(x, { rows, mode: inference }).probes;
    const forced = await run(capped, { n: at.updates!, r: at.remainders! }, { logit: -20 });
    for (const r of valuesOf(forced, "r")) expect(r).toBeCloseTo(1, 6);
  });

  it("freezes a token's state, bit for bit, once it has halted", async () => {
    const policy = policyOf();
    const { probes, hidden } = policy.apply(x, { rows, mode: inference });
    const outputs = Object.fromEntries([1, 2, 3, 4, 5].map((t) => [`s${t}`, probes[`step${t}.state`]!]));
    const found = await run(policy, { ...outputs, n: probes.updates!, hidden });
    const last = valuesOf(found, "hidden");
    valuesOf(found, "n").forEach((n, token) => {
      const row = (values: number[]) => values.slice(token * WIDTH, (token + 1) * WIDTH);
      for (let t = n; t < 6; t++) expect(row(valuesOf(found, `s${t}`))).toEqual(row(last));
    });
  });

  it("skips padding, which then changes nothing and does not count", async () => {
    const policy = policyOf({ ponder: 1 });
    const real = input("real", [COUNT], "bool");
    const { hidden, probes, penalty } = policy.apply(x, { rows, mode: inference, real });
    const mask = Uint8Array.of(1, 1, 0, 1, 0, 0);
    const outputs = { hidden, n: probes.updates!, r: probes.remainders!, penalty: penalty! };
    const found = await run(policy, outputs, { feeds: { real: mask } });
    const [n, r] = [valuesOf(found, "n"), valuesOf(found, "r")];
    mask.forEach((counts, token) => {
      if (counts) return;
      expect([n[token], r[token]]).toEqual([0, 0]);
      const row = valuesOf(found, "hidden").slice(token * WIDTH, (token + 1) * WIDTH);
      expect(row).toEqual([...states.slice(token * WIDTH, (token + 1) * WIDTH)]);
    });
    const total = n.reduce((sum, each, i) => sum + each + r[i]!, 0);
    expect(found.penalty!.data[0]).toBeCloseTo(total / 3, 9);
  });

  it("has a penalty by sum that is the mean over texts, and none without a factor", async () => {
    const policy = policyOf({ ponder: 0.5, ponderReduce: "sum" });
    const { probes, penalty } = policy.apply(x, { rows, mode: inference });
    const found = await run(policy, { n: probes.updates!, r: probes.remainders!, penalty: penalty! });
    const total = [...valuesOf(found, "n"), ...valuesOf(found, "r")].reduce((a, b) => a + b);
    expect(found.penalty!.data[0]).toBeCloseTo((0.5 * total) / 2, 9);
    expect(policyOf().apply(x, { rows, mode: inference }).penalty).toBeUndefined();
  });

  it("has the numeric slope of the halting unit, away from decisions", async () => {
    const policy = policyOf({ ponder: 0.3 });
    const { hidden, penalty } = policy.apply(x, { rows, mode: inference });
    const loss = add(sum(multiply(hidden, hidden)), penalty!);
    const bias = policy.parameters.find(({ name }) => name === "halting.unit.bias")!.tensor;
    const [slope] = gradients(loss, [bias]);
    const step = 1e-5;
    const at = async (logit: number) => Number((await run(policy, { loss }, { logit })).loss!.data[0]);
    const found = await run(policy, { slope: slope! }, { logit: logitOf(0.3) });
    const numeric = ((await at(logitOf(0.3) + step)) - (await at(logitOf(0.3) - step))) / (2 * step);
    expect(Number(found.slope!.data[0])).toBeCloseTo(numeric, 5);
  });

  it("in training halts everybody at the cap of the update, which grows; in use at the plan's end", async () => {
    const policy = policyOf({ capFrom: 2, capOver: 0.5 });
    expect([0, 25, 50, 99].map((step) => policy.scalars!.haltingCap!.at(step, 100))).toEqual([2, 4, 6, 6]);
    const depths = async (mode: Mode) => {
      const { updates } = policy.apply(x, { rows, mode }).probes;
      const found = await run(policy, { n: updates! }, { logit: -5, feeds: { haltingCap: Float64Array.of(3) } });
      return new Set(valuesOf(found, "n"));
    };
    expect([await depths(new Training()), await depths(inference)]).toEqual([new Set([3]), new Set([6])]);
    expect(() => policyOf({ capFrom: 7 })).toThrow("halting / capFrom: expected a whole number from 1 to 6, got 7");
  });

  it("refuses an epsilon that no sum can pass", () => {
    expect(() => policyOf({ epsilon: 0 })).toThrow("halting / epsilon: expected a number above 0 below 1, got 0");
  });
});

describe("the scale of the penalty", () => {
  const at = (options: Partial<HaltingOptions>) => policyOf({ ponder: 1, ...options }).scalars?.ponderScale?.at;

  it("grows over so many updates, or over a fraction of all", () => {
    expect([0, 4, 9, 10].map((step) => at({ ponderWarmup: 10 })!(step, 1000))).toEqual([0.1, 0.5, 1, 1]);
    expect([0, 4, 9, 10].map((step) => at({ ponderWarmup: 0.25 })!(step, 40))).toEqual([0.1, 0.5, 1, 1]);
    expect([0, 49, 62, 74, 99].map((step) => at({ ponderFrom: 0.5, ponderWarmup: 25 })!(step, 100))).toEqual([
      0, 0, 0.52, 1, 1,
    ]);
  });

  it("is no input where the penalty is whole from the start, or absent", () => {
    expect(at({})).toBeUndefined();
    expect(at({ ponder: 0, ponderWarmup: 10 })).toBeUndefined();
  });

  it("refuses an option that it does not know", () => {
    expect(() => policyOf({ ponderWarmpu: 3 } as object)).toThrow("did you mean ponderWarmup?");
  });

  it("refuses updates below 0", () => {
    expect(() => at({ ponderWarmup: -1 })).toThrow("halting / ponderWarmup: expected a number from 0, got -1");
  });
});

describe("halting over a sharing plan", () => {
  it("runs the plan's blocks depth by depth: when all halt at the cap, Graves' sum is fixed depth", async () => {
    const blocks = layers(2);
    const plan = cycle({ unique: 2, depth: 5 });
    const policy = halting(blocks, plan, { width: WIDTH, accumulate: "weightedSum" });
    const { hidden, probes } = policy.apply(x, { rows, mode: inference });
    const deep = fixed(blocks, plan).apply(x, { rows, mode: inference }).hidden;
    // Nobody halts before the cap, where all is left: the last block's output counts alone.
    const found = await run(policy, { hidden, deep, n: probes.updates! }, { logit: -30 });
    valuesOf(found, "hidden").forEach((value, i) => {
      expect(value).toBeCloseTo(valuesOf(found, "deep")[i]!, 9);
    });
    expect(new Set(valuesOf(found, "n"))).toEqual(new Set([5]));
  });

  it("keeps causal blocks causal", async () => {
    const policy = halting(layers(2), cycle({ unique: 2, depth: 4 }), { width: WIDTH });
    const { hidden } = policy.apply(x, { rows, mode: inference, mask: causalMask(3) });
    const changed = states.map((value, i) => (i >= 2 * WIDTH && i < 3 * WIDTH ? -value : value));
    const [a, b] = [await run(policy, { hidden }), await run(policy, { hidden }, { feeds: { x: changed } })];
    expect(valuesOf(b, "hidden").slice(0, 2 * WIDTH)).toEqual(valuesOf(a, "hidden").slice(0, 2 * WIDTH));
  });
});

describe("an ALBERT layer for some rows", () => {
  it("has the parameters of the whole layer", () => {
    const options = {
      width: WIDTH,
      heads: 2,
      hidden: 12,
      activation: "gelu",
      epsilon: 1e-12,
      dropout: 0,
      attentionDropout: 0,
    } as const;
    const layer = new AlbertLayer("layer", options);
    expect(layer.keyValues(x).keys.shape).toEqual([COUNT, WIDTH]);
  });
});
