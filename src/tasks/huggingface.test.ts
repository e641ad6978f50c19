import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import { RandomStream } from "../base/random.ts";
import { referenceEngine } from "../engine/reference.ts";
import { readSafetensors } from "../format/safetensors.ts";
import { gradients, input, type Tensor } from "../graph/index.ts";
import { describedAlbert } from "../model/albert/description.ts";
import { albertObjective } from "../model/albert/heads.ts";
import { MODELING } from "../model/huggingface/modeling.ts";
import { nameFromTorch, torchName } from "../model/huggingface/names.ts";
import { type LanguageModelOptions, languageModel } from "../model/language/language.ts";
import { type ParOptions, parModel } from "../model/par/par.ts";
import type { Weights } from "../model/weights.ts";
import { initialise, type Parameter } from "../nn/index.ts";
import type { ExportedFiles } from "./exports.ts";
import { huggingFaceAlbert, huggingFaceLanguage, huggingFacePar } from "./huggingface.ts";

const folder = ownFolder("huggingface");
const python = process.env.LAYERWISE_PYTHON;
const source = { step: 3, tokenizer: new Uint8Array(), run: "task: language\n" };
const shared = { vocabulary: 23, width: 16, heads: 4 };
const sizes = { ...shared, length: 9 };

/** Weights without zeros: norms, biases and halting units have to show. */
function drawn(parameters: readonly Parameter[]): Map<Tensor<"parameter">, Float32Array> {
  const random = new RandomStream(5, "huggingface");
  const first = initialise(parameters, 3);
  return new Map([...first].map(([tensor, values]) => [tensor, values.map((x) => x + 0.1 * random.normal())]));
}

const idsOf = (rows: number, length: number, vocabulary: number) =>
  Int32Array.from({ length: rows * length }, (_, i) => (7 * i + (i % 5)) % vocabulary);

const rowsOf = (data: ArrayLike<number>, length: number) =>
  Array.from({ length: data.length / length }, (_, i) => Array.from(data).slice(i * length, (i + 1) * length));

type Feeds = Readonly<Record<string, { readonly data: Int32Array | Float32Array; readonly shape: readonly number[] }>>;

async function computed(outputs: Record<string, Tensor>, weights: Weights, feeds: Feeds) {
  const program = await referenceEngine().compile({ outputs, weights });
  const results = await program.run(feeds);
  return Object.fromEntries(
    Object.entries(results).map(([name, { data }]) => [name, Array.from(data as Float32Array)]),
  );
}

/** Gradients of a loss, by the names that PyTorch has. */
function slopes(loss: Tensor, parameters: readonly Parameter[], weights: Weights, feeds: Feeds) {
  const found = gradients(
    loss,
    parameters.map(({ tensor }) => tensor),
  );
  const named = parameters.map(({ name }, i) => [torchName(name), found[i]!] as const);
  return computed(Object.fromEntries(named), weights, feeds);
}

const cases: string[] = [];

async function kept(name: string, files: ExportedFiles, expected: object): Promise<void> {
  const path = join(folder, name);
  await mkdir(path);
  for (const [file, bytes] of Object.entries(files)) await writeFile(join(path, file), bytes);
  await writeFile(join(path, "expected.json"), JSON.stringify(expected));
  cases.push(path);
}

/** The files hold every weight, to the bit, under a name that leads back to ours. */
function expectWeights(files: ExportedFiles, parameters: readonly Parameter[], weights: Weights): void {
  const { tensors } = readSafetensors(files["model.safetensors"]!, "export");
  const own = new Map([...tensors].map(([name, tensor]) => [nameFromTorch(name), tensor]));
  own.delete("ranks");
  expect([...own.keys()].sort()).toEqual(parameters.map(({ name }) => name).sort());
  for (const { name, tensor } of parameters) expect(own.get(name)!.data).toEqual(weights.get(tensor));
}

