import { describe, expect, it } from "vitest";
import type { Engine } from "../engine/engine.ts";
import { ortEngine } from "../engine/ort.ts";
import { ortWebEngine } from "../engine/ort-web.ts";
import { referenceEngine } from "../engine/reference.ts";
import * as g from "../graph/index.ts";
import { lowerGraph, type Target } from "./lower.ts";
import type { OnnxGraph } from "./proto.ts";

const w = g.parameter("w", [3, 3]);
const weights = new Map([[w as g.Tensor, Float32Array.from({ length: 9 }, (_, i) => i - 4)]]);

/** Rows [N, 3] of which those where a condition holds are replaced by tanh(row·w) + row. */
function replaced(count: number) {
  const x = g.input("x", [count, 3]);
  const runs = g.greater(g.input("left", [count, 1]), 0);
  const ids = g.gather(g.iota(count), g.which(g.reshape(runs, [count]), "R"));
  const row = g.gather(x, ids);
  const work = g.tanh(g.matmul(row, w));
  return { y: g.replaceRows(x, ids, g.add(work, row)), x, ids, work };
}

const opsOf = (graph: OnnxGraph) => graph.nodes.map(({ op }) => op);
const lowered = (outputs: Record<string, g.Tensor>, target?: Target) => lowerGraph({ outputs, weights, target });

function branchesOf(graph: OnnxGraph): Record<string, string[]> {
  const { attributes } = graph.nodes.find(({ op }) => op === "If")!;
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, opsOf((value as { graph: OnnxGraph }).graph)]),
  );
}

