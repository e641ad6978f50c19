import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import { cycle, cycleReverse } from "../../depth/plan.ts";
import { ortEngine } from "../../engine/ort.ts";
import { initialise } from "../../nn/index.ts";
import { type IdPair, packBatches } from "../../text/pairs/packing.ts";
import { adam } from "../../train/optimiser.ts";
import { TrainingStep } from "../../train/step.ts";
import { Translator } from "./beam.ts";
import { TranslationModel } from "./translation.ts";

const specials = { padId: 0, bosId: 1, eosId: 2 };
const VOCABULARY = 12;
const options = {
  vocabulary: VOCABULARY,
  width: 32,
  heads: 4,
  hidden: 64,
  encoderPlan: cycleReverse({ unique: 2, depth: 3 }),
  decoderPlan: cycle({ unique: 2, depth: 4 }),
  length: 16,
  dropout: 0,
};
const engine = await ortEngine({ threads: 1 });

/** Sentences of 3 to 6 pieces whose translation is the sentence backwards. */
function backwards(count: number): IdPair[] {
  const random = new RandomStream(5, "sentences");
  return Array.from({ length: count }, () => {
    const ids = Array.from({ length: 3 + random.integer(4) }, () => 3 + random.integer(VOCABULARY - 3));
    return { source: Int32Array.of(...ids, specials.eosId), target: Int32Array.from(ids.toReversed()) };
  });
}

async function lossOf(model: TranslationModel, pairs: readonly IdPair[], rows: number, length: number) {
  const { loss, inputs } = model.objective({ batch: rows, length, training: false });
  const program = await engine.compile({ outputs: { loss }, weights: initialise(model.parameters, 3) });
  const batches = packBatches(pairs, specials, { rows, length, seed: 1 });
  expect(Object.keys(inputs).sort()).toEqual(Object.keys(batches[0]!).sort());
  const losses: number[] = [];
  for (const batch of batches) losses.push((await program.run({ ...batch })).loss!.data[0]!);
  await program.release();
  return losses;
}