const languages: Readonly<Record<string, LanguageModelOptions>> = {
  plan: { ...sizes, plan: [0, 1, 0, 1] },
  modern: {
    ...sizes,
    plan: [0, 1],
    positions: "rotary",
    norm: "rms",
    keyHeads: 2,
    queryKeyNorm: true,
    gated: true,
    activation: "silu",
    bias: false,
    tied: false,
  },
  relaxed: { ...sizes, plan: [0, 0, 0], relax: { rank: 2, norms: true, biases: true, scales: true } },
  halting: { ...sizes, plan: [0, 0, 0, 0], halting: { ponder: 0.1, stepEmbedding: true } },
  "weighted-sum": { ...sizes, plan: [0, 1, 0, 1], halting: { accumulate: "weightedSum", biasInitial: -1 } },
  written: { ...sizes, depth: "1 + 2*2 halt(ponder=0.1) + s f:24 i" },
  "written-group": { ...sizes, depth: "(1*2 relax(2) + sf)*2 halt + 1" },
  looped: { ...sizes, depth: "1 + 2 loop(3, injection=linear, gradientLoops=2) + 1 loop(2, injection=diagonal)" },
};

describe("a language model for transformers", () => {
  it.each(Object.entries(languages))("is written whole: %s", async (name, options) => {
    const model = languageModel(options);
    const weights = drawn(model.parameters);
    const files = huggingFaceLanguage(model, weights, source);
    expect(Object.keys(files).sort()).toEqual([
      "config.json",
      "model.safetensors",
      "modeling_layerwise.py",
      "tokenizer.model",
    ]);
    expectWeights(files, model.parameters, weights);
    const [batch, length] = [2, 7];
    const objective = model.objective({ batch, length, training: false });
    const [ids, targets] = [idsOf(batch, length, 23), idsOf(batch, length, 19)];
    const shape = [batch, length];
    const feeds = { ids: { data: ids, shape }, targets: { data: targets, shape } };
    const logits = model.logits(objective.inputs.ids!);
    const halts = JSON.stringify(options).includes("halt");
    const { updates } = model.deepened(objective.inputs.ids!).probes;
    const outputs = { logits, loss: objective.loss, ...(halts ? { depths: updates! } : {}) };
    const inputs = { input_ids: rowsOf(ids, length), targets: rowsOf(targets, length) };
    const found = await computed(outputs, weights, feeds);
    const training = model.objective({ batch, length, training: true }); // without dropout, with the penalty on depth
    await kept(name, files, {
      inputs,
      outputs: found,
      gradients: await slopes(training.loss, model.parameters, weights, feeds),
    });
  });

  it.each(["2 exits", "3 route(token)", "2 drop(0.1)", "2 loop(4, mean=2)", "2 halt(keys=last)"])(
    "refuses %s by name",
    (depth) => {
      const model = languageModel({ ...sizes, depth });
      const word = /exits|route|drop|loop\(mean|keys=last/;
      expect(() => huggingFaceLanguage(model, drawn(model.parameters), source)).toThrow(word);
    },
  );
});

const networks: Readonly<Record<string, ParOptions>> = {
  par: { ...shared, blocks: "sfsi f:24 s:2", memory: 6 },
  "par-adaptive": {
    ...shared,
    blocks: "sf sf",
    memory: 5,
    cutoffs: [7, 15],
    projectionFactor: 2,
    adaptiveInput: true,
    clampLength: 4,
    sameLength: true,
  },
};

describe("a found network for transformers", () => {
  it.each(Object.entries(networks))("is written whole, with its memory: %s", async (name, options) => {
    const model = parModel(options);
    const { memory, width, vocabulary } = model.options;
    const weights = drawn(model.parameters);
    const ranks = Int32Array.from({ length: vocabulary }, (_, i) => (5 * i + 2) % vocabulary);
    const length = 4;
    const files = huggingFacePar(model, weights, { ...source, ranks, length });
    expectWeights(files, model.parameters, weights);
    const { parProgram } = await import("../model/par/export.ts");
    const program = await referenceEngine().compile(parProgram(model, weights, { length, memory, ranks }));
    const segments: object[] = [];
    let carried: Record<string, { data: Float32Array | Int32Array; shape: readonly number[] }> = {
      missing: { data: Int32Array.of(memory), shape: [] },
    };
    for (const { attributes } of model
      .segment(input("ids", [2, length], "int"), { batch: 2, length })
      .carried.map((each) => each.input)) {
      carried[attributes.name] = { data: new Float32Array(2 * memory * width), shape: [2, memory, width] };
    }
    const wanted = new Set(program.inputs.map((each) => (typeof each === "string" ? each : each.name)));
    for (let k = 0; k < 3; k++) {
      const ids = idsOf(2, length, vocabulary).map((id) => (id + 3 * k) % vocabulary);
      const feeds = { ids: { data: ids, shape: [2, length] }, ...carried };
      const results = await program.run(Object.fromEntries(Object.entries(feeds).filter(([name]) => wanted.has(name))));
      carried = Object.fromEntries(
        Object.entries(results).flatMap(([name, { data, shape }]) => {
          return name.startsWith("next_")
            ? [[name.slice(5), { data: data as Float32Array, shape: shape as number[] }]]
            : [];
        }),
      );
      const logits = Array.from(results.log_probabilities!.data as Float32Array);
      segments.push({ inputs: { input_ids: rowsOf(ids, length) }, outputs: { logits } });
    }
    const [ids, targets] = [idsOf(2, length, vocabulary), idsOf(2, length, vocabulary - 4)];
    const ranked = (all: Int32Array) => all.map((id) => ranks[id]!);
    const { loss } = model.objective({ batch: 2, length, memory: 0, training: true });
    const shape = [2, length];
    const rows = Object.entries(model.rowsOf(ranked(targets))).map(([name, data]) => {
      return [name, { data, shape: [data.length] }];
    });
    const gradients = await slopes(loss, model.parameters, weights, {
      ids: { data: ranked(ids), shape },
      targets: { data: ranked(targets), shape },
      ...Object.fromEntries(rows),
    });
    const inputs = { input_ids: rowsOf(ids, length), targets: rowsOf(targets, length) };
    await kept(name, files, { segments, inputs, gradients });
  });

  it("refuses the original's formulas by name", () => {
    const model = parModel({ ...networks.par!, compat: "original" });
    const notes = { ...source, ranks: new Int32Array(23), length: 4 };
    expect(() => huggingFacePar(model, drawn(model.parameters), notes)).toThrow("compat original");
  });
});

const encoder = { vocabulary: 23, embedding: 8, width: 16, heads: 4, depth: 3, length: 9 };
const alberts = {
  albert: { model: { ...encoder, groups: 3 }, heads: { maskedLanguage: {}, sentenceOrder: {} } },
  "albert-act": { model: { ...encoder, halting: { ponder: 0.1, haltAtCap: false } }, heads: { maskedLanguage: {} } },
  "albert-classes": {
    model: { ...encoder, halting: {} },
    heads: { classification: { labels: 3, pooling: "mean", dropout: 0 } },
  },
  "albert-pairs": {
    model: { ...encoder, pairs: 29, halting: {} },
    heads: { classification: { labels: 3, pooling: "pairs", dropout: 0 } },
  },
} as const;

describe("an ALBERT for transformers", () => {
  it.each(Object.entries(alberts))("is written whole: %s", async (name, { model: options, heads }) => {
    const described = describedAlbert({ model: options, heads });
    const { model, parameters } = described;
    const weights = drawn(parameters);
    const files = huggingFaceAlbert(described, heads, weights, { step: 3, tokenizer: undefined });
    expectWeights(files, parameters, weights);
    const [batch, length] = [2, 6];
    const objective = albertObjective(model, Object.values(described.heads), { batch, length, training: false });
    const ids = idsOf(batch, length, 23);
    const mask = Int32Array.of(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0);
    const types = Int32Array.of(0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0);
    const shape = [batch, length];
    const given = { ids, mask, types };
    const masked = "maskedLanguage" in heads;
    const labels = masked
      ? { data: Int32Array.of(-100, 4, -100, 9, -100, -100, 3, -100, -100, -100, -100, -100), shape }
      : { data: Int32Array.of(2, 0), shape: [batch] };
    const order = { data: Int32Array.of(1, 0), shape: [batch] };
    const feeds: Feeds = {
      ...Object.fromEntries(Object.entries(given).map(([key, data]) => [key, { data, shape }])),
      labels,
      ...("sentenceOrder" in heads ? { order } : {}),
    };
    const outputs = {
      logits: (objective.logits.words ?? objective.logits.classes)!,
      loss: objective.loss,
      last_hidden_state: objective.encoded.sequence,
      pooler_output: objective.encoded.pooled!,
    };
    const found = await computed(outputs, weights, feeds);
    const inputs = {
      input_ids: rowsOf(ids, length),
      attention_mask: rowsOf(mask, length),
      token_type_ids: rowsOf(types, length),
      labels: masked ? rowsOf(labels.data, length) : Array.from(labels.data),
      ...("sentenceOrder" in heads ? { sentence_order_label: Array.from(order.data) } : {}),
    };
    const gradients = await slopes(objective.loss, parameters, weights, feeds);
    await kept(name, files, { inputs, outputs: found, gradients });
  });

  it("refuses a head that the Python file lacks, by name", () => {
    const described = describedAlbert({ model: encoder, heads: { multipleChoice: { choices: 2 } } });
    const notes = { step: 0, tokenizer: undefined };
    const heads = { multipleChoice: { choices: 2 } };
    expect(() => huggingFaceAlbert(described, heads, drawn(described.parameters), notes)).toThrow("multipleChoice");
  });
});

describe("modeling_layerwise.py", () => {
  it("is in the library as it lies in the repository", () => {
    expect(MODELING).toBe(readFileSync("src/model/huggingface/modeling_layerwise.py", "utf8"));
  });

  it("has names that lead back to ours", () => {
    for (const name of ["blocks.0.qkv.weight.visit2.down", "blocks.1.norm1.bias.visit1", "blocks.0.scale.visit0"]) {
      expect(nameFromTorch(torchName(name))).toBe(name);
    }
  });

  // Single precision in another order of summation than ours in double: 1e-5.
  it.skipIf(!python)("gives our numbers in PyTorch to 1e-5, and saves our weights to the bit", () => {
    const { stdout, stderr } = spawnSync(python!, ["scripts/huggingface.py", ...cases], { encoding: "utf8" });
    expect(stdout, stderr).not.toBe("");
    const differences = JSON.parse(stdout.trim().split("\n").at(-1)!) as Record<string, Record<string, number>>;
    console.log(JSON.stringify(differences));
    expect(Object.keys(differences)).toHaveLength(cases.length);
    for (const [name, each] of Object.entries(differences)) {
      for (const [output, value] of Object.entries(each)) expect(value, `${name} ${output}`).toBeLessThan(1e-5);
    }
    for (const path of cases) {
      const [before, after] = [path, join(path, "saved")].map((each) => {
        return readSafetensors(readFileSync(join(each, "model.safetensors")), each).tensors;
      });
      expect(new Map([...after!].map(([name, { data }]) => [name, data]))).toEqual(
        new Map([...before!].map(([name, { data }]) => [name, data])),
      );
      expect(existsSync(join(path, "saved", "modeling_layerwise.py"))).toBe(true);
    }
  });

  if (!python) console.warn("huggingface: LAYERWISE_PYTHON names no Python with transformers; PyTorch is not compared");
});
