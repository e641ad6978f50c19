import { describe, expect, it } from "vitest";
import { frontAgreement, frontAgreementText } from "./agreement.ts";
import type { Front, FrontNetwork } from "./front.ts";

const network = (pattern: string, ms: number, perplexity: number): FrontNetwork => {
  return { pattern, ms, ratio: ms / 10, parameters: 1, perplexity };
};
const frontOf = (networks: readonly FrontNetwork[], finalists: readonly FrontNetwork[], targetMs: number | null) => ({
  ...{ networks, finalists, chosen: networks[0]!.pattern, baselineMs: 10, targetMs, measured: 9, tokens: 9 },
  shape: { batch: 1, length: 8, memory: 4 },
});
const [cheap, dear, other] = [network("sffi", 5, 60), network("sfsf", 9, 50), network("sfff", 6, 55)];
const first: Front = frontOf([cheap, dear], [dear, other, cheap], null);
const again = [network("sfff", 6, 52), network("sfsf", 9, 51), network("sffi", 5, 58), network("ssss", 10, 49)];
const second: Front = frontOf([again[2]!, again[0]!, again[1]!], again, 6.5);

describe("fronts of several seeds", () => {
  const found = frontAgreement(
    new Map([
      [1, first],
      [2, second],
    ]),
  );

  it("have the networks of each seed for every budget that all have one for, and the one that was asked for", () => {
    expect(found.budgets.map(({ budget }) => budget)).toEqual([0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 1]);
    const [half, , asked] = found.budgets;
    expect(half!.networks.map(({ seed, pattern }) => [seed, pattern])).toEqual([
      [1, "sffi"],
      [2, "sffi"],
    ]);
    expect([half!.agreeing, half!.seed]).toEqual([[2, 2, 2, 2], 2]);
    expect([asked!.networks[1]!.pattern, asked!.agreeing]).toEqual(["sfff", [2, 2, 2, 1]]);
  });

  it("agree on the order of networks that both ranked: 50, 55, 60 and 51, 52, 58", () => {
    expect(found.pairs).toEqual([{ seeds: [1, 2], common: 3, tau: 1 }]);
    const alone = frontAgreement(
      new Map([
        [1, first],
        [2, { ...second, finalists: [again[3]!] }],
      ]),
    );
    expect(alone.pairs[0]).toEqual({ seeds: [1, 2], common: 0, tau: Number.NaN });
    expect(frontAgreementText(alone)).toContain("seeds 1 and 2: τ none over 0 networks that both ranked");
  });

  it("are shown budget by budget", () => {
    const text = frontAgreementText(found);
    expect(text).toMatch(/^0\.65 +1 +sffi +0\.50 +60\.00\s+2 +sfff +0\.60 +52\.00 +lowest\s+agree +2 2 2 1$/m);
    expect(text).toContain("seeds 1 and 2: τ 1.00 over 3 networks that both ranked");
  });
});
