import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import { difference } from "../../engine/engine.contract.ts";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { input, simplifyNamed } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { adam } from "../../train/optimiser.ts";
import { TrainingStep } from "../../train/step.ts";
import { boundWeights, type Weights } from "../weights.ts";
import { untied } from "./found.ts";
import { type ParModel, type ParOptions, parModel } from "./par.ts";

const base: ParOptions = { vocabulary: 30, width: 8, heads: 2, hidden: 12, blocks: "sf", memory: 3, tied: true };
const forms: [string, Partial<ParOptions>][] = [
  ["a plain softmax", {}],
  ["the head of an adaptive softmax", { cutoffs: [6, 15] }],
  ["all clusters of an adaptive softmax", { cutoffs: [6, 15], adaptiveInput: true }],
];
const [batch, length] = [2, 4];
const random = new RandomStream(1, "tokens");
const draw = () => Int32Array.from({ length: batch * length }, () => random.integer(30));
const [ids, targets] = [draw(), draw()];

function weightsOf(model: ParModel): Weights {
  const first = [...initialise(model.parameters, 1)];
  return new Map(first.map(([tensor, data]) => [tensor, data.map((value, i) => 3 * value + 0.05 * Math.sin(i))]));
}

/** Loss and gradients by name. */
async function differentiated(model: ParModel, weights: Weights) {
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const step = await TrainingStep.create({
    engine: await ortEngine({ threads: 1 }),
    ...model.objective({ batch, length, training: false }),
    noise: [],
    groups: [{ parameters, optimiser: adam() }],
    initial: weights,
    seed: 1,
  });
  const loss = await step.differentiate({ ids, targets, missing: [3], ...model.rowsOf(targets) });
  const gradients = new Map([...step.gradients].map(([{ attributes }, data]) => [attributes.name, data.slice()]));
  await step.release();
  return { loss, gradients };
}

/** The gradient of vectors that two tables have, added up: rows of the softmax come first in both. */
const summed = (a: Float32Array, b: Float32Array) => a.map((value, i) => value + (b[i] ?? 0));

describe.each(forms)("shared vectors in %s", (_, form) => {
  const model = parModel({ ...base, ...form });
  const weights = weightsOf(model);
  const copy = untied({ model, weights });

  it("give the words that two tables of the same numbers give, and their probabilities sum to one", async () => {
    const probabilities = async (of: typeof copy, engine = referenceEngine()) => {
      const hidden = of.model.segment(input("ids", [batch, length], "int"), { batch, length, memory: 0 }).hidden;
      const outputs = simplifyNamed({ logs: of.model.words.logProbabilities(hidden) });
      const program = await engine.compile({ outputs, weights: boundWeights(of.model, of.weights) });
      const { logs } = await program.run({ ids });
      return [...logs!.data];
    };
    const shared = await probabilities({ model, weights });
    expect(difference(shared, await probabilities(copy))).toBeLessThan(1e-6);
    expect(difference(shared, await probabilities({ model, weights }, await ortEngine({ threads: 1 })))).toBeLessThan(
      1e-5,
    );
    const sums = Array.from({ length: batch * length }, (_, i) =>
      shared.slice(30 * i, 30 * (i + 1)).reduce((sum, log) => sum + Math.exp(log), 0),
    );
    for (const sum of sums) expect(sum).toBeCloseTo(1, 5);
  });

  it("have the gradient of both uses", async () => {
    const [shared, apart] = [await differentiated(model, weights), await differentiated(copy.model, copy.weights)];
    expect(shared.loss).toBeCloseTo(apart.loss, 6);
    const pairs = [
      ["embedding.weight", form.cutoffs ? "softmax.head.weight" : "softmax.weight"],
      ["embedding.head.weight", "softmax.head.weight"],
      ["embedding.tails.0.weight", "softmax.tails.0.output.weight"],
      ["embedding.tails.1.weight", "softmax.tails.1.output.weight"],
    ].filter(([table]) => shared.gradients.has(table!));
    expect(pairs.length).toBeGreaterThan(0);
    for (const [table, head] of pairs) {
      const [own, other] = [apart.gradients.get(table!)!, apart.gradients.get(head!)!];
      const slots = shared.gradients.get("softmax.head.slots");
      const words = head === "softmax.head.weight" ? other.subarray(0, other.length - slots!.length) : other;
      expect(difference(shared.gradients.get(table!)!, summed(own, words))).toBeLessThan(1e-5);
      if (head === "softmax.head.weight") expect(difference(slots!, other.subarray(words.length))).toBeLessThan(1e-5);
    }
  });

  it("are stored once", () => {
    const count = (parameters: ParModel["parameters"]) =>
      parameters.reduce((sum, { tensor }) => sum + tensor.attributes.shape.reduce((a, b) => a * b, 1), 0);
    expect(count(model.parameters)).toBeLessThan(count(copy.model.parameters));
  });
});

describe("attention that drops probabilities", () => {
  it("draws a mask for each of them, in training alone", () => {
    const masks = (options: Partial<ParOptions>) =>
      parModel({ ...base, tied: undefined, ...options })
        .objective({ batch, length, training: true })
        .noise.map(({ tensor }) => tensor.shape.join());
    expect(masks({})).toEqual([]);
    expect(masks({ attentionDropout: 0.25 })).toEqual(["2,2,4,7"]); // heads, rows, queries, keys
  });

  it("is refused above 1", () => {
    expect(() => parModel({ ...base, attentionDropout: 1 })).toThrow("attentionDropout: expected a rate from 0");
  });
});
