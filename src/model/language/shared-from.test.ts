import { describe, expect, it } from "vitest";
import { difference, runOnce } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { input } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { type LanguageModel, type LanguageModelOptions, languageModel } from "./language.ts";
import { type SharedFromOptions, sharedFrom } from "./shared-from.ts";

const sizes = { vocabulary: 11, width: 8, heads: 2, hidden: 12, length: 6 };
const modelOf = (plan: readonly number[], options: Partial<LanguageModelOptions> = {}) =>
  languageModel({ ...sizes, plan, ...options } as LanguageModelOptions);
const everything = { rank: 8, norms: true, biases: true };

const source = modelOf([0, 1, 2, 3]);
/** Weights as different as trained ones are: nothing at 0 or 1. */
const weights = new Map(
  [...initialise(source.parameters, 5)].map(([tensor, data], seed) => {
    return [tensor, data.map((value, i) => value + 0.3 * Math.sin(1 + seed + 1.7 * i))];
  }),
);

async function logits(model: LanguageModel, values: ReturnType<typeof sharedFrom>["weights"]) {
  const named = model.parameters.map(({ name, tensor }) => [name, values.get(tensor)!]);
  const outputs = { logits: model.logits(input("ids", [1, 6], "int")) };
  const feeds = { ids: Int32Array.of(3, 7, 1, 9, 4, 2), ...Object.fromEntries(named) };
  return (await runOnce(referenceEngine({ precision: "double" }), outputs, feeds)).logits!.data;
}

const mapped = (plan: readonly number[], relax?: object, options: SharedFromOptions = {}) => {
  const target = modelOf(plan, relax ? { relax } : {});
  return { target, ...sharedFrom(target, source, weights, options) };
};

