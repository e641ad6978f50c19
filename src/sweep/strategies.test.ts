import { describe, expect, it } from "vitest";
import { finetuneSettings } from "../tasks/finetune/settings.ts";
import { glueTask } from "../text/labelled/glue-tasks.ts";
import { planSearch, rounds, type SearchFlags, strategies, trialName } from "./strategies.ts";

const plan = (flags: Partial<SearchFlags>, epochs?: number) =>
  planSearch(
    glueTask("CoLA"),
    finetuneSettings.defaults,
    { strategy: "grid", parallel: 1, ...flags },
    epochs === undefined ? {} : { epochs },
  );

describe("the search for settings", () => {
  it("is the original's grid by default", () => {
    const { candidates, epochs, seeds } = plan({});
    expect([candidates.length, candidates[0], epochs, seeds]).toEqual([6, { rate: 5e-5, batch: 16 }, 4, 5]);
  });

  it("draws rates between the lowest and the highest, the same each time", () => {
    const { candidates } = plan({ strategy: "random", trials: 50, rates: [1e-5, 1e-3] });
    expect(candidates).toEqual(plan({ strategy: "random", trials: 50, rates: [1e-5, 1e-3] }).candidates);
    const rates = candidates.map(({ rate }) => rate);
    expect([Math.min(...rates) >= 1e-5, Math.max(...rates) <= 1e-3]).toEqual([true, true]);
    // Half of the logarithms lie below the middle, ± 4 standard errors.
    expect(Math.abs(rates.filter((rate) => rate < 1e-4).length - 25)).toBeLessThan(4 * Math.sqrt(12.5));
  });

  it("halves the candidates while it doubles the epochs", () => {
    const halving = plan({ strategy: "halving", trials: 5, seeds: 2, rates: [1e-4, 1e-2] }, 4);
    const waves = strategies.halving(halving);
    const results = new Map();
    const seen: [number, number][] = [];
    for (let wave = waves.next(); !wave.done; wave = waves.next(results)) {
      seen.push([wave.value[0]!.epochs, wave.value.length]);
      for (const trial of wave.value) {
        // The higher the rate the better, so that the best are known.
        const epochs = Array.from({ length: trial.epochs }, () => ({ figures: { matthews: trial.rate } }));
        results.set(trialName(trial), { epochs });
      }
      if (wave.value[0]!.epochs === 4) {
        const best = Math.max(...halving.candidates.map(({ rate }) => rate));
        expect(wave.value.some(({ rate }) => rate === best)).toBe(true);
      }
    }
    expect(seen).toEqual([
      [1, 10],
      [2, 6],
      [4, 4],
    ]);
    expect(rounds(5)).toEqual([1, 2, 5]);
  });

  it("leaves out candidates that diverge", () => {
    const halving = plan({ strategy: "halving", trials: 4, seeds: 1, rates: [1e-4, 1e-2] }, 2);
    const waves = strategies.halving(halving);
    const first = waves.next().value!;
    const good = trialName(first[2]!);
    const results = new Map(
      first.map((trial) => [trialName(trial), { task: "CoLA", metric: "matthews", epochs: [], best: 0 }]),
    );
    results.set(good, {
      ...results.get(good)!,
      epochs: [{ epoch: 1, step: 1, loss: 1, figures: { matthews: -1 } }] as never,
    });
    expect(waves.next(results).value).toEqual([{ ...first[2]!, epochs: 2 }]);
  });

  it("refuses settings that it decides itself, and unknown strategies", () => {
    const given = { rate: 0.1 };
    const flags = { strategy: "grid", parallel: 1 };
    expect(() => planSearch(glueTask("CoLA"), finetuneSettings.defaults, flags, given)).toThrow(
      "got --rate; use --rates",
    );
    expect(() => plan({ strategy: "bayes" })).toThrow("--strategy: expected one of grid, random, halving, got bayes");
  });
});
