import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { difference, runOnce } from "../engine/engine.contract.ts";
import { ortEngine } from "../engine/ort.ts";
import { referenceEngine } from "../engine/reference.ts";
import * as g from "./build.ts";
import type { Dim } from "./dims.ts";
import { gradients } from "./gradients.ts";
import { topological } from "./order.ts";
import { simplify } from "./simplify.ts";
import type { Tensor } from "./vocabulary.ts";

const HEADS = 2;
const opsOf = (...outputs: Tensor[]) => topological(outputs).map(({ op }) => op);

const byHead = (x: Tensor, [batch, length, width]: readonly Dim[]) =>
  g.transpose(g.reshape(x, [batch!, length!, HEADS, Number(width) / HEADS]), [0, 2, 1, 3]);

/** Attention as models write it: rows in, rows out. */
function composed(
  rows: readonly [Tensor, Tensor, Tensor],
  batch: Dim,
  between: (scores: Tensor) => Tensor = g.softmax,
): Tensor {
  const [q, k, v] = rows.map((x) => byHead(x, [batch, x.shape[0] === 6 ? 3 : 5, x.shape[1]!])) as [
    Tensor,
    Tensor,
    Tensor,
  ];
  const weights = between(g.matmul(q, k, { transposeB: true, scale: 0.5 }));
  return g.reshape(g.transpose(g.matmul(weights, v), [0, 2, 1, 3]), [rows[0].shape[0]!, rows[2].shape[1]!]);
}

const rows = [g.input("q", [6, 4]), g.input("k", [10, 4]), g.input("v", [10, 8])] as const;

describe("attention", () => {
  it("is recognised as one operation between rows", () => {
    const [y] = simplify([composed(rows, 2)]);
    expect(opsOf(y!).filter((op) => op !== "input")).toEqual(["reshape", "reshape", "reshape", "attention", "reshape"]);
    expect(y!.inputs[0]!.attributes).toEqual({ heads: HEADS, scale: 0.5 });
  });

  it("keeps its numbers, on both engines", async () => {
    const before = composed(rows, 2);
    const [after] = simplify([before]);
    const random = new RandomStream(4, "attention");
    const drawn = (length: number) => Float32Array.from({ length }, () => random.normal());
    const feeds = { q: drawn(24), k: drawn(40), v: drawn(80) };
    const oracle = referenceEngine({ precision: "double" });
    const expected = await runOnce(oracle, { y: before }, feeds);
    const same = await runOnce(oracle, { y: after! }, feeds);
    const fast = await runOnce(await ortEngine({ threads: 1 }), { y: after! }, feeds);
    expect(difference(same.y!.data, expected.y!.data)).toBeLessThan(1e-12);
    // Single precision over five keys.
    expect(difference(fast.y!.data, expected.y!.data)).toBeLessThan(2e-6);
  });

  it.each([
    [2, 0, 3],
    [2, 3, 0],
  ])("of %i texts, %i queries and %i keys is computed too", async (batch, queries, keys) => {
    const shapes = { q: [batch, queries, 4], k: [batch, keys, 4], v: [batch, keys, 8] };
    const [q, k, v] = Object.entries(shapes).map(([name, shape]) => g.input(name, shape)) as [Tensor, Tensor, Tensor];
    const feeds = Object.fromEntries(
      Object.entries(shapes).map(([name, shape]) => [name, new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(1)]),
    );
    const { y } = await runOnce(
      await ortEngine({ threads: 1 }),
      { y: g.attention(q, k, v, { heads: 2, scale: 1 }) },
      feeds,
    );
    expect(y).toEqual({ shape: [batch, queries, 8], data: new Float32Array(batch * queries * 8) });
  });

  it.each([
    ["whose scores are masked", composed(rows, 2, (x) => g.softmax(g.add(x, g.input("mask", [3, 5]))))],
    ["whose weights are dropped out", composed(rows, 2, (x) => g.multiply(g.softmax(x), g.input("kept", [3, 5])))],
    ["without a softmax", composed(rows, 2, g.exp)],
  ])("%s stays as it is", (_, tensor) => {
    expect(opsOf(...simplify([tensor]))).not.toContain("attention");
  });

  it("that is differentiated stays as it is: the pull-back wants the weights", () => {
    const y = composed(rows, 2);
    expect(opsOf(...simplify([y, ...gradients(g.sum(y), [...rows])]))).not.toContain("attention");
  });

  it("of which the weights are looked at stays as it is", () => {
    let seen: Tensor | undefined;
    const y = composed(rows, 2, (x) => {
      seen = g.softmax(x);
      return seen;
    });
    expect(opsOf(...simplify([y, seen!]))).not.toContain("attention");
  });
});
