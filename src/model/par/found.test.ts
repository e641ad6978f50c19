import { describe, expect, it } from "vitest";
import { runOnce } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { input } from "../../graph/index.ts";
import { inference, initialise } from "../../nn/index.ts";
import { foundNetwork } from "./found.ts";
import { type ParModel, type ParOptions, parModel } from "./par.ts";

const candidates = [
  { kind: "attention" },
  { kind: "feed-forward" },
  { kind: "feed-forward", hidden: 20 },
  { kind: "attention", heads: 4 },
  { kind: "identity" },
] as const;
const options: ParOptions = { vocabulary: 20, width: 8, heads: 2, hidden: 12, blocks: 3, candidates, memory: 4 };
const supernet = parModel(options);
/** π prefer the given places. */
function weightsOf(model: ParModel, places: readonly number[]) {
  const weights = initialise(model.parameters, 1);
  for (const [i, place] of places.entries()) {
    weights.set(model.policy.distribution(i)!.tensor, new Float32Array(candidates.length).fill(0).with(place, 9));
  }
  return weights;
}

async function hiddenOf(model: ParModel, weights: ReadonlyMap<object, Float32Array>) {
  const { hidden } = model.segment(
    input("ids", [1, 5], "int"),
    { batch: 1, length: 5, memory: 0 },
    inference,
    "arg-max",
  );
  const named = model.parameters.map(({ name, tensor }) => [name, weights.get(tensor)!]);
  const feeds = { ids: Int32Array.of(3, 1, 4, 1, 5), ...Object.fromEntries(named) };
  return (await runOnce(referenceEngine(), { hidden }, feeds)).hidden!.data;
}

describe("a network cut out of its supernet", () => {
  it("computes what the supernet does with its likeliest candidates, and has their sizes", async () => {
    const weights = weightsOf(supernet, [3, 2, 4]);
    const { model, weights: own } = foundNetwork(supernet, weights);
    expect([model.options.blocks, model.policy.architecture]).toEqual(["s:4 f:20 i", []]);
    expect(model.policy.blocks[1]![0]!.parameters.map(({ tensor }) => tensor.shape)).toContainEqual([20, 8]);
    expect(await hiddenOf(model, own)).toEqual(await hiddenOf(supernet, weights));
  });

  it("may have other blocks than the likeliest, but none that were cut", () => {
    const weights = weightsOf(supernet, [3, 2, 4]);
    expect(foundNetwork(supernet, weights, "s f f:20").model.options.blocks).toBe("s f f:20");
    const cut = supernet.narrowed([[3], [2], [4]]);
    expect(() => foundNetwork(cut, initialise(cut.parameters, 1), "s:4 f i")).toThrow(
      "block 2: expected one of the supernet's f:20, got f; train it from scratch",
    );
    expect(() => foundNetwork(cut, weights, "s:4 f:20")).toThrow(
      "pattern: expected 3 blocks, as the supernet has, got 2",
    );
  });

  it("is itself where nothing was searched", () => {
    const plain = parModel({ ...options, blocks: "s f:20 i" });
    const weights = initialise(plain.parameters, 1);
    const { model, weights: own } = foundNetwork(plain, weights);
    expect(model.parameters.map(({ name }) => name)).toEqual(plain.parameters.map(({ name }) => name));
    expect([...own.values()]).toEqual([...weights.values()]);
  });
});
