import { describe, expect, it } from "vitest";
import { adaptFinding, change, searchFinding, shareFinding } from "./findings.ts";
import { commonWords, depthsByKind, kindOf, mostVaried } from "./kinds.ts";
import type { AdaptResult, SearchedResult, SharedModel } from "./results.ts";

const model = (plan: readonly number[], parameters: number, loss: number): SharedModel => {
  return { run: "r", plan, parameters, flopsPerToken: 1, loss, perplexity: Math.exp(loss) };
};
const share = (loss: number) => ({ shared: model([0, 1, 0, 1], 4e5, loss), unshared: model([0, 1, 2, 3], 1e6, 4) });

describe("what is said of sharing", () => {
  it("gives parameters and losses, and on which side the loss lies", () => {
    expect(shareFinding(share(4.04))).toBe(
      "2 layers of weights run 4 deep store 40 % of the parameters (0.4 M of 1 M) at a valid loss of 4.040 against 4.000, 1 % higher.",
    );
    expect([change(3.9, 4), change(4.0001, 4)]).toEqual(["2.5 % lower", "the same"]);
  });

  it("does not hide a high price", () => {
    expect(shareFinding(share(4.5))).toMatch(/12\.5 % higher; at this length sharing costs too much\.$/);
  });
});

describe("what is said of a search", () => {
  const network = (pattern: string, parameters: number, perplexity: number) =>
    ({ pattern, parameters, perplexity }) as SearchedResult["found"];
  const searched = (certainty: readonly number[]) =>
    ({ pattern: "sfi", certainty, found: network("sfi", 80, 50), baseline: network("sfs", 100, 40) }) as SearchedResult;

  it("counts the blocks that are decided", () => {
    expect(searchFinding(searched([1, 0.95, 0.6]))).toBe(
      "The search chose sfi, 2 of 3 blocks decided (π at least 0.9), the least certain at 0.60; from scratch that has 80 % of the parameters of sfs at a perplexity of 50.0 against 40.0, 25 % higher.",
    );
  });

  it("says that π nearly uniform is no finding", () => {
    expect(searchFinding(searched([0.34, 0.4, 0.45]))).toMatch(
      /^No finding: π stayed nearly uniform .*0\.40 on average/,
    );
  });
});

describe("what is said of depth", () => {
  const tokens = (words: Readonly<Record<string, number>>) =>
    Object.entries(words).map(([piece, depth]) => ({ piece, depth, cosines: [], halting: [] }));
  const common = commonWords(["the cat and the dog", "The end"]);
  const result = (words: Readonly<Record<string, number>>) =>
    ({ cap: 4, ...depthsByKind([tokens(words)], common, 4) }) as AdaptResult;

  it("tells kinds of pieces apart", () => {
    const kinds = ["▁the", "▁The", "▁zebra", "ing", "!’", "▁"].map((piece) => kindOf(piece, common));
    expect(kinds).toEqual([
      "common words",
      "common words",
      "other words",
      "pieces inside words",
      "punctuation",
      "punctuation",
    ]);
  });

  it("names the kinds from those that stop first to those that stop last", () => {
    expect(adaptFinding(result({ "▁the": 2, ing: 1, "▁zebra": 4 }))).toBe(
      "On average tokens took 2.33 of at most 4 passes: pieces inside words 1.00, common words 2.00, other words 4.00.",
    );
  });

  it("says that equal depths are no finding", () => {
    expect(adaptFinding(result({ "▁the": 3, "▁zebra": 3 }))).toBe(
      "No finding: tokens took 3.00 of at most 4 passes, and every kind about as many (3.00 to 3.00).",
    );
  });
});

describe("the sentence that is shown", () => {
  it("is the one whose depths differ most", () => {
    const of = (...depths: number[]) => depths.map((depth) => ({ depth }));
    expect(mostVaried([of(3, 3, 4), of(2, 3, 4), of(5, 5, 5)])).toEqual(of(2, 3, 4));
    expect(mostVaried([of(3)])).toEqual(of(3));
  });
});
