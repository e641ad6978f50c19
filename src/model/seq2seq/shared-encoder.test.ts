import { describe, expect, it, vi } from "vitest";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { readSafetensors, writeSafetensors } from "../../format/safetensors.ts";
import { input, simplify } from "../../graph/index.ts";
import { initialise, Training } from "../../nn/index.ts";
import { lower } from "../../onnx/lower.ts";
import { countParameters } from "../report.ts";
import { loadStateDict, stateDict } from "../state-dict.ts";
import { EncoderProgram, ParameterSharedTransformerEncoder, type SharedEncoderOptions } from "./shared-encoder.ts";

const small = { dModel: 16, nhead: 4, dimFeedforward: 32 } as const;
const open = (options: SharedEncoderOptions = {}) => new ParameterSharedTransformerEncoder({ ...small, ...options });
const numbers = (count: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(0.7 * i));
const x = { data: numbers(2 * 5 * 16), shape: [2, 5, 16] };

describe("the parameter-shared encoder", () => {
  it("has the original's defaults, batch-first", () => {
    const encoder = new ParameterSharedTransformerEncoder();
    expect(encoder.plan).toEqual([0, 1, 2, 2, 1, 0]);
    // 3 × (4·512² + 4·512 + 2·512·2048 + 2048 + 512 + 4·512)
    expect(countParameters(encoder.parameters)).toBe(9_457_152);
    expect(encoder.apply(input("x", [8, 100, 512])).shape).toEqual([8, 100, 512]);
  });

  it("has PyTorch's names", () => {
    const names = open({ numUniqueLayers: 1, numTotalLayers: 2, norm: true }).parameters.map(({ name }) => name);
    expect(names.sort()).toEqual(
      [
        ...["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"].map((part) => `self_attn.${part}`),
        ...["linear1", "linear2", "norm1", "norm2"].flatMap((part) => [`${part}.weight`, `${part}.bias`]),
      ]
        .map((part) => `layers.0.${part}`)
        .concat("norm.weight", "norm.bias")
        .sort(),
    );
  });

  it("starts with layers that differ, drawn as PyTorch draws", () => {
    const encoder = open();
    const weights = stateDict(encoder.parameters, initialise(encoder.parameters, 1));
    const of = (name: string) => weights.get(name)!.data;
    expect(of("layers.0.self_attn.in_proj_weight")).not.toEqual(of("layers.1.self_attn.in_proj_weight"));
    const largest = (name: string) => Math.max(...of(name).map(Math.abs));
    const bounds = { "self_attn.in_proj_weight": Math.sqrt(6 / 64), "linear1.weight": 1 / 4, "linear1.bias": 1 / 4 };
    for (const [name, bound] of Object.entries(bounds)) {
      expect(largest(`layers.0.${name}`)).toBeLessThanOrEqual(bound);
      expect(largest(`layers.0.${name}`)).toBeGreaterThan(0.8 * bound);
    }
    expect(largest("layers.0.self_attn.in_proj_bias")).toBe(0);
  });

  it.each([
    ["cycle_rev", [0, 1, 2, 2, 1, 0]],
    ["cycle", [0, 1, 2, 0, 1, 2]],
    ["sequence", [0, 0, 1, 1, 2, 2]],
  ] as const)("prints the original's trace of %s, and calls back", async (mode, layers) => {
    const encoder = open({ mode });
    const program = await EncoderProgram.create(referenceEngine(), encoder, initialise(encoder.parameters, 1));
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    const { shape } = await program.forward(x, { verbose: true });
    const printed = log.mock.calls.flat();
    log.mockRestore();
    expect(printed).toEqual(layers.map((layer) => `layer ${layer}`));
    expect(shape).toEqual([2, 5, 16]);
    const seen: [number, number][] = [];
    await program.forward(x, { verbose: (layer, depth) => seen.push([layer, depth]) });
    expect(seen).toEqual(layers.map((layer, depth) => [layer, depth]));
  });

  it("loads and saves safetensors under PyTorch's names", async () => {
    const encoder = open({ norm: true });
    const weights = initialise(encoder.parameters, 4);
    const bytes = writeSafetensors(stateDict(encoder.parameters, weights));
    const other = open({ norm: true });
    const loaded = loadStateDict(other.parameters, readSafetensors(bytes, "encoder").tensors);
    const engine = await ortEngine({ threads: 1 });
    const [a, b] = [
      await EncoderProgram.create(engine, encoder, weights),
      await EncoderProgram.create(engine, other, loaded),
    ];
    expect((await b.forward(x)).data).toEqual((await a.forward(x)).data);
    await Promise.all([a.release(), b.release()]);
  });

  it("says what is wrong with a state dict", () => {
    const { parameters } = open();
    const stored = stateDict(parameters, initialise(parameters, 1));
    const without = new Map([...stored].filter(([name]) => name !== "layers.1.linear1.bias"));
    expect(() => loadStateDict(parameters, without, "a.safetensors")).toThrow(
      "a.safetensors / layers.1.linear1.bias: expected numbers of shape [32], got nothing",
    );
    const record = { dtype: "F32", shape: [16], data: new Float32Array(16) } as const;
    expect(() => loadStateDict(parameters, new Map([...stored, ["layers.1.norm3.bias", record]]))).toThrow(
      "expected only weights of the model, got layers.1.norm3.bias; did you mean layers.1.norm",
    );
    expect(() => loadStateDict(parameters, new Map([...stored, ["layers.0.linear1.weight", record]]))).toThrow(
      "layers.0.linear1.weight: expected numbers of shape [32,16], got [16]",
    );
  });

  it("hides padding: what stands there changes nothing elsewhere", async () => {
    const encoder = open();
    const weights = initialise(encoder.parameters, 2);
    const program = await EncoderProgram.create(referenceEngine(), encoder, weights, { padding: true });
    const srcKeyPaddingMask = Uint8Array.of(0, 0, 0, 1, 1, 0, 0, 0, 0, 0);
    const changed = Float32Array.from(x.data, (value, i) => (i >= 3 * 16 && i < 5 * 16 ? 9 : value));
    const a = await program.forward(x, { srcKeyPaddingMask });
    const b = await program.forward({ ...x, data: changed }, { srcKeyPaddingMask });
    expect(b.data.slice(0, 48)).toEqual(a.data.slice(0, 48));
    expect(b.data.slice(80)).toEqual(a.data.slice(80));
  });

  it("compiles for the masks it is given, announced or not", async () => {
    const encoder = open();
    const weights = initialise(encoder.parameters, 2);
    const [plain, announced] = [
      await EncoderProgram.create(referenceEngine(), encoder, weights),
      await EncoderProgram.create(referenceEngine(), encoder, weights, { mask: "boolean", padding: true }),
    ];
    const mask = Uint8Array.from({ length: 25 }, (_, i) => Number(i % 5 > Math.floor(i / 5)));
    const additive = Float32Array.from(mask, (hidden) => (hidden ? -1e9 : 0));
    const srcKeyPaddingMask = Uint8Array.of(0, 0, 0, 1, 1, 0, 0, 0, 0, 0);
    const free = await plain.forward(x);
    const masked = await plain.forward(x, { mask });
    expect(masked.data).not.toEqual(free.data);
    expect((await plain.forward(x, { mask: additive })).data).toEqual(masked.data);
    expect((await announced.forward(x)).data).toEqual(free.data);
    expect((await plain.forward(x, { mask, srcKeyPaddingMask })).data).toEqual(
      (await announced.forward(x, { mask, srcKeyPaddingMask })).data,
    );
    await Promise.all([plain.release(), announced.release()]);
  });

  it("compiles once per kind of masks", async () => {
    const [encoder, engine] = [open(), referenceEngine()];
    const compile = vi.spyOn(engine, "compile");
    const program = await EncoderProgram.create(engine, encoder, initialise(encoder.parameters, 2));
    for (let i = 0; i < 2; i++) await program.forward(x, { mask: new Uint8Array(25) });
    await program.forward(x);
    expect(compile).toHaveBeenCalledTimes(2);
  });

  it("refuses a mask of another size, and options it does not know", async () => {
    const encoder = open();
    const program = await EncoderProgram.create(referenceEngine(), encoder, initialise(encoder.parameters, 2));
    await expect(program.forward(x, { mask: new Uint8Array(9) })).rejects.toThrow("input mask: expected [5,5] ([T,T])");
    const options: object = { padding: new Uint8Array(10) };
    await expect(program.forward(x, options)).rejects.toThrow("got padding; did you mean srcKeyPaddingMask?");
  });

  it("refuses weights of another instance when it is created", async () => {
    const weights = initialise(open().parameters, 2);
    await expect(EncoderProgram.create(referenceEngine(), open(), weights)).rejects.toThrow(
      "weight layers.0.self_attn.in_proj_weight: expected weights of this instance of the model",
    );
  });

  it("gives numbers, not NaN, where a query may see nothing", async () => {
    const encoder = open();
    const weights = initialise(encoder.parameters, 2);
    const program = await EncoderProgram.create(referenceEngine(), encoder, weights, { mask: "additive" });
    const { data } = await program.forward(x, { mask: new Float32Array(25).fill(Number.NEGATIVE_INFINITY) });
    expect(data.every(Number.isFinite)).toBe(true);
  });

  it("sequence-first is batch-first transposed", async () => {
    const [batchFirst, sequenceFirst] = [open(), open({ layout: "sequence-first" })];
    const weights = initialise(batchFirst.parameters, 5);
    const same = loadStateDict(sequenceFirst.parameters, stateDict(batchFirst.parameters, weights));
    const a = await EncoderProgram.create(referenceEngine(), batchFirst, weights);
    const b = await EncoderProgram.create(referenceEngine(), sequenceFirst, same);
    const swapped = Float32Array.from(x.data, (_, i) => {
      const [t, n, c] = [Math.floor(i / 32), Math.floor(i / 16) % 2, i % 16];
      return x.data[(n * 5 + t) * 16 + c]!;
    });
    const y = await a.forward(x);
    const z = await b.forward({ data: swapped, shape: [5, 2, 16] });
    expect(z.shape).toEqual([5, 2, 16]);
    expect(z.data.slice(0, 16)).toEqual(y.data.slice(0, 16));
    expect(z.data.slice(16, 32)).toEqual(y.data.slice(80, 96));
  });

  it("draws dropout for attention weights, both sums and the inner layer", () => {
    const mode = new Training();
    open({ numUniqueLayers: 1, numTotalLayers: 1 }).apply(input("x", [2, 5, 16]), { mode });
    expect(mode.noise.map(({ tensor }) => tensor.shape)).toEqual([
      [2, 4, 5, 5],
      [10, 16],
      [10, 32],
      [10, 16],
    ]);
  });
});

