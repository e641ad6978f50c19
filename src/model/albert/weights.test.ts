import { describe, expect, it } from "vitest";
import { readSafetensors, type TensorRecord, writeSafetensors } from "../../format/safetensors.ts";
import { initialise } from "../../nn/index.ts";
import type { FloatRecord } from "../state-dict.ts";
import { albert } from "./albert.ts";
import { classificationHead } from "./heads.ts";
import { importAlbert } from "./import.ts";
import {
  albertOptionsFrom,
  foreignName,
  huggingFaceConfig,
  loadAlbert,
  ownName,
  ownVariable,
  saveAlbert,
  transposed,
} from "./weights.ts";

const sizes = { vocabulary: 20, embedding: 4, width: 8, heads: 2, hidden: 16, depth: 3, length: 10 };
const adaptive = albert({
  ...sizes,
  halting: { haltAtCap: false, biasInitial: 0, ponderReduce: "sum", epsilon: 0.01 },
});
const layer = "encoder.albert_layer_groups.0.albert_layers.0";

function saved(model = adaptive): Map<string, FloatRecord> {
  return saveAlbert(model, model.parameters, initialise(model.parameters, 4));
}

describe("names of ALBERT's weights", () => {
  it.each([
    ["albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.weight", `${layer}.ffn.weight`],
    ["encoder.albert_layer.LayerNorm.bias", `${layer}.attention.LayerNorm.bias`],
    ["encoder.albert_layer.act.dense.weight", "encoder.halting.unit.weight"],
    ["encoder.albert_layer.attention.query.bias", `${layer}.attention.query.bias`],
    ["predictions.decoder.weight", undefined],
    ["albert.embeddings.position_ids", undefined],
  ])("%s is %s here", (foreign, own) => {
    expect(ownName(foreign)).toBe(own);
  });

  it.each([
    ["bert/encoder/transformer/halting/dense/kernel", "encoder.halting.unit.weight", true],
    ["bert/encoder/transformer/LayerNorm_1/gamma", `${layer}.full_layer_layer_norm.weight`, false],
    ["bert/encoder/transformer/group_0/inner_group_0/ffn_1/intermediate/dense/bias", `${layer}.ffn.bias`, false],
    ["bert/pooler/dense/kernel", "pooler.weight", true],
    ["cls/seq_relationship/output_weights", "sop_classifier.classifier.weight", false],
  ])("%s is %s here", (variable, name, transpose) => {
    expect(ownVariable(variable)).toEqual({ name, transpose });
  });

  it("leave out what an optimiser keeps", () => {
    expect(ownVariable("bert/pooler/dense/kernel/adam_m")).toBeUndefined();
    expect(ownVariable("global_step")).toBeUndefined();
  });

  it("come back from the names of either kind", () => {
    for (const isAdaptive of [true, false]) {
      for (const { name } of albert({ ...sizes, halting: isAdaptive ? {} : undefined }).parameters) {
        expect(ownName(foreignName(name, { adaptive: isAdaptive, prefix: "albert." }))).toBe(name);
      }
    }
  });

  it("transposes kernels", () => {
    const { shape, data } = transposed({ shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) });
    expect([shape, [...data]]).toEqual([
      [3, 2],
      [1, 4, 2, 5, 3, 6],
    ]);
  });
});

describe("saving and loading ALBERT", () => {
  it("gives the weights and the config back", () => {
    const config = huggingFaceConfig(adaptive.options);
    expect(config).toMatchObject({ model_type: "albert_act", num_hidden_layers: 3, act_epsilon: 0.01 });
    const again = importAlbert(saved(), config, "saved");
    const weights = initialise(adaptive.parameters, 4);
    expect(again.model.options).toEqual(adaptive.options);
    again.parameters.forEach(({ tensor }, i) => {
      expect(again.weights.get(tensor)).toEqual(weights.get(adaptive.parameters[i]!.tensor));
    });
  });

  it("finds the heads a file has weights for", () => {
    const model = albert(sizes);
    const parameters = [...model.parameters, ...classificationHead(model, { labels: 3 }).parameters];
    const tensors = saveAlbert(model, parameters, initialise(parameters, 1));
    expect([...tensors.keys()].filter((name) => !name.startsWith("albert."))).toEqual([
      "classifier.weight",
      "classifier.bias",
    ]);
    expect(importAlbert(tensors, huggingFaceConfig(model.options), "f").description.heads).toEqual({
      classification: { labels: 3 },
    });
  });

  it("adds a halting unit to a stock ALBERT when asked", () => {
    const stock = albert(sizes);
    const { model, warnings } = importAlbert(saved(stock), huggingFaceConfig(stock.options), "stock", { halt: true });
    expect(model.options.halting).toBeDefined();
    expect(warnings).toEqual([
      expect.stringContaining("so it is 0 in later training: set `ponder`"),
      "encoder.halting.unit.weight, encoder.halting.unit.bias: not in the file, drawn at random",
    ]);
  });

  it("takes what readSafetensors gives, as it is", () => {
    const stock = albert(sizes);
    const positions = { dtype: "I64", shape: [2], data: BigInt64Array.of(0n, 1n) } as const;
    const tensors = new Map<string, TensorRecord>(saved(stock)).set("embeddings.position_ids", positions);
    const bytes = writeSafetensors(tensors);
    const config = huggingFaceConfig(stock.options);
    const { model, weights } = importAlbert(readSafetensors(bytes).tensors, config);
    expect(model.options).toEqual(stock.options);
    expect([...weights.values()]).toEqual([...initialise(stock.parameters, 4).values()]);
  });

  it("gives copies: what is loaded does not change with the file", () => {
    const tensors = saved();
    const { weights } = loadAlbert(adaptive.parameters, tensors);
    for (const { data } of tensors.values()) data.fill(7);
    expect(weights).toEqual(initialise(adaptive.parameters, 4));
  });

  it("refuses options it does not know", () => {
    const options: object = { transposepooler: true };
    expect(() => importAlbert(saved(), huggingFaceConfig(adaptive.options), "f", options)).toThrow(
      "importAlbert: expected options among halt, transposePooler, activation, ponder, seed, heads, configSource, got transposepooler; did you mean transposePooler?",
    );
  });

  it("warns about the published pooler, and turns it when asked", () => {
    const config = huggingFaceConfig(adaptive.options);
    expect(importAlbert(saved(), config, "f").warnings.join()).toContain("set `transposePooler`");
    const { parameters, weights, warnings } = importAlbert(saved(), config, "f", { transposePooler: true });
    const pooler = parameters.find(({ name }) => name === "pooler.weight")!;
    expect(weights.get(pooler.tensor)).toEqual(transposed(saved().get("pooler.weight")!).data);
    expect(warnings).toEqual([]);
  });
});

