import { describe, expect, it } from "vitest";
import { difference, runOnce } from "../engine/engine.contract.ts";
import { ortEngine } from "../engine/ort.ts";
import { referenceEngine } from "../engine/reference.ts";
import { exp, gradients, input, simplify, sum } from "../graph/index.ts";
import { AdaptiveEmbedding, AdaptiveSoftmax, tailsOf, tokenLosses, totalLoss } from "./adaptive-softmax.ts";
import { initialise, type Parameter } from "./parameter.ts";

const oracle = referenceEngine({ precision: "double" });
const options = { width: 6, vocabulary: 20, cutoffs: [5, 12] };
const wave = (length: number, seed = 0) => Float32Array.from({ length }, (_, i) => Math.sin(seed + 1.3 * i));

function weightsOf(parameters: readonly Parameter[]): Record<string, Float32Array> {
  return Object.fromEntries(
    [...initialise(parameters, 1)].map(([{ attributes }, data], i) => [attributes.name, wave(data.length, i)]),
  );
}

function rowFeeds(softmax: AdaptiveSoftmax, targets: Int32Array) {
  const rows = Object.entries(softmax.rowsOf(targets));
  return Object.fromEntries(rows.map(([name, data]) => [name, { data, shape: [data.length] }]));
}

describe("the adaptive softmax", () => {
  const softmax = new AdaptiveSoftmax("softmax", options);
  const hidden = input("hidden", [4, 6]);
  const targets = input("targets", [4], "int");
  const feeds = { ...weightsOf(softmax.parameters), hidden: wave(24, 3) };

  it("gives probabilities that sum to one", async () => {
    const total = sum(exp(softmax.logProbabilities(hidden)), { axes: [1] });
    const found = await runOnce(oracle, { total }, feeds);
    expect(difference(found.total!.data, [1, 1, 1, 1])).toBeLessThan(1e-12);
  });

  it("loses exactly what its log-probabilities say, wherever the targets lie", async () => {
    const ids = Int32Array.of(0, 5, 12, 19);
    const parts = softmax.losses(hidden, targets);
    const outputs = { each: tokenLosses(parts), total: totalLoss(parts), all: softmax.logProbabilities(hidden) };
    const found = await runOnce(oracle, outputs, { ...feeds, targets: ids, ...rowFeeds(softmax, ids) });
    const expected = [...ids].map((id, row) => -found.all!.data[row * 20 + id]!);
    expect(difference(found.each!.data, expected)).toBeLessThan(1e-12);
    expect(found.total!.data[0]).toBeCloseTo(
      expected.reduce((a, b) => a + b),
      10,
    );
  });

  it("gives tails without targets gradients of zero, on both engines", async () => {
    const ids = Int32Array.of(0, 1, 2, 3);
    const wanted = softmax.parameters.map(({ tensor }) => tensor);
    const found = simplify(gradients(totalLoss(softmax.losses(hidden, targets)), wanted));
    const outputs = Object.fromEntries(softmax.parameters.map(({ name }, i) => [`d ${name}`, found[i]!]));
    for (const engine of [oracle, await ortEngine({ threads: 1 })]) {
      const results = await runOnce(engine, outputs, { ...feeds, targets: ids, ...rowFeeds(softmax, ids) });
      for (const [name, { data }] of Object.entries(results)) {
        expect([name, data.every((value) => value === 0)]).toEqual([name, name.includes("tails")]);
      }
    }
  });

  it("puts rows into the cluster of their target, pads into none", () => {
    const rows = softmax.rowsOf([13, 0, 5, 12, 19, 11], 19);
    expect(Object.values(rows).map((each) => [...each])).toEqual([
      [2, 5],
      [0, 3],
    ]);
  });
});

describe("clusters", () => {
  it("project to a width that falls by the factor, and to at least 1", () => {
    expect(tailsOf("softmax", { ...options, factor: 4 }).map(({ size }) => size)).toEqual([1, 1]);
    expect(tailsOf("softmax", { ...options, factor: 2 }).map(({ size }) => size)).toEqual([3, 1]);
    expect(tailsOf("softmax", { ...options, sizes: [4, 2] }).map(({ size }) => size)).toEqual([4, 2]);
  });

  it.each([
    [[12, 5], "[12,5]"],
    [[5, 5], "[5,5]"],
    [[5, 20], "[5,20]"],
    [[0, 5], "[0,5]"],
    [[2.5], "[2.5]"],
    [[], "[]"],
  ])("refuse cutoffs %j", (cutoffs, got) => {
    expect(() => new AdaptiveSoftmax("softmax", { ...options, cutoffs })).toThrow(
      `softmax / cutoffs: expected rising whole numbers from 1 to 19, one below the vocabulary, got ${got}; sort them`,
    );
  });

  it("refuse projection sizes that are not one per tail", () => {
    expect(() => tailsOf("softmax", { ...options, sizes: [3] })).toThrow(
      "softmax / projection sizes: expected 2 whole numbers from 1, one per tail, got [3]",
    );
    expect(() => tailsOf("softmax", { ...options, sizes: [3, 0] })).toThrow("got [3,0]");
    expect(() => tailsOf("softmax", { ...options, factor: 0.5 })).toThrow("a number from 1, got 0.5");
  });
});

describe("the adaptive embedding", () => {
  it("takes each word from its own cluster's table, projected to the width", async () => {
    const embedding = new AdaptiveEmbedding("embedding", { ...options, sizes: [2, 1] });
    const weights = weightsOf(embedding.parameters);
    const y = embedding.apply(input("ids", [3], "int"));
    const found = await runOnce(oracle, { y }, { ...weights, ids: Int32Array.of(4, 6, 19) });
    const [table, projection] = [weights["embedding.tails.0.weight"]!, weights["embedding.tails.0.projection"]!];
    const sixth = Array.from(
      { length: 6 },
      (_, c) => table[2]! * projection[2 * c]! + table[3]! * projection[2 * c + 1]!,
    );
    const [last, column] = [weights["embedding.tails.1.weight"]![7]!, weights["embedding.tails.1.projection"]!];
    const expected = [...weights["embedding.head.weight"]!.slice(24, 30), ...sixth, ...column.map((c) => c * last)];
    // Single-precision weights and one rounding of the expected product.
    expect(difference(found.y!.data, expected)).toBeLessThan(1e-6);
  });
});