describe("what sharing stores", () => {
  const sizeOf = (options: SharedEncoderOptions) => countParameters(open(options).parameters);

  it("a file grows with the layers that own weights, not with the depth", () => {
    const bytes = (numUniqueLayers: number, numTotalLayers: number) => {
      const encoder = open({ dModel: 64, dimFeedforward: 256, numUniqueLayers, numTotalLayers });
      const [y] = simplify([encoder.apply(input("x", ["B", "T", 64]))]);
      return lower({ outputs: { y: y! }, weights: initialise(encoder.parameters, 1) }).length;
    };
    const [once, deep, wide] = [bytes(1, 2), bytes(1, 6), bytes(3, 6)];
    expect(deep - once).toBeLessThan(0.2 * once);
    expect(wide / deep).toBeGreaterThan(2.5);
  });

  it("parts are shared alone, and norms may belong to each depth", () => {
    const attention = 4 * 16 * 16 + 4 * 16;
    const feedForward = 2 * 16 * 32 + 32 + 16;
    const norms = 4 * 16;
    const layers = { numUniqueLayers: 2, numTotalLayers: 6 };
    expect(sizeOf(layers)).toBe(2 * (attention + feedForward + norms));
    expect(sizeOf({ ...layers, share: "attention" })).toBe(2 * attention + 6 * feedForward + 2 * norms);
    expect(sizeOf({ ...layers, share: "feed-forward" })).toBe(6 * attention + 2 * feedForward + 2 * norms);
    expect(sizeOf({ ...layers, norms: "per-depth" })).toBe(2 * (attention + feedForward) + 6 * norms);
  });
});

