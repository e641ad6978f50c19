import ort from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { referenceEngine } from "../engine/reference.ts";
import { readSafetensors } from "../format/safetensors.ts";
import { input } from "../graph/index.ts";
import { exportConfig } from "../model/language/export.ts";
import { type LanguageModel, languageModel } from "../model/language/language.ts";
import { initialise } from "../nn/index.ts";
import { exportOnnx, exportSafetensors } from "./exports.ts";

const options = { vocabulary: 31, width: 32, heads: 4, plan: [0, 1, 0, 1], length: 10 };

function opened(plan: readonly number[] = options.plan) {
  const model = languageModel({ ...options, plan });
  return { model, weights: initialise(model.parameters, 3) };
}

const weightBytes = (model: LanguageModel) =>
  model.parameters.reduce((sum, { tensor }) => sum + 4 * tensor.attributes.shape.reduce((a, b) => a * b, 1), 0);

describe("an exported ONNX model", () => {
  it.each([
    [1, 1],
    [2, 7],
    [3, 10],
  ])("gives the same logits in a fresh session for %i texts of %i tokens", async (batch, length) => {
    const { model, weights } = opened();
    const data = Int32Array.from({ length: batch * length }, (_, i) => (7 * i + 3) % options.vocabulary);
    const source = { outputs: { logits: model.logits(input("ids", ["B", "T"], "int")) }, weights };
    const program = await referenceEngine().compile(source);
    const expected = (await program.run({ ids: { data, shape: [batch, length] } })).logits!;

    const session = await ort.InferenceSession.create(exportOnnx(model, weights));
    const results = await session.run({ ids: new ort.Tensor("int32", data, [batch, length]) });
    const logits = results.logits!;
    await session.release();
    expect(logits.dims).toEqual([batch, length, options.vocabulary]);
    (logits.data as Float32Array).forEach((value, i) => {
      expect(Math.abs(value - expected.data[i]!)).toBeLessThan(1e-5); // single precision against double
    });
  });

  it("stores the weights of a shared block once", () => {
    const [two, twelve] = [opened([0, 1]), opened([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1])];
    expect(weightBytes(twelve.model)).toBe(weightBytes(two.model));
    const structure = exportOnnx(twelve.model, twelve.weights).length - weightBytes(twelve.model);
    // Names and nodes of twelve depths, but no more numbers: a third block alone would be larger.
    const block = weightBytes(opened([0, 1, 2]).model) - weightBytes(two.model);
    expect(structure).toBeGreaterThan(0);
    expect(structure).toBeLessThan(block);
  });

  it("in 8-bit integers is about a quarter as large, and gives nearly the same logits", async () => {
    const model = languageModel({ ...options, vocabulary: 200, width: 64, plan: [0, 1, 0, 1] });
    const weights = initialise(model.parameters, 3);
    const feeds = {
      ids: new ort.Tensor(
        "int32",
        Int32Array.from({ length: 20 }, (_, i) => (7 * i) % 200),
        [2, 10],
      ),
    };
    const [exact, small] = [exportOnnx(model, weights), exportOnnx(model, weights, { int8: true })];
    expect(small.length / exact.length).toBeLessThan(0.35); // names, nodes, biases and norms are as they were
    const sessions = await Promise.all([exact, small].map((bytes) => ort.InferenceSession.create(bytes)));
    const [right, near] = await Promise.all(
      sessions.map(async (each) => (await each.run(feeds)).logits!.data as Float32Array),
    );
    const size = Math.max(...right!.map(Math.abs));
    expect(Math.max(...right!.map((value, i) => Math.abs(value - near![i]!))) / size).toBeLessThan(0.03);
    await Promise.all(sessions.map((each) => each.release()));
  });

  it("refuses to leave a weight out", () => {
    expect(() => exportOnnx(opened().model, new Map())).toThrow(
      "weight embedding.weight: expected 992 values, got none",
    );
  });
});

describe("exported safetensors and configuration", () => {
  it("hold every weight once, under its name", () => {
    const { model, weights } = opened();
    const { tensors, metadata } = readSafetensors(exportSafetensors(model, weights, { step: "7" }), "export");
    expect(metadata).toEqual({ step: "7" });
    expect([...tensors.keys()].sort()).toEqual(model.parameters.map(({ name }) => name).sort());
    for (const [{ attributes }, values] of weights) expect(tensors.get(attributes.name)!.data).toEqual(values);
  });

  it("make the model again", () => {
    const { model } = opened();
    const again = languageModel(JSON.parse(JSON.stringify(exportConfig(model))));
    const shapes = (each: LanguageModel) => each.parameters.map(({ name, tensor }) => [name, tensor.shape]);
    expect(shapes(again)).toEqual(shapes(model));
  });
});
