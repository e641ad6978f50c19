import { describe, expect, it } from "vitest";
import { difference } from "../../engine/engine.contract.ts";
import type { Engine, Feeds } from "../../engine/engine.ts";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { simplifyNamed } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { sgd } from "../../train/optimiser.ts";
import { TrainingStep } from "../../train/step.ts";
import type { Weights } from "../weights.ts";
import { type AlbertOptions, albert } from "./albert.ts";
import { blockEncoder } from "./block-encoder.ts";
import type { AlbertDescription } from "./description.ts";
import { albertObjective, textInputs } from "./heads.ts";
import { EncoderSupernet } from "./supernet.ts";

const sizes: AlbertOptions = { vocabulary: 20, width: 8, heads: 2, embedding: 6, hidden: 12, depth: 3, length: 6 };
const description: AlbertDescription = {
  model: { ...sizes, blocks: 3 },
  heads: { maskedLanguage: { predictions: 2 } },
};
const [batch, length] = [2, 6];
const texts = {
  ids: Int32Array.from({ length: batch * length }, (_, i) => (7 * i + 3) % 20),
  mask: Int32Array.from({ length: batch * length }, (_, i) => Number(i % length < 5)),
  types: new Int32Array(batch * length),
};
const oracle = referenceEngine({ precision: "double" });

/** Weights in which π prefers the given places, by so much. */
function weightsOf(supernet: EncoderSupernet, places: readonly number[], strength: number): Weights {
  const weights = new Map(
    [...initialise(supernet.parameters, 1)].map(([tensor, data]) => [
      tensor,
      data.map((value, i) => 5 * value + 0.05 * Math.sin(i)),
    ]),
  );
  for (const [i, place] of places.entries()) {
    weights.set(supernet.policy.distribution(i)!.tensor, new Float32Array(3).with(place, strength));
  }
  return weights;
}

async function sequenceOf(
  engine: Engine,
  of: Pick<EncoderSupernet, "described">,
  weights: Weights,
  given: Feeds = texts,
) {
  const { sequence } = of.described.model.encode(textInputs({ batch, length }));
  const program = await engine.compile({ outputs: simplifyNamed({ sequence }), weights });
  const { data } = (await program.run(given)).sequence!;
  await program.release();
  return [...data];
}

