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
      expect([found.unused, found.fresh]).toEqual([[], []]);
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

  it("refuses models of other sizes", () => {
    const wider = languageModel({ ...sizes, width: 16, plan: [0, 0] });
    expect(() => sharedFrom(wider, source, weights)).toThrow(
      "sharedFrom / embedding.weight: expected [11,16] for embedding.weight, got [11,8]",
    );
  });
});
