import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { opCases } from "../graph/cases.contract.ts";
import * as g from "../graph/index.ts";
import { difference, feedsOf, instantiate, runOnce } from "./engine.contract.ts";
import type { Numbers, Program } from "./engine.ts";
import { ortEngine } from "./ort.ts";
import { referenceEngine } from "./reference.ts";

const oracle = referenceEngine({ precision: "double" });
const ops = Object.keys(opCases) as g.Op[];

/** A scalar out of a result: its sum weighted by fixed random numbers. */
function lossOf(result: g.Tensor): g.Tensor {
  const random = new RandomStream(5, "cotangent");
  const shape = result.shape as number[];
  const weights = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.normal());
  return g.sum(g.multiply(result, g.constant(weights, shape)));
}

/** (f(x + h) − f(x − h)) / 2h for each element of one input. */
async function centralDifferences(program: Program, feeds: Record<string, Numbers>, name: string): Promise<number[]> {
  const step = 1e-5;
  const x = feeds[name] as Float64Array;
  const at = async (i: number, value: number) => {
    const moved = await program.run({ ...feeds, [name]: x.with(i, value) });
    return moved.loss!.data[0]!;
  };
  const slopes: number[] = [];
  for (let i = 0; i < x.length; i++)
    slopes.push(((await at(i, x[i]! + step)) - (await at(i, x[i]! - step))) / (2 * step));
  return slopes;
}

const differentiable = ops.flatMap((op) =>
  opCases[op]
    .filter((each) => instantiate(each).result.dtype === "float")
    .map((each) => [op, each.label, each] as const),
);

describe("pull-backs", () => {
  it.each(differentiable)("%s %s equals central differences", async (_op, _, opCase) => {
    const { inputs, values, result } = instantiate(opCase);
    const loss = lossOf(result);
    const floats = inputs.filter((input) => input.dtype === "float");
    const found = g.gradients(loss, floats);
    const feeds = Object.fromEntries(values.map((x, i) => [`x${i}`, x]));
    const actual = await runOnce(oracle, Object.fromEntries(found.map((d, i) => [`d${i}`, d])), feeds);
    const program = await oracle.compile({ outputs: { loss } });
    for (const [i, input] of floats.entries()) {
      const name = (input.attributes as { name: string }).name;
      const expected = await centralDifferences(program, feeds, name);
      // Rounding of f (1e-16) over the step (1e-5), and h² = 1e-10 times a third derivative that reaches 100 where rows are short.
      expect(difference(actual[`d${i}`]!.data, expected)).toBeLessThan(1e-7);
    }
  });

  it.each(differentiable)(
    "%s %s: the simplified gradient on ONNX Runtime equals the oracle's",
    async (_op, _, opCase) => {
      const { inputs, values, result } = instantiate(opCase);
      const loss = lossOf(result);
      const outputs = [
        loss,
        ...g.gradients(
          loss,
          inputs.filter((input) => input.dtype === "float"),
        ),
      ];
      const named = (list: readonly g.Tensor[]) => Object.fromEntries(list.map((tensor, i) => [`y${i}`, tensor]));
      const feeds = feedsOf(values);
      const expected = await runOnce(oracle, named(outputs), feeds);
      const actual = await runOnce(await ortEngine({ threads: 2 }), named(g.simplify(outputs)), feeds);
      for (const name of Object.keys(expected)) {
        expect(actual[name]!.shape).toEqual(expected[name]!.shape);
        expect(difference(actual[name]!.data, expected[name]!.data)).toBeLessThan(1e-5);
      }
    },
  );

  it("stopGradient passes the value and stops the gradient", async () => {
    const x = g.input("x", [3]);
    const [slope] = g.gradients(g.sum(g.multiply(g.stopGradient(x), x)), [x]);
    const { d } = await runOnce(oracle, { d: slope! }, { x: Float64Array.of(1, -2, 3) });
    expect([...d!.data]).toEqual([1, -2, 3]); // not 2x
  });
});