describe("an encoder of searched blocks", () => {
  const supernet = new EncoderSupernet(description);

  it("computes on ONNX Runtime what the reference engine computes", async () => {
    const weights = weightsOf(supernet, [0, 1, 2], 0.4);
    const [ours, theirs] = [
      await sequenceOf(await ortEngine({ threads: 1 }), supernet, weights),
      await sequenceOf(oracle, supernet, weights),
    ];
    expect(difference(ours, theirs)).toBeLessThan(1e-4);
  });

  it("is the found network where π has decided, and another one where it has not", async () => {
    const decided = weightsOf(supernet, [0, 1, 2], 60);
    const found = supernet.found(decided, "sfi");
    expect(found.description.model).toMatchObject({ blocks: "sfi" });
    const [whole, own] = [await sequenceOf(oracle, supernet, decided), await sequenceOf(oracle, found, found.weights)];
    expect(difference(whole, own)).toBeLessThan(1e-6);
    const open = weightsOf(supernet, [0, 1, 2], 0.5);
    expect(difference(await sequenceOf(oracle, supernet, open), own)).toBeGreaterThan(1e-2);
  });

  it("keeps names and weights when candidates are cut", () => {
    const narrow = supernet.narrowed([[0], [1, 2], [2]]);
    const names = new Set(supernet.parameters.map(({ name }) => name));
    expect(narrow.parameters.every(({ name }) => names.has(name))).toBe(true);
    expect(narrow.alive).toEqual([[0], [1, 2], [2]]);
    expect(narrow.parameters.filter(({ role }) => role === "architecture").map(({ name }) => name)).toEqual([
      "encoder.blocks.1.pi",
    ]);
  });

  it("looks in both directions, and never at padding", async () => {
    const weights = weightsOf(supernet, [0, 0, 0], 3);
    const before = await sequenceOf(oracle, supernet, weights);
    const at = (values: readonly number[], token: number) => values.slice(8 * token, 8 * token + 8);
    const changed = async (token: number) => {
      const ids = texts.ids.with(token, (texts.ids[token]! + 1) % 20);
      return sequenceOf(oracle, supernet, weights, { ...texts, ids });
    };
    expect(difference(at(await changed(5), 0), at(before, 0))).toBe(0); // padding
    expect(difference(at(await changed(4), 0), at(before, 0))).toBeGreaterThan(1e-3);
    expect(difference(at(await changed(0), 4), at(before, 4))).toBeGreaterThan(1e-3);
  });

  it("has the gradient that differences of its loss say, of π too", async () => {
    const { model, heads } = supernet.described;
    const parameters = supernet.parameters.map(({ tensor }) => tensor);
    const weights = weightsOf(supernet, [0, 1, 2], 0.4);
    const step = await TrainingStep.create({
      engine: oracle,
      ...albertObjective(model, [heads.maskedLanguage!], { batch, length, predictions: 2, training: false }),
      noise: [],
      groups: [{ parameters, optimiser: sgd() }],
      initial: weights,
      seed: 1,
    });
    const given = { ...texts, maskedPositions: [1, 2, 0, 3], maskedLabels: [4, 5, 6, 7], maskedWeights: [1, 1, 1, 0] };
    const lossAt = (name: string, place: number, change: number) => {
      const tensor = parameters.find(({ attributes }) => attributes.name === name)!;
      step.weights.get(tensor)![place]! += change;
      return step.differentiate(step.inputsAmong<ArrayLike<number>>({ ...given, temperature: [1] }));
    };
    await lossAt("encoder.blocks.0.pi", 0, 0);
    const gradients = new Map([...step.gradients].map(([{ attributes }, data]) => [attributes.name, data.slice()]));
    for (const name of [
      "encoder.blocks.0.pi",
      "encoder.blocks.2.pi",
      "encoder.blocks.0.attention.qkv.weight",
      "encoder.blocks.1.dense.up.weight",
      "encoder.norm.weight",
    ]) {
      const h = 1e-2;
      const up = await lossAt(name, 1, h);
      const down = await lossAt(name, 1, -2 * h);
      await lossAt(name, 1, h);
      // Weights are float32, the step is large: second-order errors and rounding of about 1e-5.
      expect(Math.abs((up - down) / (2 * h) - gradients.get(name)![1]!)).toBeLessThan(2e-4);
    }
    expect(gradients.has("encoder.blocks.0.attention.qkv.weight")).toBe(true);
  });
});

describe("mistakes in an encoder of blocks", () => {
  it.each<[Partial<AlbertOptions>, string]>([
    [
      { blocks: "sf", halting: {} },
      "ALBERT / blocks: expected blocks that own their weights and run once, got halting",
    ],
    [{ blocks: "sf", groups: 2 }, "got groups"],
    [{ blocks: "sf", lora: { rank: 2 } }, "got lora"],
    [{ blocks: "sf", searched: {} }, "ALBERT / searched: expected a number of blocks, got the pattern sf"],
    [{ blocks: 0 }, "blocks: expected a whole number from 1"],
    [{ blocks: "s:3" }, "expected a width divisible by heads"],
    [{ blocks: 2, searched: { temperature: 3 } as object }, "ALBERT / searched"],
  ])("%j throws when the model is built", (change, message) => {
    expect(() => blockEncoder({ ...sizes, ...change })).toThrow(message);
  });

  it("names the function that builds it, and the number that it needs", () => {
    expect(() => albert({ ...sizes, blocks: "sf" })).toThrow("call blockEncoder(options) instead");
    expect(() => blockEncoder(sizes)).toThrow("blocks: expected a pattern, or how many blocks to search, got none");
  });
});
