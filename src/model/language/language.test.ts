import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import { difference, runOnce } from "../../engine/engine.contract.ts";
import type { Numbers } from "../../engine/engine.ts";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { gradients, input, simplify, type Tensor } from "../../graph/index.ts";
import { type BlockStyle, initialise } from "../../nn/index.ts";
import { type LanguageModel, languageModel, type TextSizes } from "./language.ts";

const options = { vocabulary: 11, width: 8, heads: 2, plan: [0, 1, 0], length: 5 };
/** Everything that newer blocks have. */
const newer: typeof options & Partial<TextSizes> & BlockStyle = {
  ...options,
  width: 16,
  heads: 4,
  positions: "rotary",
  rotaryBase: 100,
  tied: false,
  norm: "rms",
  keyHeads: 2,
  queryKeyNorm: true,
  gated: true,
  bias: false,
};
const styles = { "the first style": options, "newer style": newer };
const [BATCH, LENGTH] = [2, 4];
const oracle = referenceEngine({ precision: "double" });

/** First values of all weights by name, twenty times as large as for training so that nothing is close to linear. */
function weightsOf(model: LanguageModel): Record<string, Float64Array> {
  const entries = [...initialise(model.parameters, 1)].map(([{ attributes }, values]) => {
    const scale = attributes.shape.length > 1 ? 20 : 1;
    return [attributes.name, Float64Array.from(values, (value) => scale * value)] as const;
  });
  return Object.fromEntries(entries);
}

function tokens(name: string): Int32Array {
  const random = new RandomStream(1, name);
  return Int32Array.from({ length: BATCH * LENGTH }, () => random.integer(options.vocabulary));
}
const batch = { ids: tokens("ids"), targets: tokens("targets") };

/** Loss and gradients of all parameters, by name. */
function trainingOutputs(model: LanguageModel): Record<string, Tensor> {
  const { loss } = model.objective({ batch: BATCH, length: LENGTH, training: false });
  const found = gradients(
    loss,
    model.parameters.map(({ tensor }) => tensor),
  );
  return { loss, ...Object.fromEntries(model.parameters.map(({ name }, i) => [`d ${name}`, found[i]!])) };
}

const single = (weights: Record<string, Float64Array>): Record<string, Numbers> =>
  Object.fromEntries(Object.entries(weights).map(([name, values]) => [name, Float32Array.from(values)]));

describe("a language model", () => {
  it("gives logits for every token and a scalar loss", () => {
    const model = languageModel(options);
    expect(model.logits(input("ids", [BATCH, LENGTH], "int")).shape).toEqual([BATCH, LENGTH, 11]);
    expect(model.objective({ batch: BATCH, length: LENGTH, training: true }).loss.shape).toEqual([]);
  });

  it("starts near the loss of guessing", async () => {
    const model = languageModel(options);
    const weights = Object.fromEntries(
      [...initialise(model.parameters, 1)].map(([p, data]) => [p.attributes.name, data]),
    );
    const { loss } = model.objective({ batch: BATCH, length: LENGTH, training: false });
    const found = await runOnce(oracle, { loss }, { ...weights, ...batch });
    expect(Math.abs(found.loss!.data[0]! - Math.log(11))).toBeLessThan(0.1);
  });

  it("has the parameters of its distinct blocks, whatever its depth", () => {
    const count = (plan: number[]) => languageModel({ ...options, plan }).parameters.length;
    expect(count([0, 0, 0, 0])).toBe(count([0]));
    expect(count([0, 1, 0])).toBe(count([0]) + 12);
  });

  it.each(Object.entries(styles))("in %s does not let later tokens touch earlier logits", async (_, given) => {
    const model = languageModel(given);
    const logits = model.logits(input("ids", [BATCH, LENGTH], "int"));
    const weights = weightsOf(model);
    const at = (ids: Int32Array) => runOnce(oracle, { logits }, { ...weights, ids });
    const [before, after] = [await at(batch.ids), await at(batch.ids.with(2, (batch.ids[2]! + 1) % 11))];
    const rowOf = (found: typeof before, i: number) => [...found.logits!.data.subarray(i * 11, (i + 1) * 11)];
    for (const i of [0, 1, 4, 5, 6, 7]) expect(rowOf(after, i)).toEqual(rowOf(before, i));
    for (const i of [2, 3]) expect(rowOf(after, i)).not.toEqual(rowOf(before, i));
  });

  it("gives the same logits at named and at known batch and length", async () => {
    const model = languageModel(options);
    const weights = single(weightsOf(model));
    const known = model.logits(input("ids", [BATCH, LENGTH], "int"));
    const named = model.logits(input("ids", ["B", "T"], "int"));
    const ids = { data: batch.ids, shape: [BATCH, LENGTH] };
    for (const engine of [oracle, await ortEngine({ threads: 1 })]) {
      const expected = await runOnce(engine, { logits: known }, { ...weights, ids });
      const actual = await runOnce(engine, { logits: named }, { ...weights, ids });
      expect(actual.logits!.shape).toEqual([BATCH, LENGTH, 11]);
      // The same products in the same order, but a runtime may cut them otherwise where lengths are named.
      expect(difference(actual.logits!.data, expected.logits!.data)).toBeLessThan(1e-6);
    }
  });

  it.each(Object.entries(styles))(
    "in %s computes on ONNX Runtime what the reference engine computes, every gradient included",
    async (_, given) => {
      const model = languageModel(given);
      const feeds = { ...single(weightsOf(model)), ...batch };
      const outputs = trainingOutputs(model);
      const simple = simplify(Object.values(outputs));
      const simplified = Object.fromEntries(Object.keys(outputs).map((name, i) => [name, simple[i]!]));
      const expected = await runOnce(oracle, outputs, feeds);
      const actual = await runOnce(await ortEngine({ threads: 2 }), simplified, feeds);
      for (const name of Object.keys(outputs)) {
        expect(actual[name]!.shape).toEqual(expected[name]!.shape);
        // Single precision through three blocks; values of order 1.
        expect(difference(actual[name]!.data, expected[name]!.data), name).toBeLessThan(2e-5);
      }
    },
  );
});