describe("work on a row that may be absent", () => {
  it("stands in one condition, and takes the row as it is", () => {
    const graph = lowered({ y: replaced(1).y });
    expect(opsOf(graph)).toEqual(["Greater", "If", "Identity"]);
    expect(branchesOf(graph)).toEqual({ then_branch: ["Gemm", "Tanh", "Add"], else_branch: ["Identity"] });
  });

  /** Two tables whose row is replaced by parts of one product, where a condition holds. */
  function together() {
    const { x, ids } = replaced(1);
    const product = g.matmul(g.gather(x, ids), w);
    const row = (from: number, to: number) => g.slice(product, 1, from, to);
    const [one, two] = [g.input("one", [1, 1]), g.input("two", [1, 2])];
    return { x, ids, a: g.replaceRows(one, ids, row(0, 1)), b: g.replaceRows(two, ids, row(1, 3)) };
  }

  it("stands in one condition for all that it replaces", async () => {
    const { a, b } = together();
    const graph = lowered({ a, b });
    expect(opsOf(graph)).toEqual(["Greater", "If", "Identity", "Identity"]);
    expect(branchesOf(graph)).toEqual({
      then_branch: ["Gemm", "Slice", "Slice"],
      else_branch: ["Identity", "Identity"],
    });
    const program = await (await ortEngine({ threads: 1 })).compile({ outputs: { a, b }, weights });
    const run = async (left: number) => {
      const given = { x: Float32Array.of(0, 0, 1), one: Float32Array.of(7), two: Float32Array.of(8, 9) };
      const found = await program.run({ ...given, left: Float32Array.of(left) });
      return [...found.a!.data, ...found.b!.data];
    };
    expect(await run(-1)).toEqual([7, 8, 9]);
    expect(await run(1)).toEqual([2, 3, 4]);
    await program.release();
  });

  it("replaces what it has replaced before, too", async () => {
    const { x, ids } = replaced(1);
    const once = g.replaceRows(x, ids, g.matmul(g.gather(x, ids), w));
    const twice = g.replaceRows(once, ids, g.tanh(g.gather(once, ids)));
    const program = await (await ortEngine({ threads: 1 })).compile({ outputs: { once, twice }, weights });
    const run = async (left: number) => {
      const found = await program.run({ x: Float32Array.of(0, 0, 1), left: Float32Array.of(left) });
      return [...found.once!.data, ...found.twice!.data];
    };
    expect(await run(-1)).toEqual([0, 0, 1, 0, 0, 1]);
    const expected = [2, 3, 4, ...[2, 3, 4].map(Math.tanh)];
    for (const [i, each] of (await run(1)).entries()) expect(each).toBeCloseTo(expected[i]!, 5);
    await program.release();
  });

  it("stands in conditions of its own where one part waits for another through what is outside", async () => {
    const { x, ids, b } = together();
    const between = g.tanh(g.concat([b, g.input("one", [1, 1])], 1)); // wanted with and without a row
    const y = g.replaceRows(x, ids, g.matmul(g.gather(between, ids), w));
    const graph = lowered({ b, between, y });
    expect(opsOf(graph).filter((op) => op === "If")).toHaveLength(2);
    const program = await (await ortEngine({ threads: 1 })).compile({ outputs: { y }, weights });
    const feeds = { x: Float32Array.of(0, 0, 1), one: Float32Array.of(0), two: Float32Array.of(0, 0) };
    const { y: found } = await program.run({ ...feeds, left: Float32Array.of(1) });
    const row = [Math.tanh(3), Math.tanh(4), 0];
    const expected = [0, 1, 2].map((j) => row.reduce((sum, each, i) => sum + each * (3 * i + j - 4), 0));
    for (const [i, each] of Array.from(found!.data).entries()) expect(each).toBeCloseTo(expected[i]!, 5);
    await program.release();
  });

  it("stays outside where others want it, on a GPU, and of several rows", () => {
    const { y, work } = replaced(1);
    expect(opsOf(lowered({ y, work }))).not.toContain("If");
    expect(opsOf(lowered({ y }, "gpu"))).not.toContain("If");
    expect(opsOf(lowered({ y: replaced(2).y }))).not.toContain("If");
  });

  it("leaves what is made of weights alone outside, where it is made once", () => {
    const { x, ids } = replaced(1);
    const part = g.matmul(g.gather(x, ids), g.multiply(w, w));
    const graph = lowered({ y: g.replaceRows(x, ids, part) });
    expect(opsOf(graph)).toContain("Mul");
    expect(branchesOf(graph).then_branch).toEqual(["Gemm"]);
  });

  it("norms a row once that is normed outside, too", () => {
    const { x, ids } = replaced(1);
    const [gain, shift] = [g.parameter("gain", [3]), g.parameter("shift", [3])];
    const norm = (rows: g.Tensor) => g.layerNorm(rows, gain, shift, 1e-5);
    const y = g.replaceRows(x, ids, g.matmul(norm(g.gather(x, ids)), w));
    expect(branchesOf(lowered({ all: norm(x), y })).then_branch).toEqual(["Gemm"]);
  });

  it("knows the size of one row, and asks again where a row of it may be absent", async () => {
    const [{ x, ids }, further] = [replaced(1), g.input("further", [1], "bool")];
    const row = g.gather(x, ids);
    const sized = g.multiply(g.matmul(row, w), g.broadcast(g.full(2, [1, 1]), [row.shape[0]!, 3]));
    const more = g.which(further, "S");
    const some = g.replaceRows(x, more, g.exp(g.gather(x, more)));
    const y = g.replaceRows(x, ids, g.add(sized, g.gather(some, ids)));
    const program = await (await ortEngine({ threads: 1 })).compile({ outputs: { y }, weights });
    const run = async (left: number, flag: number) => {
      const feeds = { x: Float32Array.of(0, 0, 1), left: Float32Array.of(left), further: Uint8Array.of(flag) };
      return Array.from((await program.run(feeds)).y!.data, Math.fround);
    };
    expect(await run(-1, 1)).toEqual([0, 0, 1]);
    expect(await run(1, 0)).toEqual([4, 6, 9]);
    expect(await run(1, 1)).toEqual([5, 7, Math.fround(8 + Math.E)]);
    await program.release();
  });

  it.each([-1, 1])("gives what the reference gives, with %d left", async (left) => {
    const feeds = { x: Float32Array.of(0.5, -1, 2), left: Float32Array.of(left) };
    const [first, ...others] = [referenceEngine(), await ortEngine({ threads: 1 }), await ortWebEngine({ threads: 1 })];
    const found = async (engine: Engine) => {
      const program = await engine.compile({ outputs: { y: replaced(1).y }, weights });
      const { y } = await program.run(feeds);
      await program.release();
      return Array.from(y!.data, (each) => each.toFixed(5));
    };
    const expected = await found(first!);
    for (const engine of others) expect(await found(engine)).toEqual(expected);
  });
});