describe("files that do not fit", () => {
  const load = (change: (tensors: Map<string, FloatRecord>) => void) => {
    const tensors = saved();
    change(tensors);
    return () => loadAlbert(adaptive.parameters, tensors, "file.bin");
  };

  it("lack a tensor", () => {
    expect(load((tensors) => tensors.delete("pooler.bias"))).toThrow(
      "file.bin: expected a tensor pooler.bias [8], got none of that name",
    );
  });

  it("lack one of a pair: that one is named, not the other", () => {
    const tensors = saved();
    tensors.delete("pooler.weight");
    const config = huggingFaceConfig(adaptive.options);
    expect(() => importAlbert(tensors, config, "file.bin")).toThrow(
      "file.bin: expected a tensor pooler.weight [8,8], got none of that name",
    );
    const model = albert(sizes);
    const parameters = [...model.parameters, ...classificationHead(model, { labels: 3 }).parameters];
    const classifier = saveAlbert(model, parameters, initialise(parameters, 1));
    classifier.delete("classifier.weight");
    expect(() => importAlbert(classifier, huggingFaceConfig(model.options), "f")).toThrow(
      "f: expected a tensor classifier.weight [3,8], got none of that name",
    );
  });

  it.each([
    "bert.encoder.layer.0.attention.self.query.weight",
    "encoder.layer.11.output.dense.bias",
    "roberta.encoder.layer.0.intermediate.dense.weight",
    "bert/encoder/layer_0/attention/self/query/kernel",
  ])("are a BERT's: %s", (name) => {
    const tensors = new Map([[name, { shape: [1], data: [0] }]]);
    expect(() => importAlbert(tensors, huggingFaceConfig(adaptive.options), "bert.bin")).toThrow(
      `bert.bin: expected an ALBERT, whose one layer runs at every depth, got a BERT, with layers of its own at every depth (${name}); use ALBERT weights`,
    );
    expect(() => loadAlbert(adaptive.parameters, tensors)).toThrow("got a BERT");
  });

  it("have one too many", () => {
    const extra = { dtype: "F32", shape: [1], data: new Float32Array(1) } as const;
    expect(load((tensors) => tensors.set("pooler.scale", extra))).toThrow(/^file\.bin: expected .* got pooler\.scale/);
  });

  it("have one of another shape", () => {
    const wrong = { dtype: "F32", shape: [8, 4], data: new Float32Array(32) } as const;
    expect(load((tensors) => tensors.set("pooler.weight", wrong))).toThrow(
      "file.bin: pooler.weight: expected numbers of shape [8,8], got [8,4]",
    );
  });

  it("ask for what is not built", () => {
    const config = huggingFaceConfig(adaptive.options);
    expect(() => albertOptionsFrom({ ...config, position_embedding_type: "relative_key" })).toThrow(
      'config / position_embedding_type: expected "absolute", got "relative_key"',
    );
    expect(() => albertOptionsFrom({ ...config, hidden_act: "mish" })).toThrow("config / hidden_act: expected one of");
    expect(() => albertOptionsFrom({ ...config, hidden_size: "768" })).toThrow(
      'config / hidden_size: expected a number, got "768"',
    );
  });

  it("speak of halting without a halting unit", () => {
    const stock = albert(sizes);
    const config = { ...huggingFaceConfig(stock.options), act_epsilon: 0.01 };
    expect(() => importAlbert(saved(stock), config, "f")).toThrow("f: expected a halting unit (act.dense)");
  });
});
