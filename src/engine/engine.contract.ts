/** What every engine must do, as one suite: each operation as the oracle computes it, ports, errors, release. */
import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { drawValues, type OpCase, opCases, typeOf } from "../graph/cases.contract.ts";
import * as g from "../graph/index.ts";
import { type Engine, type Feed, feedsFor, type Numbers } from "./engine.ts";
import { referenceEngine } from "./reference.ts";

/** Inputs x0, x1, … of a case, their values, and the result. */
export function instantiate(opCase: OpCase) {
  const random = new RandomStream(11, opCase.label);
  const inputs = opCase.inputs.map(({ shape, draw }, i) => g.input(`x${i}`, shape, typeOf(draw)));
  const values = opCase.inputs.map((input) => drawValues(input, random));
  return { inputs, values, result: opCase.build(...inputs) };
}

export function feedsOf(values: readonly (Float64Array | Int32Array | Uint8Array)[]): Record<string, Numbers> {
  return Object.fromEntries(values.map((x, i) => [`x${i}`, x instanceof Float64Array ? Float32Array.from(x) : x]));
}

/** Largest difference relative to the largest value (or 1). Infinities must agree. */
export function difference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let scale = 1;
  let worst = a.length === b.length ? 0 : Number.POSITIVE_INFINITY;
  for (let i = 0; i < b.length; i++) {
    if (Object.is(a[i], b[i]) || a[i] === b[i]) continue;
    scale = Math.max(scale, Number.isFinite(b[i]!) ? Math.abs(b[i]!) : 1);
    worst = Math.max(worst, Math.abs(a[i]! - b[i]!));
  }
  return Number.isNaN(worst) ? Number.POSITIVE_INFINITY : worst / scale;
}

/** Runs outputs once, on those of the feeds that they depend on. */
export async function runOnce(
  engine: Engine,
  outputs: Record<string, g.Tensor>,
  feeds: Record<string, Numbers | Feed>,
) {
  const program = await engine.compile({ outputs });
  try {
    return await program.run(feedsFor(program, feeds));
  } finally {
    await program.release();
  }
}