describe("the translation model", () => {
  it("has one table for source, target and output", () => {
    const names = new TranslationModel(options).parameters.map(({ name }) => name);
    expect(names.filter((name) => name.includes("embedding"))).toEqual(["embedding.weight"]);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain("decoder.layers.1.multihead_attn.in_proj_weight");
  });

  it("keeps packed sentences apart: the loss is that of each in a row of its own", async () => {
    const model = new TranslationModel(options);
    const pairs = backwards(4);
    const [packed] = await lossOf(model, pairs, 4, 16);
    const alone = await Promise.all(pairs.map(async (pair) => (await lossOf(model, [pair], 1, 8))[0]!));
    const pieces = pairs.map(({ target }) => target.length + 1);
    const total = alone.reduce((sum, loss, i) => sum + loss * pieces[i]!, 0);
    // Single precision over some 20 losses.
    expect(packed).toBeCloseTo(total / pieces.reduce((a, b) => a + b), 5);
  });

  it("smooths labels: a part of the target's probability goes to all pieces alike", async () => {
    const of = async (smoothing: number) => {
      const model = new TranslationModel({ ...options, smoothing });
      const { loss } = model.objective({ batch: 1, length: 16, training: true });
      const program = await engine.compile({ outputs: { loss }, weights: initialise(model.parameters, 3) });
      const losses: number[] = [];
      for (let label = 0; label < VOCABULARY; label++) {
        const { loss: found } = await program.run(oneRow(Int32Array.of(5, 6, specials.eosId), [label]));
        losses.push(found!.data[0]!);
      }
      await program.release();
      return losses;
    };
    const [exact, smoothed] = [await of(0), await of(0.2)];
    const uniform = exact.reduce((a, b) => a + b, 0) / VOCABULARY;
    // Single precision on both sides.
    smoothed.forEach((loss, label) => {
      expect(loss).toBeCloseTo(0.8 * exact[label]! + 0.2 * uniform, 5);
    });
  });

  it("decodes step by step what it computes at once: greedy choices are the likeliest pieces", async () => {
    const model = new TranslationModel(options);
    const weights = initialise(model.parameters, 3);
    const translator = await Translator.create(engine, model, weights, specials, { beam: 1 });
    const { loss } = model.objective({ batch: 1, length: 16, training: false });
    const program = await engine.compile({ outputs: { loss }, weights });
    const sources = backwards(2).map(({ source }) => source);
    const found = await translator.translate(sources);
    for (const [i, tokens] of found.entries()) {
      const prefix = tokens.slice(0, 3);
      const costs: number[] = [];
      for (let token = 0; token < VOCABULARY; token++) {
        const labels = [...prefix.slice(0, -1), token];
        costs.push((await program.run(oneRow(sources[i]!, labels))).loss!.data[0]!);
      }
      expect(costs.indexOf(Math.min(...costs))).toBe(prefix.at(-1));
    }
    await Promise.all([translator.release(), program.release()]);
  });

  it("learns to turn sentences round, and beams of any size then find them", async () => {
    const model = new TranslationModel({ ...options, normFirst: true, norm: true });
    const pairs = backwards(12);
    const parameters = model.parameters.map(({ tensor }) => tensor);
    const [batch] = packBatches(pairs, specials, { rows: 6, length: 16, seed: 1 });
    const step = await TrainingStep.create({
      engine,
      ...model.objective({ batch: 6, length: 16, training: true }),
      groups: [{ parameters, optimiser: adam({ beta2: 0.98 }) }],
      initial: initialise(model.parameters, 1),
      seed: 1,
    });
    for (let i = 0; i < 150; i++) await step.run({ ...batch! }, 3e-3);
    for (const beam of [1, 4]) {
      const translator = await Translator.create(engine, model, step.weights, specials, { beam });
      const found = await translator.translate(pairs.map(({ source }) => source));
      expect(found).toEqual(pairs.map(({ target }) => [...target]));
      await translator.release();
    }
    await step.release();
  });

  it.each<[object, string]>([
    [{ smoothing: 1 }, "translation model / smoothing: expected a number from 0 to below 1, got 1"],
    [{ layout: "batch-first" }, "translation model: expected options among width"],
    [{ vocabulary: undefined }, "translation model / vocabulary: expected a whole number from 1, got nothing"],
  ])("refuses %j", (wrong, message) => {
    expect(() => new TranslationModel({ ...options, ...wrong })).toThrow(message);
  });

  it.each<[object, string]>([
    [{ beam: 0 }, "beam search / beam: expected a whole number from 1, got 0"],
    [{ beams: 4 }, "beam search: expected options among beam, lengthPenalty, got beams; did you mean beam?"],
    [{ lengthPenalty: Number.NaN }, "beam search / lengthPenalty: expected a number, got NaN"],
  ])("refuses to search with %j", async (wrong, message) => {
    const model = new TranslationModel(options);
    const weights = initialise(model.parameters, 3);
    await expect(Translator.create(engine, model, weights, specials, wrong)).rejects.toThrow(message);
  });

  it("refuses special ids outside its vocabulary, and weights of another instance", async () => {
    const [model, other] = [new TranslationModel(options), new TranslationModel(options)];
    const create = (eosId: number) =>
      Translator.create(engine, model, initialise(other.parameters, 3), { ...specials, eosId });
    await expect(create(12)).rejects.toThrow("specials / eosId: expected a whole number from 0 to 11, got 12");
    await expect(create(2)).rejects.toThrow("got those of another instance");
  });

  it("refuses sentences longer than its positions", async () => {
    const model = new TranslationModel(options);
    const translator = await Translator.create(engine, model, initialise(model.parameters, 3), specials);
    await expect(translator.translate([new Int32Array(17)])).rejects.toThrow(
      "translation: expected 1 to 16 pieces per line, got 17 in line 1; split the line",
    );
    await translator.release();
  });
});

/** One sentence in a row, with given labels. */
function oneRow(source: Int32Array, labels: readonly number[]) {
  const row = (ids: ArrayLike<number>) => {
    const values = new Int32Array(16);
    values.set(ids);
    return values;
  };
  const count = (n: number) => row(Array.from({ length: n }, (_, i) => i));
  const ones = (n: number) => row(Array(n).fill(1));
  return {
    ...{ source: row(source), sourcePositions: count(source.length), sourceSegments: ones(source.length) },
    ...{ target: row([specials.bosId, ...labels.slice(0, -1)]), targetPositions: count(labels.length) },
    ...{ targetSegments: ones(labels.length), labels: row(labels) },
  };
}
