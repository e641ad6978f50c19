import { describe, expect, it } from "vitest";
import { referenceEngine } from "../engine/reference.ts";
import { add, gather, input, mean, multiply, parameter, type Tensor } from "../graph/index.ts";
import type { Batches } from "./evaluate.ts";
import { Evaluator } from "./evaluator.ts";
import type { Batch } from "./step-options.ts";

const table = parameter("table", [4, 2]);
const unused = parameter("unused", [3]);
const inputs: Record<string, Tensor> = { ids: input("ids", [2], "int"), weights: input("weights", [2, 1]) };
const loss = mean(multiply(gather(table, inputs.ids!), inputs.weights!));
const weights = new Map([
  [table, Float32Array.of(0, 0, 1, 1, 2, 2, 3, 3)],
  [unused, new Float32Array(3)],
]);
const batchesOf = (...batches: Batch[]): Batches => ({ count: batches.length, tokens: 2, at: (i) => batches[i]! });
const ids = Int32Array.of(1, 3);

describe.each([
  ["the evaluator", async () => meanOf(await Evaluator.create(referenceEngine(), { loss, inputs }))],
  ["the evaluator of a model with memory", async () => meanOf(await recurrent())],
] as const)("%s", (_, open) => {
  it("gives the mean loss, and takes plain arrays for what they are", async () => {
    const measure = await open();
    expect(await measure(batchesOf({ ids, weights: [1, 1] }, { ids: [0, 1], weights: Float32Array.of(2, 2) }))).toBe(
      1.5,
    );
  });

  it.each<[string, Batches, string]>([
    ["no batches", batchesOf(), "batches / count: expected a whole number from 1, got 0"],
    ["a name that is no input", batchesOf({ ids, weights: ids, weight: ids }), "batch / weight: expected an input of"],
    [
      "floats for ids",
      batchesOf({ ids: Float32Array.of(1, 3), weights: [1, 1] }),
      "batch / ids: expected whole numbers",
    ],
    ["a half for an id", batchesOf({ ids: [1, 2.5], weights: [1, 1] }), "as an Int32Array, got 2.5 at index 1"],
    [
      "an id outside the table",
      batchesOf({ ids: [1, 4], weights: [1, 1] }),
      "expected ids from 0 to 3 for 4 rows of table",
    ],
    ["a missing input", batchesOf({ ids }), "weights: expected float [2,1]"],
  ])("refuses %s", async (_, batches, message) => {
    await expect((await open())(batches)).rejects.toThrow(message);
  });
});

it("an input that the loss has no use for may still be in a batch, and only where it is declared", async () => {
  const plain = mean(gather(table, inputs.ids!));
  const batches = batchesOf({ ids, weights: [1, 1] });
  const open = (declared: Record<string, Tensor>) =>
    Evaluator.create(referenceEngine(), { loss: plain, inputs: declared });
  expect(await (await open(inputs)).meanLoss(weights, batches)).toBe(2);
  await expect((await open({ ids: inputs.ids! })).meanLoss(weights, batches)).rejects.toThrow(
    "batch / weights: expected an input of the model (ids), got none of that name",
  );
});

const meanOf = (evaluator: Evaluator) => (batches: Batches) => evaluator.meanLoss(weights, batches);

function recurrent(): Promise<Evaluator> {
  const memory = input("memory", [1]);
  const carried = [{ input: memory, output: add(memory, 1) }];
  return Evaluator.create(referenceEngine(), { loss, inputs, carried });
}