export function engineContract(name: string, open: () => Promise<Engine>): void {
  describe(`${name} keeps the engine contract`, () => {
    describe.each((Object.keys(opCases) as g.Op[]).filter((op) => opCases[op].length > 0))("%s", (op) => {
      it.each(opCases[op].map((each) => [each.label, each] as const))("%s", async (_, opCase) => {
        const { values, result } = instantiate(opCase);
        const feeds = feedsOf(values);
        const expected = await runOnce(referenceEngine({ precision: "double" }), { y: result }, feeds);
        const actual = await runOnce(await open(), { y: result }, feeds);
        expect(actual.y!.shape).toEqual(expected.y!.shape);
        // Single precision with another order of summation over at most 33 terms; erf and tanh are polynomials there.
        expect(difference(actual.y!.data, expected.y!.data)).toBeLessThan(4e-6);
      });
    });

    it("binds named dimensions at run time, also to 0", async () => {
      const x = g.input("x", ["B", "T", 4]);
      const rows = g.reshape(x, ["B*T", 4]);
      const back = g.reshape(g.matmul(rows, g.constant(new Float32Array(12).fill(1), [4, 3])), ["B", "T", 3]);
      const positions = g.broadcast(g.cast(g.iota("T"), "float"), ["B", "T"]);
      const program = await (await open()).compile({ outputs: { back, positions } });
      for (const [B, T] of [
        [2, 3],
        [1, 1],
        [2, 0],
      ] as const) {
        const out = await program.run({ x: { data: new Float32Array(B * T * 4).fill(2), shape: [B, T, 4] } });
        expect(out.back!.shape).toEqual([B, T, 3]);
        expect([...out.back!.data]).toEqual(new Array(B * T * 3).fill(8));
        expect([...out.positions!.data]).toEqual(Array.from({ length: B * T }, (_, i) => i % T));
      }
      await program.release();
    });

    it("writes an output into an array it is given", async () => {
      const x = g.input("x", [3]);
      const program = await (await open()).compile({ outputs: { y: g.multiply(x, 2), z: g.add(x, 1) } });
      const y = new Float32Array(3);
      for (const start of [1, 5]) {
        const out = await program.run({ x: Float32Array.of(start, start + 1, start + 2) }, { y });
        expect([...y]).toEqual([2 * start, 2 * start + 2, 2 * start + 4]);
        expect(out.y!.data).toBe(y);
        expect(out.z!.data[0]).toBe(start + 1);
      }
      await program.release();
    });

    it("holds weights that are given, and asks for the others", async () => {
      const [w, v] = [g.parameter("w", [2, 2]), g.parameter("v", [2, 2])];
      const product = g.add(g.matmul(g.input("x", [1, 2]), w), g.matmul(g.input("x2", [1, 2]), v));
      const weights = new Map<g.Tensor, Float32Array>([[w, Float32Array.of(1, 2, 3, 4)]]);
      const program = await (await open()).compile({ outputs: { product }, weights });
      expect(program.inputs.map((port) => port.name).sort()).toEqual(["v", "x", "x2"]);
      const ones = Float32Array.of(1, 1);
      const out = await program.run({ x: ones, x2: ones, v: Float32Array.of(10, 20, 30, 40) });
      expect([...out.product!.data]).toEqual([44, 66]);
      await program.release();
    });

    it.each([
      [4, 16, 1],
      [21, 48, 300],
      [7, 40, 130],
      [3, 64, 17],
      [1, 32, 256],
    ])("multiplies %s rows by any number of columns, exactly where numbers are whole and small", async (m, n, k) => {
      const whole = (rows: number, columns: number, seed: number) =>
        Float32Array.from({ length: rows * columns }, (_, i) => ((i * seed) % 11) - 5);
      const [a, b] = [whole(m, k, 7), whole(k, n, 3)];
      const [x, y] = [g.input("x", [m, k]), g.input("y", [k, n])];
      const turned = g.matmul(g.transpose(x, [1, 0]), y, { transposeA: true });
      const out = await runOnce(await open(), { product: g.matmul(x, y), turned }, { x: a, y: b });
      const entry = (i: number, j: number) =>
        a.slice(i * k, (i + 1) * k).reduce((sum, v, l) => sum + v * b[l * n + j]!, 0);
      const wanted = Array.from({ length: m * n }, (_, at) => entry(Math.floor(at / n), at % n));
      expect([...out.product!.data]).toEqual(wanted);
      expect([...out.turned!.data]).toEqual(wanted);
    });

    it("gives one tensor under two names, and an input as an output", async () => {
      const x = g.input("x", [2]);
      const y = g.exp(x);
      const out = await runOnce(await open(), { a: y, b: y, same: x }, { x: Float32Array.of(0, 0) });
      expect([[...out.a!.data], [...out.b!.data], [...out.same!.data]]).toEqual([
        [1, 1],
        [1, 1],
        [0, 0],
      ]);
    });

    it("says which input is missing, of the wrong type, or of the wrong shape", async () => {
      const x = g.input("x", ["N", 3]);
      const program = await (await open()).compile({ outputs: { y: g.add(x, g.input("ids", ["N", 1])) } });
      const good = { data: new Float32Array(6), shape: [2, 3] };
      const run = (feeds: Record<string, Numbers | Feed>) => program.run(feeds);
      await expect(run({ x: good })).rejects.toThrow("input ids: expected float [N,1], got x");
      await expect(run({ x: good, ids: { data: new Int32Array(2), shape: [2, 1] } })).rejects.toThrow(
        "input ids: expected Float32Array, got Int32Array",
      );
      await expect(run({ x: good, ids: { data: new Float32Array(3), shape: [3, 1] } })).rejects.toThrow(
        "input ids: expected [2,1] ([N,1]), got [3,1] with 3 values",
      );
      await expect(run({ x: new Float32Array(6), ids: good })).rejects.toThrow("pass { data, shape }");
      await program.release();
    });

    it("refuses a feed that is no input, and a target that is no output", async () => {
      const x = Float32Array.of(1);
      const program = await (await open()).compile({ outputs: { y: g.exp(g.input("x", [1])) } });
      await expect(program.run({ x, mask: x })).rejects.toThrow(
        "input mask: expected an input of the program, got none of that name; leave it out",
      );
      await expect(program.run({ x, xx: x })).rejects.toThrow("got none of that name; did you mean x?");
      await expect(program.run({ X: x })).rejects.toThrow("input x: expected float [1], got X; rename X to x");
      await expect(program.run({ x }, { z: x })).rejects.toThrow("output z: expected an output of the program");
      await program.release();
    });

    it("refuses floats for ids, and plain arrays", async () => {
      const table = g.parameter("table", [3, 2]);
      const weights = new Map([[table, new Float32Array(6)]]);
      const rows = g.gather(table, g.input("ids", [2], "int"));
      const program = await (await open()).compile({ outputs: { rows }, weights });
      await expect(program.run({ ids: Float32Array.of(0, 1) })).rejects.toThrow(
        "input ids: expected Int32Array, got Float32Array",
      );
      // @ts-expect-error for programs in JavaScript
      await expect(program.run({ ids: [0, 1] })).rejects.toThrow("input ids: expected Int32Array, got [0,1]");
      await program.release();
    });

    it("says which id lies outside its table, also where the table's size is known only then", async () => {
      const [table, ids] = [g.parameter("table", [3, 2]), g.input("ids", ["N", 1], "int")];
      const rows = g.gather(table, g.reshape(ids, ["N"]));
      const picked = g.pick(g.input("scores", ["N", "V"]), g.reshape(ids, ["N"]));
      const weights = new Map([[table, new Float32Array(6)]]);
      const program = await (await open()).compile({ outputs: { rows, picked }, weights });
      const run = (scores: number, ...data: number[]) => {
        const shape = [data.length, scores];
        const feeds = { data: new Float32Array(scores * data.length), shape };
        return program.run({ ids: { data: Int32Array.from(data), shape: [data.length, 1] }, scores: feeds });
      };
      await expect(run(9, 2, 3)).rejects.toThrow(
        "input ids: expected ids from 0 to 2 for 3 rows of table, got 3 at index 1; use the tokenizer",
      );
      await expect(run(9, -1)).rejects.toThrow("got -1 at index 0");
      await expect(run(2, 2)).rejects.toThrow("expected ids from 0 to 1 for 2 values per row, got 2 at index 0");
      expect((await run(3, 2, 0)).rows!.shape).toEqual([2, 2]);
      await program.release();
    });

    it("says so too of an id that the program computes", async () => {
      const table = g.parameter("table", [3, 2]);
      const rows = g.gather(table, g.add(g.input("ids", [1], "int"), 2));
      const program = await (await open()).compile({
        outputs: { rows },
        weights: new Map([[table, new Float32Array(6)]]),
      });
      await expect(program.run({ ids: Int32Array.of(1) })).rejects.toMatchObject({
        message: expect.stringContaining("program: expected ids from 0 to 2 in a look-up, got 3; use the tokenizer"),
        code: "bad-data",
      });
      await program.release();
    });

    it("refuses weights of another size, or of another tensor of that name", async () => {
      const [w, other] = [g.parameter("w", [2]), g.parameter("w", [2])];
      const compile = async (tensor: g.Tensor, size: number) => {
        const weights = new Map([[tensor, new Float32Array(size)]]);
        return (await open()).compile({ outputs: { y: g.exp(w) }, weights });
      };
      await expect(compile(w, 3)).rejects.toThrow("weight w: expected 2 values, got 3");
      await expect(compile(other, 2)).rejects.toThrow(
        "weight w: expected weights of this instance of the model, got those of another instance; load them with",
      );
    });

    it("refuses two inputs of one name", async () => {
      const sum = g.add(g.input("x", [2]), g.input("x", [2]));
      const engine = await open();
      await expect((async () => engine.compile({ outputs: { sum } }))()).rejects.toThrow("both named x");
    });

    it("refuses two conditions for one size", async () => {
      const both = [g.input("a", [2], "bool"), g.input("b", [2], "bool")].map((each) => g.which(each, "R"));
      const engine = await open();
      await expect((async () => engine.compile({ outputs: { sum: g.add(both[0]!, both[1]!) } }))()).rejects.toThrow(
        "program: expected one source per size, got two of R; rename one",
      );
    });

    it("refuses an output with the name of an input", async () => {
      const x = g.input("x", [2]);
      const engine = await open();
      await expect((async () => engine.compile({ outputs: { x: g.exp(x) } }))()).rejects.toThrow(
        "program: expected outputs named apart from inputs, got input and output x; rename the output",
      );
    });

    it("does not run after release", async () => {
      const program = await (await open()).compile({ outputs: { y: g.exp(g.input("x", [1])) } });
      await program.release();
      await expect(program.run({ x: new Float32Array(1) })).rejects.toThrow("released");
    });
  });
}
