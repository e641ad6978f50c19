import { describe, expect, it } from "vitest";
import { finetuneSettings } from "../tasks/finetune/settings.ts";
import { glueTask } from "../text/labelled/glue-tasks.ts";
import { type SearchFlags, type Setting, searchSpec } from "./glue-search.ts";
import { planSweep } from "./sweep-plan.ts";

const { defaults } = finetuneSettings;
const spec = (flags: Partial<SearchFlags>, epochs?: number) =>
  searchSpec(glueTask("CoLA"), defaults, { strategy: "grid", ...flags }, epochs === undefined ? {} : { epochs });
const candidates = (flags: Partial<SearchFlags>) => Object.values(spec(flags).candidates!) as unknown as Setting[];

describe("the search for settings", () => {
  it("is the original's grid by default", async () => {
    const { seeds, settings, figure } = spec({});
    expect([candidates({}).length, candidates({})[0]]).toEqual([6, { rate: 5e-5, batch: 16 }]);
    expect([settings!.epochs, seeds, figure]).toEqual([4, 5, "matthews"]);
    const { settingsOf } = await planSweep(spec({}));
    expect(settingsOf(1, 0, 5)).toMatchObject({ rate: 5e-5, batch: 32, epochs: 4, seed: 5, keep: 1 });
  });

  it("draws rates between the lowest and the highest, the same each time", () => {
    const drawn = { strategy: "random", trials: 50, rates: [1e-5, 1e-3] };
    expect(candidates(drawn)).toEqual(candidates(drawn));
    const rates = candidates(drawn).map(({ rate }) => rate);
    expect([Math.min(...rates) >= 1e-5, Math.max(...rates) <= 1e-3]).toEqual([true, true]);
    // Half of the logarithms lie below the middle, ± 4 standard errors.
    expect(Math.abs(rates.filter((rate) => rate < 1e-4).length - 25)).toBeLessThan(4 * Math.sqrt(12.5));
  });

  it("halves the candidates while it doubles the epochs", async () => {
    const plan = await planSweep(spec({ strategy: "halving", trials: 5, seeds: 2, rates: [1e-4, 1e-2] }, 5));
    expect([0, 1, 2].map((round) => (plan.settingsOf(0, round, 1) as { epochs: number }).epochs)).toEqual([1, 2, 5]);
  });

  it("refuses settings that it decides itself, and unknown strategies", () => {
    const refused = () => searchSpec(glueTask("CoLA"), defaults, { strategy: "grid" }, { rate: 0.1 });
    expect(refused).toThrow("got --rate; use --rates");
    expect(() => spec({ strategy: "bayes" })).toThrow("--strategy: expected one of grid, random, halving, got bayes");
  });
});
