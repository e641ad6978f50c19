import { describe, expect, it } from "vitest";
import { runOnce } from "../engine/engine.contract.ts";
import { referenceEngine } from "../engine/reference.ts";
import { input, type Tensor, within } from "../graph/index.ts";
import { SelfAttention } from "./attention.ts";
import { TransformerBlock } from "./block.ts";
import { activations, FeedForward } from "./feed-forward.ts";
import { Embedding, LayerNorm, Linear } from "./layers.ts";
import { causalMask } from "./masks.ts";
import { inference, Training } from "./mode.ts";

const x = input("x", [6, 8]);
const rows = { batch: 2, length: 3 };
const block = { width: 8, heads: 2, hidden: 16, dropout: 0.1, activation: "gelu" } as const;
const shapesOf = (layer: { parameters: readonly { name: string; tensor: Tensor }[] }) =>
  Object.fromEntries(layer.parameters.map(({ name, tensor }) => [name, tensor.shape]));

describe("layers", () => {
  it("a linear layer keeps its weight as [out, in] and its bias only if wanted", () => {
    const layer = new Linear("up", { in: 8, out: 16 });
    expect(shapesOf(layer)).toEqual({ "up.weight": [16, 8], "up.bias": [16] });
    expect(layer.apply(x).shape).toEqual([6, 16]);
    expect(shapesOf(new Linear("up", { in: 8, out: 16, bias: false }))).toEqual({ "up.weight": [16, 8] });
  });

  it("an embedding looks ids up, and its transpose scores rows", () => {
    const table = new Embedding("words", { count: 50, width: 8 });
    expect(table.apply(input("ids", [2, 3], "int")).shape).toEqual([2, 3, 8]);
    expect(table.logits(x).shape).toEqual([6, 50]);
    expect(table.parameters).toHaveLength(1);
  });

  it("layer norm, feed-forward, attention and block keep the shape of their rows", () => {
    const mode = new Training();
    const outputs = [
      new LayerNorm("norm", { width: 8 }).apply(x),
      new FeedForward("ff", { width: 8, hidden: block.hidden, activation: "relu" }).apply(x),
      new SelfAttention("attention", block).apply(x, { rows, mode }),
      new TransformerBlock("block", block).apply(x, { rows, mode, mask: causalMask(3) }),
    ];
    for (const { shape } of outputs) expect(shape).toEqual([6, 8]);
  });

  it("a block's parameters have distinct names", () => {
    const names = new TransformerBlock("blocks.0", block).parameters.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toHaveLength(12);
    expect(names.every((name) => name.startsWith("blocks.0."))).toBe(true);
  });

  it("every activation is applied", async () => {
    const one = input("x", [1]);
    const outputs = Object.fromEntries(Object.entries(activations).map(([name, apply]) => [name, apply(one)]));
    const found = await runOnce(referenceEngine({ precision: "double" }), outputs, { x: Float64Array.of(-1) });
    expect(found.relu!.data[0]).toBe(0);
    expect(found.silu!.data[0]).toBeCloseTo(-0.2689414, 6);
    expect(found.gelu!.data[0]).toBeCloseTo(-0.1586553, 6);
    expect(found.gelu_new!.data[0]).toBeCloseTo(-0.158808, 6);
  });
});

describe("mistakes in layers", () => {
  it("a width that heads do not divide names the block, both numbers and a way out", () => {
    expect(() => new TransformerBlock("blocks.2", { ...block, width: 30, heads: 4 })).toThrow(
      "blocks.2: expected a width divisible by heads, got width 30, heads 4; set width to 32",
    );
  });

  it("rows of another width name the place where they came", () => {
    const wide = input("wide", [6, 9]);
    const apply = () => new TransformerBlock("blocks.2", block).apply(wide, { rows, mode: inference });
    expect(() => within("depth 7", apply)).toThrow(
      "depth 7 / blocks.2 / attention / layerNorm: expected gain of shape [9], got [8]",
    );
  });

  it("rows that do not fold to batch and length name the attention", () => {
    const apply = () =>
      new TransformerBlock("blocks.0", block).apply(x, { rows: { batch: 2, length: 4 }, mode: inference });
    expect(apply).toThrow("blocks.0 / attention / reshape: expected 64 elements, got [6,8] = 48 for [2,4,2,4]");
  });
});

describe("dropout", () => {
  it("asks for one mask a use when training, and for none otherwise", () => {
    const layer = new TransformerBlock("block", block);
    const mode = new Training();
    layer.apply(x, { rows, mode });
    expect(mode.noise.map(({ tensor, draw }) => [tensor.shape, draw])).toEqual([
      [[2, 2, 3, 3], { kind: "mask", keep: 0.9 }],
      [[6, 8], { kind: "mask", keep: 0.9 }],
      [[6, 8], { kind: "mask", keep: 0.9 }],
    ]);
    expect(inference.dropout(x, 0.5)).toBe(x);
    expect(new Training().dropout(x, 0)).toBe(x);
  });
});

describe("options of layers", () => {
  it.each<[string, () => unknown, string]>([
    ["eps", () => new LayerNorm("norm", { width: 8, eps: 1 } as { width: 8 }), "got eps; did you mean epsilon?"],
    [
      "epsilon: -1",
      () => new LayerNorm("norm", { width: 8, epsilon: -1 }),
      "norm / epsilon: expected a number above 0",
    ],
    ["in: 0", () => new Linear("up", { in: 0, out: 8 }), "up / in: expected a whole number from 1, got 0"],
    ["count: 2.5", () => new Embedding("words", { count: 2.5, width: 8 }), "words / count: expected a whole number"],
    [
      "swish",
      () => new FeedForward("ff", { width: 8, hidden: 8, activation: "swish" as "silu" }),
      "ff / activation: exp",
    ],
    ["dropout: 2", () => new Training().dropout(x, 2), "dropout: expected a number from 0 to below 1, got 2"],
    ["dropout: 1 in use", () => inference.dropout(x, 1), "dropout: expected a number from 0 to below 1, got 1"],
  ])("%s is refused", (_, build, message) => {
    expect(build).toThrow(message);
  });
});
