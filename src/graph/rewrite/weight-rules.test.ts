import { describe, expect, it } from "vitest";
import * as g from "../build.ts";
import { gradients } from "../gradients.ts";
import type { Tensor } from "../vocabulary.ts";
import { change, shapesOf, TOLERANCE } from "./rules.contract.ts";
import { foldIntoWeights, simplify } from "./simplify.ts";

const x = g.input("x", [6, 4]);
const gain = g.parameter("gain", [4]);
const shift = g.parameter("shift", [4]);
const w = g.parameter("w", [5, 4]);
const v = g.parameter("v", [4, 3]);
const bias = g.parameter("bias", [5]);
const norm = (of: Tensor) => g.layerNorm(of, gain, shift, 1e-3);
const rows = norm(x);
const linear = (of: Tensor) => g.add(g.matmul(of, w, { transposeB: true }), bias);

/** Largest change of a loss and of its gradients by folding before they are taken. */
async function changeOf(loss: Tensor, wanted: readonly Tensor[]): Promise<number> {
  const [after] = foldIntoWeights([loss]);
  return change([loss, ...gradients(loss, wanted)], simplify([after!, ...gradients(after!, wanted)]));
}

describe("gain and bias of a norm", () => {
  it("go into the weights of the products that take it, and leave one norm", async () => {
    const other = g.layerNorm(x, g.parameter("gain2", [4]), g.parameter("shift2", [4]), 1e-3);
    const loss = g.add(g.sum(g.tanh(linear(norm(x)))), g.sum(g.tanh(g.matmul(other, v, { scale: 0.5 }))));
    expect(shapesOf("layerNorm", ...simplify([loss]))).toEqual(["6,4", "6,4"]);
    expect(shapesOf("layerNorm", ...simplify(foldIntoWeights([loss])))).toEqual(["6,4"]);
    expect(await changeOf(loss, [x, gain, shift, w, v, bias])).toBeLessThan(TOLERANCE);
  });

  it("do so for rows of the same norm at two places, joined, and for parts of weights", async () => {
    const before = g.input("before", [3, 2, 4]);
    const joined = g.reshape(g.concat([norm(before), g.reshape(norm(x), [3, 2, 4])], 1), [12, 4]);
    const keys = g.matmul(joined, g.slice(w, 0, 1, 4), { transposeB: true });
    const loss = g.add(g.sum(g.tanh(linear(norm(x)))), g.sum(g.exp(keys)));
    const [after] = simplify(foldIntoWeights([loss]));
    expect(shapesOf("layerNorm", after!).toSorted()).toEqual(["3,2,4", "6,4"]);
    expect(shapesOf("multiply", after!)).toEqual(["5,4"]);
    expect(await changeOf(loss, [x, gain, shift, w, bias])).toBeLessThan(TOLERANCE);
  });

  it.each([
    ["the rows are wanted too", g.add(g.sum(linear(rows)), g.sum(rows))],
    ["the weights are larger than the rows", g.sum(g.matmul(norm(x), g.parameter("large", [4, 7])))],
    ["the weights are made", g.sum(g.matmul(norm(x), g.exp(g.input("made", [4, 3]))))],
    ["words are scored", g.mean(g.crossEntropy(linear(norm(x)), g.input("ids", [6], "int")))],
  ])("stay where %s", (_, loss) => {
    expect(foldIntoWeights([loss])).toEqual([loss]);
  });
});

describe("a number that scales a product", () => {
  const share = g.slice(g.softmax(g.parameter("pi", [2])), 0, 0, 1);
  const mask = g.input("mask", [6, 5]);

  it.each([
    ["plain", g.multiply(g.matmul(x, w, { transposeB: true }), share)],
    ["with a bias", g.multiply(share, linear(x))],
    ["dropped out", g.multiply(g.multiply(linear(x), mask), share)],
  ])("scales the weights instead: %s", async (_, y) => {
    const loss = g.sum(g.tanh(y));
    const full = (outputs: readonly Tensor[]) =>
      shapesOf("multiply", ...outputs).filter((shape) => shape === "6,5").length;
    expect(full(foldIntoWeights([loss]))).toBe(full([loss]) - 1);
    expect(await changeOf(loss, [x, w, bias, share.inputs[0]!.inputs[0]!])).toBeLessThan(TOLERANCE);
  });

  it("stays where the product is wanted as it is, or its weights are larger", () => {
    const y = linear(x);
    const wanted = [g.multiply(y, share), y];
    expect(foldIntoWeights(wanted)).toEqual(wanted);
    const large = [g.multiply(g.matmul(g.input("few", [3, 4]), w, { transposeB: true }), share)];
    expect(foldIntoWeights(large)).toEqual(large);
  });
});
