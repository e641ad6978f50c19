import { describe, expect, it } from "vitest";
import { runOnce } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { input, is, topological } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { EncoderDecoder, type EncoderDecoderOptions } from "./encoder-decoder.ts";

const options: EncoderDecoderOptions = {
  width: 8,
  heads: 2,
  hidden: 12,
  encoderPlan: [0, 1, 1, 0],
  decoderPlan: [0, 0, 0],
  dropout: 0,
};
const [source, target] = [input("source", [2, 4, 8]), input("target", [2, 3, 8])];
const numbers = (count: number, seed: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(seed + i));

async function run(model: EncoderDecoder, feeds: Record<string, Float32Array | Uint8Array>, masks = {}) {
  const weights = [...initialise(model.parameters, 1)].map(([{ attributes }, data]) => [attributes.name, data]);
  return runOnce(referenceEngine(), model.apply(source, target, masks), { ...Object.fromEntries(weights), ...feeds });
}

describe("the encoder–decoder", () => {
  it.each<[object, string]>([
    [{ layers: 6 }, "encoder-decoder: expected options among width, heads, hidden, encoderPlan, decoderPlan"],
    [{ activation: "swish" }, "encoder-decoder / activation: expected one of relu"],
    [{ dropout: -0.1 }, "encoder-decoder / dropout: expected a number from 0 to below 1, got -0.1"],
    [{ decoderPlan: [0, 2] }, "encoder-decoder / decoderPlan: expected block numbers 0, 1, …"],
    [{ share: "layer" }, 'encoder-decoder / share: expected one of layers, attention, feed-forward, got "layer"'],
  ])("refuses %j", (wrong, message) => {
    expect(() => new EncoderDecoder({ ...options, ...wrong })).toThrow(message);
  });

  it("refuses masks it does not have", () => {
    const masks: object = { targetMasks: input("m", [3, 3], "bool") };
    expect(() => new EncoderDecoder(options).apply(source, target, masks)).toThrow("did you mean targetMask?");
  });

  it("shares nothing between its sides, and each side follows its own plan", () => {
    const names = new EncoderDecoder(options).parameters.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const layers = new Set(names.map((name) => name.split(".").slice(0, 3).join(".")));
    expect([...layers]).toEqual(["encoder.layers.0", "encoder.layers.1", "decoder.layers.0"]);
  });

  it("asks a memory for keys and values once a layer, not once a depth", () => {
    const count = (decoderPlan: number[]) => {
      const { y } = new EncoderDecoder({ ...options, decoderPlan }).apply(source, target);
      const products = topological([y]).filter((node) => is(node, "matmul"));
      return products.filter(({ scope }) => scope.endsWith("cross-attention")).length;
    };
    // A depth takes the query, the scores, the mixture and the output projection; keys and values are one product.
    expect([count([0]), count([0, 0, 0])]).toEqual([5, 13]);
  });

  it("does not look at padding of the source, nor ahead in the target", async () => {
    const model = new EncoderDecoder({ ...options, normFirst: true, norm: true });
    const masks = {
      sourcePadding: input("padding", [2, 4], "bool"),
      targetMask: input("later", [3, 3], "bool"),
    };
    const feeds = {
      source: numbers(64, 1),
      target: numbers(48, 2),
      padding: Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 0),
      later: Uint8Array.of(0, 1, 1, 0, 0, 1, 0, 0, 0),
    };
    const before = await run(model, feeds, masks);
    const changed = { ...feeds, source: feeds.source.slice(), target: feeds.target.slice() };
    changed.source.fill(7, 24, 32); // the last place of the first source
    changed.target.fill(7, 16, 24); // the last place of the first target
    const after = await run(model, changed, masks);
    expect(after.y!.data.slice(0, 16)).toEqual(before.y!.data.slice(0, 16));
    expect(after.y!.data.slice(16, 24)).not.toEqual(before.y!.data.slice(16, 24));
    expect(after.memory!.data.slice(0, 24)).toEqual(before.memory!.data.slice(0, 24));
  });

  it("names the side and the mask that does not fit", () => {
    const model = new EncoderDecoder(options);
    const bad = { targetMask: input("later", [3, 4], "bool") };
    expect(() => model.apply(source, target, bad)).toThrow(
      "decoder / mask: expected bool or float [3,3], got bool [3,4]",
    );
  });
});