describe("mistakes", () => {
  it.each<[string, SharedEncoderOptions, string]>([
    [
      "M > N",
      { numUniqueLayers: 4, numTotalLayers: 3 },
      "1 ≤ unique ≤ depth ≤ 4096, both whole, got unique 4, depth 3",
    ],
    ["an unused layer", { plan: [0, 2, 0] }, "encoder / plan: expected block numbers 0, 1, … with none left out"],
    ["a negative layer", { plan: [0, -1] }, "got [0,-1]"],
    ["heads that do not divide the width", { nhead: 3 }, "a width divisible by heads, got width 16, heads 3"],
    ["d_model", { d_model: 16 } as object, "got d_model; did you mean dModel?"],
    ["dropout: 2", { dropout: 2 }, "encoder / dropout: expected a number from 0 to below 1, got 2"],
    [
      "swish",
      { activation: "swish" as "silu" },
      "encoder / activation: expected one of relu, relu2, silu, tanh, gelu, gelu_new",
    ],
    ["a mode", { mode: "cycle_ref" as "cycle_rev" }, 'got "cycle_ref"; did you mean cycle_rev?'],
    ["a layout", { layout: "batch_first" as "batch-first" }, "did you mean batch-first?"],
    ["an epsilon of 0", { layerNormEps: 0 }, "encoder / layerNormEps: expected a number above 0, got 0"],
  ])("%s is refused when the model is built", (_, options, message) => {
    expect(() => open(options)).toThrow(message);
  });

  it("masks of the wrong shape or type name themselves", () => {
    const encoder = open();
    const states = input("x", [2, 5, 16]);
    expect(() => encoder.apply(states, { mask: input("m", [5, 4], "bool") })).toThrow(
      "encoder / mask: expected bool or float [5,5], got bool [5,4]",
    );
    expect(() => encoder.apply(states, { padding: input("p", [5, 2], "bool") })).toThrow(
      "encoder / padding mask: expected bool [2,5], got bool [5,2]",
    );
    expect(() => encoder.apply(input("x", [2, 5, 17]))).toThrow("encoder: expected [batch, length, 16], got [2,5,17]");
  });
});
