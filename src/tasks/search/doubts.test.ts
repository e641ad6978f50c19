import { describe, expect, it } from "vitest";
import type { Cut } from "./cut.ts";
import { doubtsOf, marginsOf, surenessOf } from "./doubts.ts";
import { searchDefaults } from "./settings.ts";

const doubts = (probabilities: number[][], steps = 600, cuts: Cut[] = []) =>
  doubtsOf({ probabilities, steps, cuts }, searchDefaults);

describe("what a search found", () => {
  it("is doubted in no way once every block is decided", () => {
    expect(
      doubts([
        [1, 0, 0],
        [0.05, 0.95, 0],
      ]),
    ).toEqual([]);
  });

  it("is said to be open in the blocks that are", () => {
    expect(
      doubts([
        [1, 0, 0],
        [0.46, 0.54, 0],
      ]),
    ).toEqual(["not decided by π: block 2 (0.54); another seed may choose otherwise"]);
  });

  it("is said to have been open in blocks that were decided at the end", () => {
    const cut = { step: 540, block: 0, cut: ["identity"], left: ["attention"], margin: 0.2, openAt: 0.6 };
    const decided = [
      [1, 0, 0],
      [0, 1, 0],
    ];
    expect(doubts(decided, 600, [cut])).toEqual([
      "not decided by π: block 1 (0.60); another seed may choose otherwise",
    ]);
  });

  it("is no finding where π is nearly uniform or hardly moved", () => {
    expect(
      doubts(
        [
          [0.3, 0.4, 0.3],
          [0.34, 0.33, 0.33],
        ],
        40,
      ),
    ).toEqual([
      "no finding: π is nearly uniform, so the pattern is chance",
      "too few updates to tell: 34 in which π moved",
    ]);
  });

  it("has margins: of π at the end, or when candidates were cut, the least of them", () => {
    const cut = { step: 1, cut: ["identity"], left: ["attention"] };
    const found = {
      probabilities: [
        [0.7, 0.2, 0.1],
        [1, 0, 0],
        [0, 1, 0],
      ],
      cuts: [
        { ...cut, block: 1, margin: 0.4 },
        { ...cut, block: 1, margin: 0.1 },
        { ...cut, block: 2, margin: -0.05 },
      ],
    };
    expect(marginsOf(found).map((each) => each.toFixed(2))).toEqual(["0.50", "0.10", "-0.05"]);
    const line = "margin of π per block 0.50 0.10 -0.05; least sure of block 3";
    expect(surenessOf(found, searchDefaults)).toEqual([`${line}; one seed: --seeds 3 shows what others choose`]);
    expect(surenessOf(found, searchDefaults, 3)).toEqual([line]);
    expect(surenessOf(found, { ...searchDefaults, blocks: "sff" })).toEqual([]);
  });

  it("is not doubted where the blocks were given", () => {
    expect(doubtsOf({ probabilities: [[0.5, 0.5]], steps: 1, cuts: [] }, { ...searchDefaults, blocks: "sf" })).toEqual(
      [],
    );
  });
});
