import { describe, expect, it } from "vitest";
import { difference, runOnce } from "../../engine/engine.contract.ts";
import { ortEngine } from "../../engine/ort.ts";
import * as g from "../build.ts";
import { gradients } from "../gradients.ts";
import { is } from "../tensor.ts";
import type { Tensor } from "../vocabulary.ts";
import { change, nodesOf, shapesOf, TOLERANCE } from "./rules.contract.ts";
import { simplify } from "./simplify.ts";

describe("slices of a product", () => {
  const x = g.input("x", [5, 3]);
  const w = g.parameter("w", [6, 3]);
  const bias = g.parameter("bias", [6]);
  const whole = g.add(g.matmul(x, w, { transposeB: true }), bias);
  const parts = g.split(whole, 1, [2, 4]);

  it("are products with slices of the weights", async () => {
    const after = simplify(parts);
    expect(shapesOf("slice", ...after)).toEqual(["2,3", "2", "4,3", "4"]);
    expect(await change(parts, after)).toBeLessThan(TOLERANCE);
  });

  it("are so without a bias, and of weights that stand the other way", async () => {
    const cut = [g.slice(g.matmul(x, g.parameter("v", [3, 6])), 1, 1, 4)];
    const after = simplify(cut);
    expect(shapesOf("slice", ...after)).toEqual(["3,3"]);
    expect(await change(cut, after)).toBeLessThan(TOLERANCE);
  });

  it.each([
    ["the whole is wanted too", [...parts, whole]],
    ["the product is wanted too", [...parts, whole.inputs[0]!]],
    ["the weights are made", [g.slice(g.matmul(x, g.exp(g.input("v", [3, 6]))), 1, 0, 2)]],
    ["rows are cut", [g.slice(whole, 0, 0, 2)]],
  ])("stay where %s", (_, outputs) => {
    expect(shapesOf("matmul", ...simplify(outputs))).toEqual(["5,6"]);
  });
});

describe("a picked log-probability whose softmax is at hand", () => {
  const x = g.input("x", [3, 4]);
  const loss = g.sum(g.crossEntropy(x, g.constant([1, 3, 0], [3], "int")));

  it("is the logarithm of one probability: no pass over the logits", async () => {
    const before = [loss, ...gradients(loss, [x])];
    const after = simplify(before);
    expect([...shapesOf("max", ...after), ...shapesOf("logSoftmax", ...after)]).toEqual([]);
    expect(shapesOf("log", ...after)).toEqual(["3"]);
    expect(await change(before, after)).toBeLessThan(TOLERANCE);
  });

  it("is −87 at least, and its gradient is what it was", async () => {
    const after = simplify([loss, ...gradients(loss, [x])]);
    const far = Float32Array.of(0, -300, 0, 0, 0, 0, 0, 1e4, 40, 0, 0, 0);
    const found = await runOnce(await ortEngine({ threads: 1 }), { loss: after[0]!, slope: after[1]! }, { x: far });
    expect(found.loss!.data[0]).toBeCloseTo(126 * Math.LN2, 4);
    const slope = [1 / 3, -1, 1 / 3, 1 / 3, ...Array(8).fill(0)];
    expect(difference(found.slope!.data, slope)).toBeLessThan(1e-6);
  });
});

describe("a sum of scaled numbers", () => {
  const x = g.input("x", [4, 3]);

  it("is scaled once", async () => {
    const before = [g.sum(g.multiply(x, 0.5), { axes: [0] })];
    const after = simplify(before);
    expect(shapesOf("multiply", ...after)).toEqual(["3"]);
    expect(await change(before, after)).toBeLessThan(TOLERANCE);
  });
});

describe("a reduction whose kept axes are taken off", () => {
  const x = g.input("x", [2, 3, 4]);

  it.each([g.sum, g.mean, g.max])("does not keep them", async (reduce) => {
    const before = [g.reshape(reduce(x, { axes: [0, 1], keepDims: true }), [4])];
    const after = simplify(before);
    expect(shapesOf("reshape", ...after)).toEqual([]);
    expect(await change(before, after)).toBe(0);
  });

  it("keeps them where they are wanted, or where other axes go too", () => {
    const kept = g.sum(x, { axes: [1], keepDims: true });
    expect(shapesOf("reshape", ...simplify([g.reshape(kept, [2, 4]), kept]))).toEqual(["2,4"]);
    expect(shapesOf("reshape", ...simplify([g.reshape(kept, [8])]))).toEqual(["8"]);
  });
});

describe("the sum in the pull-back of attention", () => {
  const q = g.input("q", [2, 5, 3]);
  const k = g.input("k", [2, 7, 3]);
  const v = g.input("v", [2, 7, 3]);
  const kept = g.input("kept", [2, 5, 7]);
  const weights = g.softmax(g.matmul(q, k, { transposeB: true }));
  const lossOf = (mixed: Tensor) => g.sum(g.tanh(mixed));

  it.each([
    ["plain", weights],
    ["dropped out", g.multiply(weights, kept)],
    ["dropped out, the other way", g.multiply(kept, weights)],
  ])("goes over columns instead of keys: %s", async (_, used) => {
    const before = gradients(lossOf(g.matmul(used, v)), [q, k, v]);
    const after = simplify(before);
    const sums = (outputs: readonly Tensor[]) =>
      nodesOf(...outputs).flatMap((node) => (is(node, "sum") ? [node.inputs[0]!.shape.join()] : []));
    expect(sums(before)).toContain("2,5,7");
    expect(sums(after)).toEqual(["2,5,3"]);
    expect(await change(before, after)).toBeLessThan(TOLERANCE);
  });

  it("stays where the columns are no fewer, or nothing is mixed by the weights", () => {
    const wide = g.input("wide", [2, 7, 9]);
    const before = gradients(lossOf(g.matmul(weights, wide)), [q]);
    expect(shapesOf("sum", ...simplify(before))).toEqual(["2,5,1"]);
    expect(nodesOf(...simplify(before)).some((node) => is(node, "sum") && node.inputs[0]!.shape[2] === 9)).toBe(false);
    const alone = simplify([g.sum(g.multiply(g.matmul(q, k, { transposeB: true }), kept), { axes: [2] })]);
    expect(shapesOf("multiply", ...alone)).toEqual(["2,5,7"]);
  });
});
