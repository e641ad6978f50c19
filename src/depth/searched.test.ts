import { describe, expect, it } from "vitest";
import { difference, runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { add, gradients, input, multiply, type Tensor } from "../graph/index.ts";
import {
  attentionCandidate,
  type Candidate,
  feedForwardCandidate,
  identity,
  inference,
  initialise,
  type SegmentContext,
  Training,
  TransformerBlock,
} from "../nn/index.ts";
import { depthContract } from "./depth.contract.ts";
import { annealedTemperature, type SearchedOptions, searched } from "./searched.ts";

const options = { heads: 2, hidden: 12, dropout: 0, activation: "relu" } as const;

/** Candidates that know no segment, so that lengths may be named. */
function plainBlocks(width: number): Candidate[][] {
  return [0, 1].map((i) => {
    const whole = new TransformerBlock(`blocks.${i}.whole`, { ...options, width });
    const { parameters, caches } = whole;
    const block = { kind: "attention", parameters, caches, apply: whole.apply.bind(whole) } as const;
    return [block, feedForwardCandidate(`blocks.${i}.dense`, { ...options, width }), identity];
  });
}

depthContract("searched", (width) => searched("blocks", plainBlocks(width)));
depthContract(
  "searched with a trained temperature, straight through",
  (width) => searched("blocks", plainBlocks(width), { temperature: "trained", straightThrough: true }),
  { bentGradients: true },
);
depthContract("searched as the original does", (width) =>
  searched("blocks", plainBlocks(width), { compat: "original" }),
);
depthContract("what was found", (width) =>
  searched("blocks", [[feedForwardCandidate("blocks.0.dense", { ...options, width })], [identity]]),
);

const oracle = referenceEngine({ precision: "double" });
const factor = (by: number): Candidate => ({ kind: "feed-forward", parameters: [], apply: (x) => multiply(x, by) });
const gain = (by: number): Candidate => ({ ...factor(by), residual: (x) => multiply(x, by - 1) });
const x = input("x", [1, 2]);
const rows = { batch: 1, length: 1 };

describe("a searched block", () => {
  const weightsOf = (policy: ReturnType<typeof searched>, values: number[]) =>
    Object.fromEntries(policy.parameters.map(({ name }) => [name, Float64Array.from(values)]));
  const run = async (hidden: Tensor, feeds: Record<string, Float64Array>) => [
    ...(await runOnce(oracle, { hidden }, { x: Float64Array.of(1, 2), ...feeds })).hidden!.data,
  ];

  it("mixes by the mean of π where nothing is drawn, or takes the most probable", async () => {
    const policy = searched("blocks", [[factor(10), factor(20)]]);
    const logits = weightsOf(policy, [Math.log(1), Math.log(3)]);
    const mean = policy.apply(x, { rows, mode: inference }).hidden;
    expect(difference(await run(mean, logits), [17.5, 35])).toBeLessThan(1e-12);
    const best = policy.apply(x, { rows, mode: inference, evaluation: "arg-max" }).hidden;
    expect(await run(best, logits)).toEqual([20, 40]);
  });

  it("mixes residuals to the same as whole outputs", async () => {
    const logits = [0.3, -0.2, 0.7];
    const found = [];
    for (const candidates of [
      [factor(10), factor(20), identity],
      [gain(10), gain(20), { ...identity, residual: () => null }],
    ]) {
      const policy = searched("blocks", [candidates.map((each) => ({ ...each }))]);
      found.push(await run(policy.apply(x, { rows, mode: inference }).hidden, weightsOf(policy, logits)));
    }
    expect(difference(found[0]!, found[1]!)).toBeLessThan(1e-12);
  });

  it("draws by noise and temperature in training", async () => {
    const policy = searched("blocks", [[factor(10), factor(20)]]);
    const mode = new Training();
    const { hidden, probes } = policy.apply(x, { rows, mode });
    expect(mode.noise.map(({ draw, tensor }) => [draw.kind, tensor.shape])).toEqual([["gumbel", [2]]]);
    const feeds = { ...weightsOf(policy, [0, 0]), "noise.0": Float64Array.of(0, 1), temperature: Float64Array.of(0.5) };
    const share = 1 / (1 + Math.exp(-2));
    expect(difference(await run(hidden, feeds), [10 + 10 * share, 20 + 20 * share])).toBeLessThan(1e-12);
    expect(Object.keys(probes)).toEqual(["pi.0", "mixture.0"]);
  });

  it("shows each depth its input and hands it its memory", () => {
    const seen: number[] = [];
    const memory = input("memory", [1, 2]);
    const first: Candidate = { ...factor(1), apply: (state, { memory }: SegmentContext) => add(state, memory!) };
    const policy = searched("blocks", [[first], [first]]);
    policy.apply(x, { rows, mode: inference, memories: [memory, memory], remember: (depth) => seen.push(depth) });
    expect(seen).toEqual([0, 1]);
  });
});

describe("a budget", () => {
  const costs = [[5, 1], [3], [2, 4]];
  const blocks = [[factor(1), factor(2)], [factor(1)], [factor(1), factor(2)]];
  const policyOf = (target: number) => searched("blocks", blocks, { budget: { costs, fixed: 1, target, weight: 2 } });
  const penaltyOf = async (policy: ReturnType<typeof searched>, logits: readonly number[][]) => {
    const { penalty } = policy.apply(x, { rows, mode: inference });
    const feeds = policy.parameters.map(({ name }, i) => [name, Float64Array.from(logits[i]!)] as const);
    return { penalty: penalty!, feeds: Object.fromEntries(feeds) };
  };
  const logits = [
    [0.4, -0.3],
    [-0.2, 0.6],
  ];

  it("is the weighed part of the expected cost above the target, and nothing below it", async () => {
    const share = ([a, b]: number[]) => 1 / (1 + Math.exp(b! - a!));
    const cost = 1 + (1 + 4 * share(logits[0]!)) + 3 + (4 - 2 * share(logits[1]!));
    for (const [target, expected] of [
      [5, 2 * (cost / 5 - 1)],
      [20, 0],
    ] as const) {
      const { penalty, feeds } = await penaltyOf(policyOf(target), logits);
      const { found } = await runOnce(oracle, { found: penalty }, feeds);
      expect(difference([...found!.data], [expected])).toBeLessThan(1e-12);
    }
  });

  it("has the gradient that central differences give", async () => {
    const policy = policyOf(5);
    const { penalty, feeds } = await penaltyOf(policy, logits);
    const wanted = policy.architecture.map(({ tensor }) => tensor);
    const outputs = Object.fromEntries(gradients(penalty, wanted).map((each, i) => [`${i}`, each]));
    const found = await runOnce(oracle, outputs, feeds);
    const at = async (i: number, k: number, by: number) => {
      const moved = logits.map((row, r) => row.map((value, c) => (r === i && c === k ? value + by : value)));
      const { feeds } = await penaltyOf(policy, moved);
      return (await runOnce(oracle, { value: penalty }, feeds)).value!.data[0]!;
    };
    for (const [i, k] of [0, 1].flatMap((i) => [0, 1].map((k) => [i, k] as const))) {
      const slope = ((await at(i, k, 1e-5)) - (await at(i, k, -1e-5))) / 2e-5;
      // Double precision: differences of 10⁻⁵ keep about ten digits.
      expect(difference([found[`${i}`]!.data[k]!], [slope])).toBeLessThan(1e-8);
    }
  });
});

describe("the architecture that was found", () => {
  const width = 8;
  const kinds = (i: number) => [
    attentionCandidate(`blocks.${i}.attention`, { ...options, width }),
    feedForwardCandidate(`blocks.${i}.dense`, { ...options, width }),
    identity,
  ];
  const policy = searched("blocks", [0, 1, 2, 3].map(kinds));

  it("is the most probable candidate of each block, as a pattern", () => {
    const values = initialise(policy.parameters, 1);
    const choices = [0, 1, 0, 1];
    policy.architecture.forEach(({ tensor }, i) => {
      values.get(tensor)![choices[i]!] = 2;
    });
    expect(policy.chosen(values)).toEqual(choices);
    expect(policy.pattern(values)).toBe("(sf)x2");
    const [first] = policy.probabilities(values);
    expect(first!.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
  });

  it("starts undecided", () => {
    const values = initialise(policy.parameters, 1);
    expect(policy.probabilities(values)[0]!.map((share) => share.toFixed(3))).toEqual(["0.333", "0.333", "0.333"]);
  });
});

describe("mistakes in a search", () => {
  it("blocks without candidates are named", () => {
    expect(() => searched("blocks", [[identity], []])).toThrow(
      "blocks: expected at least one candidate a block, got none in block 1",
    );
    expect(() => searched("blocks", [])).toThrow("got no blocks");
  });

  it("options that nobody knows are named", () => {
    expect(() => searched("blocks", [[identity]], { straight: true } as object)).toThrow(
      "did you mean straightThrough?",
    );
  });

  it("temperatures are above 0", () => {
    const trained = { temperature: "trained", initialTemperature: 0 } as const;
    expect(() => searched("blocks", [[identity, identity]], trained)).toThrow(
      "blocks / initialTemperature: expected a number above 0, got 0",
    );
    const ended = { temperature: "trained", finalTemperature: 0.5 } as const;
    expect(() => searched("blocks", [[identity, identity]], ended)).toThrow("leave finalTemperature out");
    expect(() => annealedTemperature({ start: 1, end: 0, total: 10 })).toThrow(
      "a start and an end above 0, got 1 and 0",
    );
  });
});

describe("the annealed temperature", () => {
  it("is the policy's scalar, by its options", () => {
    const at = (options: SearchedOptions) =>
      searched("blocks", [[identity, identity]], options).scalars.temperature?.at;
    expect([0, 100].map((step) => at({})!(step, 100))).toEqual([1, 0.1]);
    const ends = { initialTemperature: 2, finalTemperature: 0.5 };
    expect([0, 50, 100].map((step) => at(ends)!(step, 100))).toEqual([2, 1, 0.5]);
    expect(at({ ...ends, compat: "original" })!(100, 100)).toBe(1);
    expect(at({ temperature: "trained" })).toBeUndefined();
  });

  it("goes from start to end; the original's to start · end", () => {
    const ours = annealedTemperature({ start: 2, end: 0.5, total: 100 });
    const theirs = annealedTemperature({ start: 2, end: 0.5, total: 100, compat: "original" });
    expect([ours(0), ours(50), ours(100)]).toEqual([2, 1, 0.5]);
    expect([theirs(0), theirs(100)]).toEqual([2, 1]);
  });
});
