import { describe, expect, it } from "vitest";
import { type CandidateChoice, type ParOptions, parModel } from "./par.ts";

const base: ParOptions = { vocabulary: 30, width: 8, heads: 2, hidden: 12, blocks: 2, memory: 3, cutoffs: [6, 15] };
const costs = [
  [4, 2, 0],
  [4, 2, 0],
];
const budget = { costs, fixed: 1, target: 5, weight: 1 };
const budgeted = (change: object): Partial<ParOptions> => ({ budget: { ...budget, ...change } });
const offering = (...choices: object[]) => ({ candidates: choices as CandidateChoice[] });

describe("mistakes in a PAR Transformer-XL", () => {
  it.each<[Partial<ParOptions>, string]>([
    [{ cutoffs: [15, 6] }, "softmax / cutoffs: expected rising whole numbers from 1 to 29"],
    [{ cutoffs: [6, 6] }, "softmax / cutoffs"],
    [{ cutoffs: [6, 30] }, "softmax / cutoffs"],
    [{ projectionSizes: [4] }, "softmax / projection sizes: expected 2 whole numbers"],
    [{ projectionSizes: [4], cutoffs: [] }, "projection sizes: expected cutoffs to have tails"],
    [{ projectionFactor: 0.5 }, "softmax / projection factor: expected a number from 1, got 0.5"],
    [{ vocabulary: 0 }, "vocabulary: expected a whole number from 1, got 0"],
    [{ width: 0 }, "width: expected a whole number from 1, got 0"],
    [{ hidden: 0 }, "hidden: expected a whole number from 1, got 0"],
    [{ heads: 3 }, "blocks.0.attention: expected a width divisible by heads"],
    [{ memory: -1 }, "memory: expected a whole number of steps from 0, got -1"],
    [{ memory: 1e9 }, "memory: expected at most 65536 steps, got 1000000000"],
    [{ blocks: 0 }, "blocks: expected a whole number from 1 to 10000, or a pattern, got 0"],
    [{ blocks: 1e9 }, "blocks: expected a whole number from 1 to 10000"],
    [{ blocks: "sxf" }, "pattern: expected letters"],
    [{ blocks: "s:3f" }, "blocks.0.attention: expected a width divisible by heads"],
    [offering(), "blocks: expected at least one candidate a block"],
    [offering({ kind: "convolution" }), "block 1: expected a candidate of attention, feed-forward, identity"],
    [offering({ kind: "feed-forward", hidden: 0 }), "block 1 / hidden: expected a whole number from 1, got 0"],
    [offering({ kind: "identity" }, { kind: "identity" }), "block 1: expected each candidate once, got i,i"],
    [{ alive: [[0, 0], [1]] }, "alive: expected places among the 3, 3 candidates"],
    [budgeted({ costs: costs.slice(1) }), "budget / costs: expected costs from 0 of the 3, 3 candidates"],
    [budgeted({ costs: [[4, Number.NaN, 0], costs[1]] }), "budget / costs"],
    [budgeted({ target: 0 }), "budget: expected a fixed cost from 0, a target and a weight above 0"],
    [budgeted({ weight: -1 }), "got fixed 1, target 5, weight -1"],
    [budgeted({ target: 0.5 }), "budget: expected a target from 1, what the cheapest network costs, got 0.5"],
    [{ ...budgeted({ costs: [[4], [2]] }), blocks: "sf" }, "budget: expected blocks to choose, got a pattern"],
    [{ d_model: 8 } as object, "PAR Transformer-XL: expected options among"],
    [{ finalTemprature: 0.1 } as object, "did you mean finalTemperature?"],
    [{ activation: "swish" as never }, "activation: expected one of relu, relu2, silu, tanh, gelu, gelu_new"],
    [{ dropout: 1 }, "dropout: expected a rate from 0 to below 1, got 1"],
    [{ clampLength: 0 }, "clampLength: expected a whole number from 1, got 0"],
    [{ adaptiveInput: true, cutoffs: [] }, "adaptiveInput: expected cutoffs, and no compat, got none"],
  ])("%j throws when the model is built", (change, message) => {
    expect(() => parModel({ ...base, ...change })).toThrow(message);
  });

  it.each([
    [{ length: 0 }, "length: expected a whole number from 1, got 0"],
    [{ memory: 1e9 }, "memory: expected at most 65536 steps"],
    [{ memory: 1.5 }, "memory: expected a whole number of steps from 0, got 1.5"],
  ])("%j throws when a program is built", (change, message) => {
    const run = { batch: 2, length: 4, training: false, ...change };
    expect(() => parModel(base).objective(run)).toThrow(message);
  });

  it("are none where a budget can be met, also once candidates are cut", () => {
    const model = parModel({ ...base, budget });
    expect(model.narrowed([[0], [0]]).policy.architecture).toEqual([]);
  });
});
