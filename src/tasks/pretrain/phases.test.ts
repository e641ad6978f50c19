import { describe, expect, it } from "vitest";
import { phasedSchedule, phaseStarts, phasesOf } from "./phases.ts";
import { pretrainSettings } from "./settings.ts";

const config = (values: Parameters<typeof pretrainSettings.resolve>[0][0]["values"]) =>
  pretrainSettings.resolve([{ source: "test", values }]);

describe("phases of pre-training", () => {
  it("give the published models 4,096 texts an update in both, and a tenth of the updates to the second", () => {
    const base = config(pretrainSettings.preset("base").values);
    expect(phasesOf(base).map(({ length, batch, accumulate }) => [length, batch * accumulate])).toEqual([
      [128, 4096],
      [512, 4096],
    ]);
    expect(phaseStarts(base, 125_000)).toEqual([0, 112_500]);
  });

  it("have τ · L constant in the published models", () => {
    const products = ["tiny", "small", "base"].map((name) => {
      const { ponder, depth } = pretrainSettings.presets[name]!;
      return ponder! * Number(depth);
    });
    for (const product of products) expect(product).toBeCloseTo(6e-3, 12);
  });

  it("keep the tokens of a batch in the second", () => {
    const [first, second] = phasesOf(config({ length: 64, batch: 32, longLength: 256 }));
    expect(second!.batch * second!.length).toBe(first.batch * first.length);
  });

  it("begin with next words where asked, at every place of a text", () => {
    const settings = config({ length: 64, batch: 32, longLength: 256, causalShare: 0.5, longShare: 0.2 });
    expect(phasesOf(settings).map(({ task, predictions }) => [task, predictions])).toEqual([
      ["next", 63],
      ["masked", 10],
      ["masked", 39],
    ]);
    expect(phaseStarts(settings, 1000)).toEqual([0, 500, 800]);
    const longer = config({ length: 64, documentShare: 0.3, causalShare: 0.5 });
    expect(phasesOf(longer).map(({ task }) => task)).toEqual(["document", "next", "masked"]);
    expect(phaseStarts(longer, 1000)).toEqual([0, 300, 800]);
  });

  it("give words of documents batches and rates of their own, and begin the rates of texts anew", () => {
    const settings = config({
      batch: 32,
      documentShare: 0.5,
      documentBatch: 64,
      documentRate: 0.1,
      rate: 1,
      warmup: 0,
    });
    const phases = phasesOf(settings);
    expect(phases.map(({ task, batch }) => [task, batch])).toEqual([
      ["document", 64],
      ["masked", 32],
    ]);
    const rate = phasedSchedule(settings, phases, 100);
    expect([rate(0), rate(49) < 0.01, rate(50), rate(99) < 0.1]).toEqual([0.1, true, 1, true]);
  });

  it("warm up and decay one after the other", () => {
    const settings = config({ longLength: 256, longShare: 0.5, rate: 1, longRate: 0.5, warmup: 0.1, longWarmup: 2 });
    const rate = phasedSchedule(settings, phasesOf(settings), 200);
    expect([rate(9), rate(99) < 0.02, rate(100), rate(101), rate(199) < 0.01]).toEqual([1, true, 0.25, 0.5, true]);
  });
});
