import { describe, expect, it } from "vitest";
import { difference, runOnce } from "../../engine/engine.contract.ts";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import * as g from "../build.ts";
import { gradients } from "../gradients.ts";
import type { Tensor } from "../vocabulary.ts";
import { isDistinct } from "./row-rules.ts";
import { nodesOf } from "./rules.contract.ts";
import { simplify } from "./simplify.ts";

const x = g.input("x", [6, 2]);
const few = g.distinctIds("few", ["F"]);
const more = g.distinctIds("more", ["M"]);
const any = g.input("any", [3], "int");

/** The gradient of a loss that looks at all rows of x, and at some of them again. */
const gradientOf = (...some: Tensor[]) =>
  gradients(
    some.reduce((total, ids) => g.add(total, g.sum(g.tanh(g.gather(x, ids)))), g.sum(g.exp(x))),
    [x],
  );
const count = (op: Tensor["op"], outputs: readonly Tensor[]) =>
  nodesOf(...outputs).filter((node) => node.op === op).length;

describe("rows added at distinct ids", () => {
  it.each([
    ["one set of them", [few], 1],
    ["two", [few, more], 2],
    ["three", [few, more, g.which(g.less(g.iota(6), 4), "W")], 3],
  ])("are added there only: %s", async (_, ids, sets) => {
    const before = gradientOf(...ids);
    const after = simplify(before);
    expect(count("scatterAdd", before)).toBe(sets);
    expect([count("scatterAdd", after), count("replaceRows", after)]).toEqual([0, sets]);
    const wide = Float64Array.from({ length: 12 }, (_, i) => Math.sin(i));
    for (const rows of [Int32Array.of(5, 0, 2), new Int32Array()]) {
      const feeds = { few: { data: rows, shape: [rows.length] }, more: { data: Int32Array.of(3, 2), shape: [2] } };
      const expected = await runOnce(
        referenceEngine({ precision: "double" }),
        { y: before[0]! },
        { ...feeds, x: wide },
      );
      const found = await runOnce(referenceEngine({ precision: "double" }), { y: after[0]! }, { ...feeds, x: wide });
      expect(difference(found.y!.data, expected.y!.data)).toBeLessThan(1e-14);
      const fast = await runOnce(
        await ortEngine({ threads: 2 }),
        { y: after[0]! },
        { ...feeds, x: Float32Array.from(wide) },
      );
      expect(difference(fast.y!.data, expected.y!.data)).toBeLessThan(1e-6);
    }
  });

  it("stand in their places where nothing else is there", async () => {
    const y = g.scatterAdd(few, g.input("rows", ["F", 2]), 4);
    const feeds = {
      few: { data: Int32Array.of(3, 0), shape: [2] },
      rows: { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] },
    };
    for (const engine of [referenceEngine({ precision: "double" }), await ortEngine({ threads: 2 })]) {
      const found = await runOnce(engine, { y }, feeds);
      expect([...found.y!.data]).toEqual([3, 4, 0, 0, 0, 0, 1, 2]);
    }
  });

  it("stay a scatter where ids may repeat, or where the scatter itself is wanted", () => {
    expect(count("scatterAdd", simplify(gradientOf(any)))).toBe(1);
    const spread = g.scatterAdd(few, g.input("rows", ["F", 2]), 6);
    expect(count("replaceRows", simplify([g.add(x, spread), spread]))).toBe(0);
  });
});

describe("ids", () => {
  it("are distinct when they are counted, said to be, or chosen among such", () => {
    const chosen = g.which(g.input("condition", [6], "bool"), "C");
    for (const ids of [few, g.iota(4), chosen, g.gather(few, chosen)]) expect(isDistinct(ids)).toBe(true);
    for (const ids of [any, g.gather(any, chosen), g.gather(few, any), g.add(few, 1)])
      expect(isDistinct(ids)).toBe(false);
  });
});
