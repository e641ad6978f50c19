import { describe, expect, it } from "vitest";
import { initialise, Linear } from "../nn/index.ts";
import { boundWeights, loadStateDict, type NamedTensor, stateDict } from "./state-dict.ts";

const layer = new Linear("up", { in: 2, out: 3 });
const { parameters } = layer;
const weights = initialise(parameters, 1);
const [weight, bias] = parameters;

describe("state dicts", () => {
  it("are copies, in and out: what was kept does not change later", () => {
    const trained = initialise(parameters, 1);
    const stored = stateDict(parameters, trained);
    const kept = loadStateDict(parameters, stored);
    trained.get(weight!.tensor)!.fill(7);
    stored.get("up.bias")!.data.fill(7);
    expect(stored.get("up.weight")!.data).toEqual(weights.get(weight!.tensor));
    expect(kept).toEqual(weights);
  });

  it("take numbers of any type, but no 64-bit integers", () => {
    const stored = new Map<string, NamedTensor>([
      ["up.weight", { shape: [3, 2], data: [1, 2, 3, 4, 5, 6] }],
      ["up.bias", { shape: [3], data: Float64Array.of(1, 2, 3) }],
    ]);
    expect(loadStateDict(parameters, stored).get(bias!.tensor)).toEqual(Float32Array.of(1, 2, 3));
    stored.set("up.bias", { shape: [3], data: new BigInt64Array(3) });
    expect(() => loadStateDict(parameters, stored)).toThrow(
      "state dict / up.bias: expected numbers of shape [3], got 64-bit integers",
    );
  });
});

describe("weights bound to a model", () => {
  it("are those of its parameters and of no others", () => {
    const more = new Map([...weights, ...initialise(new Linear("down", { in: 1, out: 1 }).parameters, 1)]);
    expect(boundWeights(layer, more)).toEqual(weights);
  });

  it("of another instance are refused at once, with a way out that works", () => {
    const other = new Linear("up", { in: 2, out: 3 });
    const message =
      "weight up.weight: expected weights of this instance of the model, got those of another instance; load them with loadStateDict(model.parameters, stateDict(other.parameters, weights))";
    expect(() => boundWeights(other, weights)).toThrow(message);
    expect(() => stateDict(other.parameters, weights)).toThrow(message);
    const loaded = loadStateDict(other.parameters, stateDict(parameters, weights));
    expect([...boundWeights(other, loaded).values()]).toEqual([...weights.values()]);
  });

  it("that are missing or of another size are named", () => {
    expect(() => boundWeights(layer, new Map())).toThrow("weight up.weight: expected 6 values, got none");
    const short = new Map([...weights, [bias!.tensor, new Float32Array(2)]] as const);
    expect(() => boundWeights(layer, short)).toThrow("weight up.bias: expected 3 values, got 2");
  });
});
