import { beforeAll, describe, expect, it } from "vitest";
import type { Engine } from "../../engine/engine.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { parModel } from "../../model/par/par.ts";
import { loopOptions } from "../../train/train.ts";
import { clippingOf, courseOf, groupsOf } from "./course.ts";
import { optionsOf } from "./parts.ts";
import { filledIn, retrainSettings, type SearchConfig, searchSettings } from "./settings.ts";
import { trainOptions } from "./stage.ts";

let engine: Engine;
beforeAll(() => {
  engine = referenceEngine();
});

/** Batches of WikiText-2 as the original's files have them. */
const PER_EPOCH = 2825;

function opened(preset: string, given: Partial<SearchConfig> = {}) {
  const settings = searchSettings.resolve([searchSettings.preset(preset), { source: "test", values: given }]);
  const course = courseOf(settings, PER_EPOCH);
  const filled = filledIn(settings, 12_000, course.total);
  const batches = { count: PER_EPOCH, at: () => ({}) };
  const train = trainOptions({ settings: filled, engine, batches: { train: batches, valid: batches } } as never);
  return { settings: filled, course, rateAt: loopOptions(train).schedule(course.total) };
}

describe("the preset par-original", () => {
  const { settings, course, rateAt } = opened("par-original");

  it("has the original's model and length", () => {
    expect(optionsOf(settings, 12_000)).toMatchObject({
      ...{ width: 128, heads: 4, hidden: 512, blocks: 6, memory: 16, dropout: 0.1, cutoffs: [250, 2500] },
      ...{ projectionFactor: 4, straightThrough: false, compat: "original", adaptiveInput: false },
    });
    expect([settings.batch, settings.length, settings.accumulate, course.total]).toEqual([32, 32, 1, 56_500]);
    expect([course.frozen, settings.cut, settings.settle]).toEqual([0, null, null]);
  });

  it("has its learning rate: 0 at first, 1e-4 after 4,000 updates, a cosine to 0", () => {
    const total = course.total;
    const cosine = (step: number) => 0.5e-4 * (1 + Math.cos((Math.PI * (step - 4000)) / (total - 4000)));
    expect([rateAt(0), rateAt(2000), rateAt(4000)]).toEqual([0, 5e-5, 1e-4]);
    expect(rateAt(30_000)).toBeCloseTo(cosine(30_000), 12);
    expect(rateAt(total)).toBeCloseTo(0, 12);
  });

  it("has its temperature: 1 · 0.1^(step / steps)", () => {
    const { temperature } = parModel({ ...optionsOf(settings, 300), cutoffs: [40] }).policy.scalars;
    expect([0, 500, 1000].map((step) => temperature!.at(step, 1000))).toEqual([1, 0.1 ** 0.5, 0.1]);
  });

  it("moves everything by Keras's Adam at one rate, unclipped and without decay", () => {
    const groups = groupsOf(parModel({ ...optionsOf(settings, 300), cutoffs: [40] }), settings, course, engine);
    const filled = groups.filter(({ parameters }) => parameters.length > 0);
    for (const { optimiser, rateFactor = 1, active } of filled) {
      expect(optimiser.rule).toMatchObject({ kind: "adam", beta1: 0.9, beta2: 0.999, epsilon: 1e-7 });
      expect(optimiser.rule).toMatchObject({ correction: "rate", weightDecay: 0, decoupled: false });
      expect([rateFactor, active?.(1) ?? true]).toEqual([1, true]);
    }
    expect(filled.flatMap(({ parameters }) => parameters).map(({ attributes }) => attributes.name)).toContain(
      "blocks.0.pi",
    );
    expect(clippingOf(settings)).toEqual({});
  });

  it("is evaluated with noise, on its batches, every epoch", () => {
    expect(settings).toMatchObject({ noisyEvaluation: true, originalBatches: true, evaluateEvery: PER_EPOCH, keep: 5 });
  });
});

describe("the preset par-paper", () => {
  const { settings, course } = opened("par-paper");

  it("freezes π for 10,000 updates, then gives it a fifth of each turn", () => {
    expect([course.total, course.frozen, course.alternates]).toEqual([50_000, 10_000, true]);
    const moved = Array.from({ length: 40_000 }, (_, i) => course.phases!.architecture(10_001 + i));
    expect(moved.filter(Boolean).length / 40_000).toBeCloseTo(0.2, 2);
    expect(course.phases!.architecture(10_000)).toBe(false);
  });

  it("has the paper's rates and decays, apart for weights and π", () => {
    const small = { ...settings, blocks: 2 };
    const groups = groupsOf(parModel({ ...optionsOf(small, 300), cutoffs: [40] }), small, course, engine);
    const [matrices] = groups;
    const { optimiser: ofPi, rateFactor } = groups.at(-1)!;
    expect([settings.rate, settings.rate * rateFactor!]).toEqual([0.01, 0.01]);
    expect(matrices!.optimiser.rule).toMatchObject({ kind: "lamb", weightDecay: 1e-4 });
    expect(ofPi.rule).toMatchObject({ kind: "adam", weightDecay: 5e-4 });
  });
});

describe("presets of a retraining", () => {
  it("are those of a search, as far as an ordinary network has their settings", () => {
    expect(Object.keys(retrainSettings.presets)).toEqual(Object.keys(searchSettings.presets));
    expect(retrainSettings.presets["par-original"]).toMatchObject({ optimiser: "adam", schedule: "par-original" });
    expect(retrainSettings.presets["par-original"]).not.toHaveProperty("noisyEvaluation");
  });
});
