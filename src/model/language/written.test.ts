import { describe, expect, it } from "vitest";
import { difference, runOnce } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { input } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { exportConfig } from "./export.ts";
import { type LanguageModel, languageModel } from "./language.ts";

const sizes = { vocabulary: 9, width: 8, heads: 2, hidden: 16, length: 8 };
const text = [3, 7, 1, 8, 4, 4, 2];
const newer = { positions: "rotary", norm: "rms", keyHeads: 1, gated: true, bias: false } as const;

async function logitsOf(model: LanguageModel) {
  const weights = [...initialise(model.parameters, 1)].map(([{ attributes }, data]) => [attributes.name, data]);
  const feeds = { ids: Int32Array.from(text), ...Object.fromEntries(weights) };
  const logits = model.logits(input("ids", [1, text.length], "int"));
  return (await runOnce(referenceEngine(), { logits }, feeds)).logits!.data;
}

describe("a language model of a written depth", () => {
  it.each([
    ["3", { plan: [0, 1, 2] }],
    ["2*3", { plan: [0, 1, 0, 1, 0, 1] }],
    ["1 + 1*2 + 1", { plan: [0, 1, 1, 2] }],
    ["2 loop(3)", { plan: [0, 1, 0, 1, 0, 1] }],
    ["2*2 halt(ponder=0.1)", { plan: [0, 1, 0, 1], halting: { ponder: 0.1 } }],
    ["1*3 relax(2, norms)", { plan: [0, 0, 0], relax: { rank: 2, norms: true } }],
  ])("%s is the model of the plan that it stands for", async (depth, planned) => {
    const [written, other] = [languageModel({ ...sizes, depth }), languageModel({ ...sizes, ...planned })];
    expect(written.parameters.map(({ name }) => name)).toEqual(other.parameters.map(({ name }) => name));
    expect(await logitsOf(written)).toEqual(await logitsOf(other));
  });

  it.each([
    ["2 + 2*2 halt + 1", {}],
    ["(sf)x2", {}],
    ["s f:24 + (sf)*2", newer],
    ["1 + 1 loop(3, injection=add) + 1", newer],
  ])("%s is made again from its config, and reads token by token", async (depth, style) => {
    const model = languageModel({ ...sizes, ...style, depth });
    const again = languageModel(JSON.parse(JSON.stringify(exportConfig(model))));
    expect(again.options.depth).toBe(depth);
    const whole = await logitsOf(again);
    expect(whole).toEqual(await logitsOf(model));
    const decoder = await model.open(referenceEngine(), initialise(model.parameters, 1));
    expect(difference(await decoder.read(text), whole.slice(-sizes.vocabulary))).toBeLessThan(1e-5);
  });

  it.each([
    ["a plan beside it", { depth: "3", plan: [0] }, "got depth, heads, hidden, plan"],
    ["no heads", { depth: "3", heads: undefined }, "expected heads with either a plan or a depth in words"],
    ["words that nobody knows", { depth: "3 hlat" }, "write halt"],
  ])("is refused with %s", (_, options, message) => {
    expect(() => languageModel({ ...sizes, ...options } as never)).toThrow(message);
  });
});
