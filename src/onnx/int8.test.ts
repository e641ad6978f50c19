import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import type { Feeds } from "../engine/engine.ts";
import { ortEngine } from "../engine/ort.ts";
import { add, gather, input, matmul, slice, type Tensor } from "../graph/index.ts";
import { newParameter, zeros } from "../nn/index.ts";
import { quantised } from "./int8.ts";
import { lowerGraph } from "./lower.ts";

const drawn = (name: string, count: number) => {
  const random = new RandomStream(3, name);
  return Float32Array.from({ length: count }, () => random.normal());
};
const parameter = (name: string, shape: readonly number[]) => newParameter(name, shape, zeros, "matrix").tensor;
const [ROWS, IN, OUT] = [6, 32, 48];
const x = input("x", [ROWS, IN]);
const values = drawn("x", ROWS * IN);
const weight = parameter("w", [IN, OUT]);
const w = drawn("w", IN * OUT);

/** What the runtime is to compute: the left factor in 256 steps of its own range, products of whole numbers, then scales. */
function expected(bias: ArrayLike<number> = new Float32Array(OUT)): Float32Array {
  const { numbers, scales } = quantised(w, [IN, OUT], 1);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const step = Math.fround((high - low) / 255);
  const zero = Math.round(-low / step);
  const left = Array.from(values, (value) => Math.min(255, Math.max(0, Math.round(value / step) + zero)) - zero);
  return Float32Array.from({ length: ROWS * OUT }, (_, at) => {
    const [row, column] = [Math.floor(at / OUT), at % OUT];
    let sum = 0;
    for (let k = 0; k < IN; k++) sum += left[row * IN + k]! * numbers[k * OUT + column]!;
    return sum * step * scales[column]! + bias[column]!;
  });
}

async function run(y: Tensor, weights: ReadonlyMap<Tensor, Float32Array>, feeds: Feeds) {
  const engine = await ortEngine({ threads: 1, int8: true });
  const program = await engine.compile({ outputs: { y }, weights });
  try {
    return (await program.run(feeds)).y!;
  } finally {
    await program.release();
  }
}

const distance = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i]!)));

describe("weights as 8-bit integers", () => {
  it("keep every number to half a step of its own output's scale", () => {
    for (const axis of [0, 1] as const) {
      const { numbers, scales } = quantised(w, [IN, OUT], axis);
      for (let at = 0; at < w.length; at++) {
        const scale = scales[axis === 0 ? Math.floor(at / OUT) : at % OUT]!;
        expect(Math.abs(numbers[at]! * scale - w[at]!)).toBeLessThanOrEqual(scale / 2 + 1e-7);
      }
    }
    expect([...quantised(new Float32Array(4), [2, 2], 0).numbers]).toEqual([0, 0, 0, 0]);
  });

  it("multiply as worked out by hand, with and without a bias and a scale", async () => {
    const { data } = await run(matmul(x, weight), new Map([[weight, w]]), { x: values });
    expect(distance(data, expected())).toBeLessThan(1e-4);
    const bias = parameter("b", [OUT]);
    const b = drawn("b", OUT);
    const both = new Map([
      [weight, w],
      [bias, b],
    ]);
    expect(distance((await run(add(matmul(x, weight), bias), both, { x: values })).data, expected(b))).toBeLessThan(
      1e-4,
    );
    const half = await run(matmul(x, weight, { scale: 0.5 }), new Map([[weight, w]]), { x: values });
    expect(
      distance(
        half.data,
        expected().map((value) => value / 2),
      ),
    ).toBeLessThan(1e-4);
  });

  it("are stored once where a table gives rows and scores them, and never beside themselves in 32 bits", async () => {
    const table = parameter("table", [OUT, IN]);
    const ids = input("ids", [3], "int");
    const y = matmul(gather(table, ids), table, { transposeB: true });
    const weights = new Map([[table, w]]);
    const stored = lowerGraph({ outputs: { y }, weights, int8: true }).tensors.filter(
      ({ bytes }) => bytes.length >= OUT * IN,
    );
    expect(stored.map(({ name, type }) => [name, type])).toEqual([["table", "uint8"]]);
    const engine = await ortEngine({ threads: 1 });
    const exact = await (await engine.compile({ outputs: { y }, weights })).run({ ids: Int32Array.of(5, 0, 47) });
    const near = await run(y, weights, { ids: Int32Array.of(5, 0, 47) });
    const largest = Math.max(...Array.from(exact.y!.data, Math.abs));
    expect(distance(near.data, exact.y!.data) / largest).toBeLessThan(0.02);
  });

  it("are cut where a part of a matrix is multiplied by", async () => {
    const stack = parameter("stack", [OUT, IN]);
    const part = slice(stack, 0, 16, 40);
    const weights = new Map([[stack, w]]);
    const near = await run(matmul(x, part, { transposeB: true }), weights, { x: values });
    const whole = await run(matmul(x, stack, { transposeB: true }), weights, { x: values });
    const cut = Array.from(near.data, (_, at) => whole.data[Math.floor(at / 24) * OUT + 16 + (at % 24)]!);
    expect(distance(near.data, cut)).toBe(0);
    const { tensors } = lowerGraph({ outputs: { y: matmul(x, part, { transposeB: true }) }, weights, int8: true });
    expect(tensors.find(({ name }) => name === "stack")?.type).toBe("uint8");
  });

  it("are none where a matrix is small, is no right factor, or is fed", () => {
    const small = parameter("small", [IN, 8]);
    const left = parameter("left", [ROWS, IN]);
    const types = (y: Tensor, weights: ReadonlyMap<Tensor, Float32Array>) =>
      lowerGraph({ outputs: { y }, weights, int8: true }).tensors.map(({ type }) => type);
    expect(types(matmul(x, small), new Map([[small, drawn("s", IN * 8)]]))).toEqual(["float"]);
    expect(types(matmul(left, weight), new Map([[left, values]]))).toEqual(["float"]);
    expect(types(add(matmul(x, weight), matmul(x, weight)), new Map())).toEqual([]);
  });

  it("multiply no rows at all", async () => {
    const some = input("x", ["N", IN]);
    const { shape } = await run(matmul(some, weight), new Map([[weight, w]]), {
      x: { data: new Float32Array(0), shape: [0, IN] },
    });
    expect(shape).toEqual([0, OUT]);
  });

  it("need the processor", async () => {
    await expect(ortEngine({ int8: true, device: "cuda" })).rejects.toThrow(
      "engine / int8: expected the device cpu, got cuda",
    );
  });
});
