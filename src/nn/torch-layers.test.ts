import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { input } from "../graph/index.ts";
import type { KeyValues } from "./attention.ts";
import { additiveMask } from "./masks.ts";
import { memoryOf } from "./memory.ts";
import { inference } from "./mode.ts";
import { initialise } from "./parameter.ts";
import {
  EncoderLayer,
  layerNorms,
  MultiheadAttention,
  TorchFeedForward,
  type TorchLayerOptions,
} from "./torch-layers.ts";

const options: TorchLayerOptions = {
  width: 8,
  heads: 2,
  hidden: 12,
  dropout: 0,
  activation: "relu",
  normFirst: false,
  epsilon: 1e-5,
};
const numbers = (count: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(1.3 * i));
const rows = { batch: 2, length: 3 };

function feedsOf(owner: { parameters: Parameters<typeof initialise>[0] }) {
  return Object.fromEntries(
    [...initialise(owner.parameters, 1)].map(([{ attributes }, data]) => [attributes.name, data]),
  );
}

describe("PyTorch's layers", () => {
  it("attend to a memory that is themselves as self-attention does", async () => {
    const attention = new MultiheadAttention("self_attn", options);
    const x = input("x", [6, 8]);
    const self = attention.apply(x, { rows, mode: inference });
    const memory = memoryOf((_, make) => make(x, rows));
    const cross = attention.attendTo(x, memory, { rows, mode: inference });
    const found = await runOnce(referenceEngine(), { self, cross }, { ...feedsOf(attention), x: numbers(48) });
    expect(found.cross!.data).toEqual(found.self!.data);
  });

  it("continue from remembered keys and values as if they had read all at once", async () => {
    const attention = new MultiheadAttention("self_attn", options);
    const x = input("x", [3, 8]);
    const one = { batch: 1, length: 3 };
    const mask = additiveMask({ mask: input("later", [3, 3], "bool") }, 1, 3, 3);
    const whole = attention.apply(x, { rows: one, mode: inference, mask });
    const last = input("last", [1, 8]);
    const past = attention.remember(input("first", [2, 8]), { batch: 1, length: 2 });
    const stored: KeyValues[] = [];
    const cache = { past, store: (pair: KeyValues) => stored.push(pair) };
    const step = attention.apply(last, { rows: { batch: 1, length: 1 }, mode: inference, cache });
    const data = numbers(24);
    const later = Uint8Array.of(0, 1, 1, 0, 0, 1, 0, 0, 0);
    const feeds = { ...feedsOf(attention), x: data, later, first: data.slice(0, 16), last: data.slice(16) };
    const found = await runOnce(referenceEngine(), { whole, step }, feeds);
    expect(found.step!.data).toEqual(found.whole!.data.slice(16));
    expect(stored.map(({ keys }) => keys.shape)).toEqual([[1, 1, 8]]);
  });

  it("share the parts they are given", () => {
    const attention = new MultiheadAttention("layers.0.self_attn", options);
    const layers = [0, 1].map((i) => {
      const feedForward = new TorchFeedForward(`layers.${i}`, options);
      return new EncoderLayer(
        `layers.${i}`,
        { attention, feedForward, norms: layerNorms(`layers.${i}`, 2, options) },
        options,
      );
    });
    const all = layers.flatMap(({ parameters }) => [...parameters]);
    expect(all.length - new Set(all).size).toBe(attention.parameters.length);
  });

  it("end in a norm when post-norm, and do not when pre-norm", async () => {
    const spreadOf = async (normFirst: boolean) => {
      const given = { ...options, normFirst };
      const parts = {
        attention: new MultiheadAttention("self_attn", given),
        feedForward: new TorchFeedForward("ff", given),
        norms: layerNorms("layer", 2, given),
      };
      const layer = new EncoderLayer("layer", parts, given);
      const y = layer.apply(input("x", [6, 8]), { rows, mode: inference });
      const found = await runOnce(referenceEngine(), { y }, { ...feedsOf(layer), x: numbers(48).map((v) => 5 * v) });
      return [...found.y!.data.slice(0, 8)].reduce((sum, value) => sum + value * value, 0) / 8;
    };
    // A norm with gain 1 leaves a variance of 1, but for its epsilon.
    expect(await spreadOf(false)).toBeCloseTo(1, 4);
    expect(await spreadOf(true)).toBeGreaterThan(3);
  });
});
