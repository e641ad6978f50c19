import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import { type ParModel, parModel } from "../../model/par/par.ts";
import { chosenOf, likeliestComputing, likeliestWithin } from "./choice.ts";
import { openBlocks, settleSurest, survivorsAt } from "./cutting.ts";

/** Attention costs 10, dense 2, identity nothing. */
const costs = [10, 2, 0];

/** Blocks of attention, dense and identity, which together may cost so much. */
function modelOf(blocks: number, most?: number): ParModel {
  const budget = { costs: Array.from({ length: blocks }, () => costs), fixed: 1, target: 1 + (most ?? 0), weight: 1 };
  const sizes = { vocabulary: 20, width: 8, heads: 2, hidden: 8, memory: 0 };
  return parModel({ ...sizes, blocks, ...(most === undefined ? {} : { budget }) });
}

/** Weights under which π of every block is as given; of a block without a choice it is 1 anyway. */
const weightsOf = ({ policy, alive }: ParModel, shares: readonly (readonly number[])[]) =>
  new Map(
    alive.flatMap((places, block) => {
      const pi = policy.distribution(block);
      return pi ? [[pi.tensor, Float32Array.from(places, (k) => Math.log(shares[block]![k]!))] as const] : [];
    }),
  );

const everything = [0, 1, 2];

describe("a block that π gives to identity", () => {
  it("keeps its best candidate that computes until weights are better", () => {
    const model = modelOf(1);
    const weights = weightsOf(model, [[0.001, 0.009, 0.99]]);
    expect(survivorsAt(0.3, model, weights, 0.95)).toEqual([[1, 2]]);
    expect(survivorsAt(0.7, model, weights, 0.95)).toEqual([[2]]);
  });
});

describe("blocks that may still compute several candidates", () => {
  it("are all before the pace begins, none when it ends, and fewer evenly between", () => {
    const at = (part: number) => openBlocks(6, [0.25, 0.75], part);
    expect([0, 0.25, 0.3, 0.5, 0.7, 0.75, 1].map(at)).toEqual([6, 6, 6, 3, 1, 0, 0]);
  });

  it("are those with the least sure choices, and identity is left to π", () => {
    const model = modelOf(3);
    const weights = weightsOf(model, [
      [0.05, 0.25, 0.7],
      [0.1, 0.1, 0.8],
      [0.1, 0.2, 0.7],
    ]);
    expect(settleSurest(model.alive, model, weights, 1)).toEqual([[1, 2], everything, [1, 2]]);
    expect(settleSurest(model.alive, model, weights, 3)).toEqual(model.alive);
  });
});

describe("under a budget", () => {
  const attentive = [
    [0.6, 0.3, 0.1],
    [0.5, 0.1, 0.4],
    [0.97, 0.02, 0.01],
  ];

  it("the likeliest network has attention where dense is least likely, and identity only where it must", () => {
    const wanted = (most?: number) => {
      const model = modelOf(3, most);
      return likeliestComputing(model, weightsOf(model, attentive));
    };
    expect([undefined, 30].map(wanted)).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
    expect([22, 14].map(wanted)).toEqual([
      [1, 0, 0],
      [1, 1, 0],
    ]);
    expect(wanted(12)).toEqual([1, 1, 1]); // attention and dense would do, but not without identity
    expect(wanted(4)).toEqual([1, 2, 1]);
  });

  it("the network that is found uses what it may: identity is taken only without a budget, or where nothing else is left", () => {
    const skipped = [
      [0.3, 0.1, 0.6],
      [0.1, 0.3, 0.6],
    ];
    const found = (model: ParModel) => chosenOf(model, weightsOf(model, skipped));
    const narrow = modelOf(2, 12).narrowed([[0, 2], [2]]);
    expect([modelOf(2), modelOf(2, 12), narrow].map(found)).toEqual([
      [2, 2],
      [0, 1],
      [0, 2],
    ]);
  });

  it("dense stays where attention cannot be paid for, however little π it has", () => {
    const left = (model: ParModel) => survivorsAt(0.3, model, weightsOf(model, attentive), 0.95)[2];
    expect([modelOf(3, 6), modelOf(3)].map(left)).toEqual([[0, 1], [0]]);
  });

  it("blocks settle for that network, last of all those that contend for the same attention", () => {
    const model = modelOf(3, 14); // one attention: block 3's, else block 1's; block 2 might as well be skipped
    const weights = weightsOf(model, attentive);
    const [dense, attention] = [
      [1, 2],
      [0, 2],
    ];
    expect(settleSurest(model.alive, model, weights, 2)).toEqual([everything, dense, everything]);
    expect(settleSurest(model.alive, model, weights, 1)).toEqual([dense, dense, everything]);
    expect(settleSurest(model.alive, model, weights, 0)).toEqual([dense, dense, attention]);
  });

  it("attention goes where it is likely, not where dense is even less so and identity leads", () => {
    const model = modelOf(2, 12); // one attention, one dense
    const weights = weightsOf(model, [
      [0.5, 0.4, 0.1],
      [0.2, 0.05, 0.75],
    ]);
    expect(settleSurest(model.alive, model, weights, 0)).toEqual([
      [0, 2],
      [1, 2],
    ]);
  });

  it("what is left always holds a network that keeps to it, and one without identity where there was one", () => {
    const random = new RandomStream(3, "shares");
    const drawn = () => Array.from({ length: 5 }, () => everything.map(() => random.uniform() ** 6 + 1e-6));
    for (let trial = 0; trial < 40; trial++) {
      const most = 50 * random.uniform();
      let model = modelOf(5, most);
      for (const part of [0.3, 0.4, 0.5, 0.59]) {
        const weights = weightsOf(model, drawn());
        const alive = survivorsAt(part, model, weights, 0.95);
        model = model.narrowed(settleSurest(alive, model, weights, openBlocks(5, [0.3, 0.59], part)));
        const left = (skipped?: number) =>
          model.alive.map((places) => everything.map((k) => (places.includes(k) && k !== skipped ? 1 : 0)));
        expect(likeliestWithin(left(), model.options.budget!.costs, most)).toBeDefined();
        if (most >= 10) expect(likeliestWithin(left(2), model.options.budget!.costs, most)).toBeDefined();
      }
    }
  });
});