describe("shared from unshared", () => {
  it.each(["average", "stepwise", "first"] as const)(
    "with additions of full rank is the source itself, from the %s block",
    async (blocks) => {
      const found = mapped([0, 1, 0, 1], everything, { blocks });
      expect(difference(await logits(found.target, found.weights), await logits(source, weights))).toBeLessThan(1e-5);
      expect(Math.max(...found.rows.map(({ error }) => error))).toBeLessThan(1e-6);
      expect(found.unused).toEqual([]);
      // Where nothing is to be added, factors stay as they are drawn: at 0 both, none would learn.
      expect(found.fresh.filter((name) => !/^blocks.*visit\d\.(down|up)$/.test(name))).toEqual([]);
      if (blocks === "average") expect(found.fresh).toEqual([]);
    },
  );

  it("loses less with a higher rank, and says how much", () => {
    const lost = (relax?: object) => {
      const errors = mapped([0, 1, 0, 1], relax)
        .rows.filter(({ name }) => name.endsWith("weight"))
        .map(({ error }) => error);
      return errors.reduce((a, b) => a + b) / errors.length;
    };
    const losses = [lost(), lost({ rank: 1 }), lost({ rank: 3 }), lost({ rank: 8, norms: true })];
    expect(losses).toEqual([...losses].sort((a, b) => b - a));
    expect(losses[0]! > losses[1]! + 0.01 && losses[3]! < 1e-6).toBe(true);
  });

  it("names the depth that each row comes from, and what nothing stands for", () => {
    const { rows, unused, fresh } = mapped([0, 0], { scales: true }, { blocks: "first" });
    expect(rows.filter(({ name }) => name === "blocks.0.qkv.weight").map(({ from, visit }) => [visit, from])).toEqual([
      [0, "blocks.0.qkv.weight"],
      [1, "blocks.3.qkv.weight"],
    ]);
    expect(unused).toContain("blocks.1.up.weight");
    expect(unused).not.toContain("blocks.3.up.weight");
    expect(fresh).toEqual(["blocks.0.scale.visit0", "blocks.0.scale.visit1"]);
  });

  it("takes evenly spaced blocks by stepwise", () => {
    const { target, weights: values } = mapped([0, 1, 0, 1], undefined, { blocks: "stepwise" });
    const weightOf = (model: LanguageModel, from: typeof values, name: string) =>
      from.get(model.parameters.find((each) => each.name === name)!.tensor);
    expect(weightOf(target, values, "blocks.1.up.weight")).toEqual(weightOf(source, weights, "blocks.3.up.weight"));
    expect(weightOf(target, values, "embedding.weight")).toEqual(weightOf(source, weights, "embedding.weight"));
  });

  it.each([
    ["2*2 relax(8, norms, biases)", 0],
    ["2*2", 1],
    ["2", 0],
    ["1 + 1 loop(2) + 1", 1],
    ["2*2 halt", 1],
    ["2*2 exits(gate)", 1],
    ["2*2 route(expert)", 1],
    ["2*2 drop(0.1)", 1],
    ["(2)*2 halt", 1],
  ])("maps onto %s and says what is lost", async (depth, isLossy) => {
    const target = languageModel({ ...sizes, depth });
    const found = sharedFrom(target, source, weights);
    const largest = Math.max(...found.rows.map(({ error }) => error));
    expect(isLossy ? largest > 0.1 : largest < 1e-6).toBe(true);
    expect([...found.weights.values()].every((values) => values.every(Number.isFinite))).toBe(true);
    const own = /^(halting|exits|router|looped)/;
    expect(found.fresh.every((name) => own.test(name))).toBe(true);
    const stood = new Set([...found.rows.map(({ from }) => from), ...found.unused]);
    for (const { name } of source.parameters) if (name.startsWith("blocks.")) expect(stood).toContain(name);
  });

  it("of as many blocks leaves each as it is, at every loop, and additions as they are drawn", async () => {
    const target = languageModel({ ...sizes, depth: "4 loop(3) relax(2, norms)" });
    const { weights: values, rows, fresh, unused } = sharedFrom(target, source, weights);
    expect([rows.every(({ error }) => error === 0), unused]).toEqual([true, []]);
    expect(rows.filter(({ name }) => name === "blocks.3.up.weight").map(({ from }) => from)).toEqual(
      Array.from({ length: 3 }, () => "blocks.3.up.weight"),
    );
    expect(fresh.every((name) => /\.(down|up)$/.test(name))).toBe(true);
    const once = languageModel({ ...sizes, depth: "4 loop(1)" });
    const found = sharedFrom(once, source, weights);
    expect(difference(await logits(once, found.weights), await logits(source, weights))).toBe(0);
    expect(values.size).toBe(target.parameters.length);
  });

  it("puts what a relaxed source has at each depth into blocks of their own", async () => {
    const relaxed = languageModel({ ...sizes, depth: "2*2 relax(3, norms)" });
    const { weights: shared } = sharedFrom(relaxed, source, weights);
    const plain = languageModel({ ...sizes, depth: "4" });
    const { weights: values, unused } = sharedFrom(plain, relaxed, shared);
    expect(unused).toEqual([]);
    expect(difference(await logits(plain, values), await logits(relaxed, shared))).toBeLessThan(1e-5);
  });

  it("keeps what a policy has learnt for the same policy only", () => {
    const from = languageModel({ ...sizes, depth: "2*2 route(token)" });
    const trained = initialise(from.parameters, 3);
    const onto = (depth: string) => sharedFrom(languageModel({ ...sizes, depth }), from, trained);
    expect(onto("4 route(token)").fresh).toEqual([]);
    expect(onto("4 halt").unused).toEqual(["router.weight", "router.bias"]);
    expect(onto("1 + 3 route(token)").fresh).toEqual(["router.weight", "router.bias"]);
    expect(onto("4*2 route(expert, capacity=1/1/1/1/0.5/0.5/0.5/0.5)").fresh).toEqual(["router.weight", "router.bias"]);
  });

  it("takes the embedding where a head was tied to it", () => {
    const target = languageModel({ ...sizes, depth: "2", tied: false });
    const head = target.parameters.find(({ name }) => name === "head.weight")!;
    const embedding = source.parameters.find(({ name }) => name === "embedding.weight")!;
    expect(sharedFrom(target, source, weights).weights.get(head.tensor)).toEqual(weights.get(embedding.tensor));
  });

  it("refuses a policy in memory", () => {
    const policy = languageModel({ vocabulary: 11, width: 8, length: 6, depth: source.policy });
    expect(() => sharedFrom(policy, source, weights)).toThrow("got a depth policy; make the model with a plan");
  });

  it("refuses models of other sizes", () => {
    const wider = languageModel({ ...sizes, width: 16, plan: [0, 0] });
    expect(() => sharedFrom(wider, source, weights)).toThrow(
      "sharedFrom / embedding.weight: expected [11,16] for embedding.weight, got [11,8]",
    );
  });
});