describe("sharing", () => {
  it("gives a block that runs twice the sum of the gradients of its uses", async () => {
    const shared = languageModel(options);
    const apart = languageModel({ ...options, plan: [0, 1, 2] });
    const weights = weightsOf(shared);
    const copies = Object.entries(weights).map(([name, values]) => [name.replace("blocks.0", "blocks.2"), values]);
    const together = await runOnce(oracle, trainingOutputs(shared), { ...weights, ...batch });
    const separate = await runOnce(oracle, trainingOutputs(apart), {
      ...weights,
      ...Object.fromEntries(copies),
      ...batch,
    });
    expect(separate.loss!.data[0]).toBe(together.loss!.data[0]);
    for (const { name } of shared.parameters.filter((each) => each.name.startsWith("blocks.0"))) {
      const second = separate[`d ${name.replace("blocks.0", "blocks.2")}`]!.data;
      const sum = Float64Array.from(separate[`d ${name}`]!.data, (value, i) => value + second[i]!);
      expect(difference(together[`d ${name}`]!.data, sum), name).toBeLessThan(1e-12);
    }
  });

  it.each(Object.entries(styles))(
    "in %s gives gradients that equal central differences, for every parameter",
    async (_, given) => {
      const model = languageModel(given);
      const weights = weightsOf(model);
      const outputs = trainingOutputs(model);
      const found = await runOnce(oracle, outputs, { ...weights, ...batch });
      const program = await oracle.compile({ outputs: { loss: outputs.loss! } });
      const lossAt = async (name: string, i: number, step: number) => {
        const moved = weights[name]!.with(i, weights[name]![i]! + step);
        return (await program.run({ ...weights, ...batch, [name]: moved })).loss!.data[0]!;
      };
      const h = 1e-6;
      for (const [name, values] of Object.entries(weights)) {
        for (const i of new Set([0, Math.floor(values.length / 2), values.length - 1])) {
          const slope = ((await lossAt(name, i, h)) - (await lossAt(name, i, -h))) / (2 * h);
          // Rounding (1e-16 / h), and h² times a third derivative that reaches (1 / 0.02)³ where a norm sees first weights.
          expect(Math.abs(found[`d ${name}`]!.data[i]! - slope), `${name} ${i}`).toBeLessThan(1e-7);
        }
      }
    },
  );
});

describe("mistakes in a language model", () => {
  it.each([
    [[0, 2], "[0,2] without 1"],
    [[], "none"],
    [[1, 1], "[1,1] without 0"],
    [[0, 0.5], "[0,0.5]"],
    [[0, -1], "[0,-1]"],
  ])("plan %j names the blocks that are missing", (plan, got) => {
    expect(() => languageModel({ ...options, plan })).toThrow(
      `plan: expected block numbers 0, 1, … with none left out, got ${got}; number the blocks from 0 without gaps`,
    );
  });

  it("a width that heads do not divide names the first block", () => {
    expect(() => languageModel({ ...options, width: 30, heads: 4 })).toThrow(
      "blocks.0: expected a width divisible by heads, got width 30, heads 4; set width to 32",
    );
  });

  it("heads of keys that do not divide the heads, and a base without rotary positions, are refused", () => {
    expect(() => languageModel({ ...newer, keyHeads: 3 })).toThrow("keyHeads: expected a divisor of 4 heads, got 3");
    expect(() => languageModel({ ...options, rotaryBase: 100 })).toThrow("expected rotary positions, got learned ones");
    expect(() => languageModel({ ...newer, width: 12 })).toThrow("rotary: expected heads of an even width, got 3");
  });

  it("a text longer than the positions is refused when built", () => {
    const build = () => languageModel(options).objective({ batch: 1, length: 6, training: false });
    expect(build).toThrow("expected a range within 0 … 5, got 0 … 6");
  });
});
