import { describe, expect, it } from "vitest";
import { checkConfig } from "./checks.ts";
import { type SearchConfig, searchDefaults } from "./settings.ts";

describe("settings of a search that cannot be meant", () => {
  it.each<[Partial<SearchConfig>, string]>([
    [{ rate: 0 }, "rate: expected a number above 0, got 0"],
    [{ rate: Number.NaN }, "rate: expected a number above 0, got NaN"],
    [{ architectureRate: -1 }, "architectureRate: expected a number from 0, got -1"],
    [{ beta2: 1 }, "beta2: expected a number from 0 to below 1, got 1"],
    [{ clipNorm: 0 }, "clipNorm: expected a number above 0, got 0"],
    [{ floor: 2 }, "floor: expected a number from 0 to 1, got 2"],
    [{ freeze: 1.5 }, "freeze: expected a number from 0 to 1, got 1.5"],
    [{ cut: 0.4 }, "cut: expected a number above 0.5 to below 1, got 0.4"],
    [{ settle: [0.5, 0.2] }, "settle: expected two fractions of the updates"],
    [{ settle: [0.2, 0.5], cut: null }, "settle: expected a search that cuts candidates, got no cut"],
    [{ settle: null, decide: 0.8, cut: null }, "decide: expected a search that cuts candidates, got no cut"],
    [{ temperatureEnd: 0 }, "temperatureEnd: expected a number above 0, got 0"],
    [{ steps: 2, epochs: 1 }, "search: expected --steps or --epochs, got both"],
    [{ budgetWeight: 0 }, "budgetWeight: expected a number above 0, got 0"],
    [{ budget: "cheap" }, "budget: expected milliseconds above 0"],
    [{ budget: "0.5", blocks: "sf" }, "budget: expected blocks to choose, got a pattern"],
  ])("%j are refused", (change, message) => {
    expect(() => checkConfig({ ...searchDefaults, ...change })).toThrow(message);
  });

  it("do not include the defaults, nor what is left open", () => {
    expect(() => checkConfig(searchDefaults)).not.toThrow();
    expect(() =>
      checkConfig({ ...searchDefaults, cut: null, budget: "0.5", settle: null, decide: null }),
    ).not.toThrow();
  });
});
