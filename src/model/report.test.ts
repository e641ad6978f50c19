import { describe, expect, it } from "vitest";
import { languageModel } from "./language/language.ts";
import { flopsAtDepth, reportOn } from "./report.ts";

const length = 16;
const modelOf = (depth: string) => languageModel({ vocabulary: 50, width: 32, heads: 2, length, depth });

/** FLOPs per token at a mean depth, beside those at most. */
function flopsOf(text: string, depth: number) {
  const model = modelOf(text);
  const { flopsPerToken } = reportOn(model, { length });
  return { most: flopsPerToken, mean: flopsAtDepth(model, { length, depth, flopsPerToken }) };
}

describe("FLOPs per token at a mean depth", () => {
  it.each(["2*3 halt", "2*3 route(token)", "2*3 route(expert)", "2*3 exits(gate, every=2, keys=own)"])(
    "are those at most where tokens of %s run to the end, and fewer before",
    (text) => {
      const { most, mean } = flopsOf(text, 6);
      expect(mean).toBeCloseTo(most, 6);
      expect(flopsOf(text, 4).mean).toBeLessThan(flopsOf(text, 5).mean);
      expect(flopsOf(text, 5).mean).toBeLessThan(most);
    },
  );

  it("are those of a shallower model, but for what decides, where stopped tokens cost nothing", () => {
    const { flopsPerToken } = reportOn(modelOf("2*2"), { length });
    const { mean } = flopsOf("2*4 halt(keys=last)", 4);
    // The halting unit and the select of each depth are a few operations per element, of some 24·32 of a block.
    expect(mean / flopsPerToken).toBeGreaterThan(1);
    expect(mean / flopsPerToken).toBeLessThan(1.1);
  });

  it("count keys and values that stopped tokens show to the others", () => {
    expect(flopsOf("2*3 halt(keys=own)", 4).mean).toBeGreaterThan(flopsOf("2*3 halt(keys=last)", 4).mean);
  });

  it("are those at most where every block computes all tokens", () => {
    for (const text of ["2*3", "2*3 exits(gate)", "(2)*3 halt", "1 + 1 loop(2) + 1"]) {
      const { most, mean } = flopsOf(text, 3);
      expect(mean, text).toBe(most);
    }
  });
});
