import ort from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { difference, feedsOf, instantiate, runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { type OpCase, opCases } from "../graph/cases.contract.ts";
import * as g from "../graph/index.ts";
import { lower, lowerGraph } from "./lower.ts";

/** Names of ONNX operations, in order. */
const opsOf = (y: g.Tensor) => lowerGraph({ outputs: { y }, target: "gpu" }).nodes.map(({ op }) => op);
const types = { float: "float32", int: "int32", bool: "bool" } as const;

/** What the operations for graphics processors come to, on the processor. */
async function onProcessor(opCase: OpCase) {
  const { inputs, values, result } = instantiate(opCase);
  const fed = feedsOf(values);
  const feeds = inputs.map(({ dtype, shape }, i) => {
    return [`x${i}`, new ort.Tensor(types[dtype], fed[`x${i}`] as Float32Array, shape as number[])] as const;
  });
  const session = await ort.InferenceSession.create(lower({ outputs: { y: result }, target: "gpu" }));
  const { y } = await session.run(Object.fromEntries(feeds.filter(([name]) => session.inputNames.includes(name))));
  await session.release();
  return { y: y!, expected: (await runOnce(referenceEngine({ precision: "double" }), { y: result }, fed)).y! };
}

describe.each(["matmul", "logSoftmax", "or", "argMax", "sum"] as const)("%s for graphics processors", (op) => {
  it.each(opCases[op].map((each) => [each.label, each] as const))("%s", async (_, opCase) => {
    const { y, expected } = await onProcessor(opCase);
    expect(y.dims).toEqual(expected.shape);
    // Single precision with another order of summation over at most 33 terms.
    expect(difference(y.data as Float32Array, expected.data)).toBeLessThan(4e-6);
  });
});

describe("the lowering for graphics processors", () => {
  const [a, b] = [g.input("a", [2, 3, 4]), g.input("b", [2, 5, 4])];

  it("writes stacks of products without FusedMatMul, and matrices as Gemm", () => {
    expect(opsOf(g.matmul(a, b, { transposeB: true, scale: 0.5 }))).toEqual(["Transpose", "MatMul", "Mul", "Identity"]);
    expect(opsOf(g.matmul(a, g.input("c", [2, 4, 1])))).toEqual(["MatMul", "Identity"]);
    const row = g.add(g.matmul(g.input("x", [2, 3]), g.parameter("w", [3, 4])), g.parameter("bias", [4]));
    expect(opsOf(row)).toEqual(["Gemm", "Identity"]);
  });

  it("finds the first of equal largest values", async () => {
    const x = g.input("x", [2, 4]);
    const session = await ort.InferenceSession.create(lower({ outputs: { y: g.argMax(x) }, target: "gpu" }));
    const data = Float32Array.of(1, 3, 3, 2, -1, -2, -1, -5);
    const { y } = await session.run({ x: new ort.Tensor("float32", data, [2, 4]) });
    expect([...(y!.data as Int32Array)]).toEqual([1, 0]);
    await session.release();
  });

  it("refuses weights in 8 bits, which have no WebGPU kernel, and a target that it does not know", () => {
    expect(() => lower({ outputs: { y: a }, target: "gpu", int8: true })).toThrow(
      "target: expected cpu for weights in 8",
    );
    // @ts-expect-error for programs in JavaScript
    expect(() => lower({ outputs: { y: a }, target: "npu" })).toThrow('target: expected one of cpu, gpu, got "npu"');
  });
});
