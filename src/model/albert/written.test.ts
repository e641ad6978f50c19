import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import { depthContract } from "../../depth/depth.contract.ts";
import { difference } from "../../engine/engine.contract.ts";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { simplifyNamed } from "../../graph/index.ts";
import { initialise, type Parameter } from "../../nn/index.ts";
import { adam } from "../../train/optimiser.ts";
import { TrainingStep } from "../../train/step.ts";
import { type Albert, type AlbertOptions, albert } from "./albert.ts";
import { blockEncoder } from "./block-encoder.ts";
import { encodeWithAttentions } from "./depth.ts";
import { describedAlbert } from "./description.ts";
import { albertConfig, albertProgram } from "./export.ts";
import { albertObjective, textInputs } from "./heads.ts";
import { encodeRunning } from "./running.ts";
import { writtenStack } from "./written.ts";

const sizes = { vocabulary: 20, width: 8, heads: 2, embedding: 6, hidden: 12, length: 6 };
const [batch, length] = [2, 6];
const texts = {
  ids: Int32Array.from({ length: batch * length }, (_, i) => (7 * i + 3) % 20),
  mask: Int32Array.from({ length: batch * length }, (_, i) => Number(i % length < 5)),
  types: new Int32Array(batch * length),
};
const engine = await ortEngine({ threads: 1 });
const modern = { norm: "rms", gated: true, keyHeads: 1, queryKeyNorm: true, bias: false, rotary: true } as const;

/** First weights, moved a little: routers and halting units then differ from token to token. */
function weightsOf({ parameters }: { parameters: readonly Parameter[] }) {
  return new Map(
    [...initialise(parameters, 3)].map(([tensor, data]) => {
      const random = new RandomStream(4, tensor.attributes.name);
      return [tensor, data.map((value) => value + 0.2 * random.normal())] as const;
    }),
  );
}

/** States and depths, of all rows or of those that run. */
async function encoded(model: Albert, how: "all" | "running", on = engine) {
  const inputs = textInputs({ batch, length });
  const { sequence, probes } = how === "all" ? model.encode(inputs) : encodeRunning(model, inputs);
  const outputs = { sequence, ...(probes.updates ? { updates: probes.updates } : {}) };
  const program = await on.compile({ outputs: simplifyNamed(outputs), weights: weightsOf(model) });
  const found = await program.run(texts);
  await program.release();
  const real = (name: string) => {
    const { data } = found[name]!;
    const width = data.length / (batch * length);
    return [...data].filter((_, i) => texts.mask[Math.floor(i / width)] === 1);
  };
  return { sequence: real("sequence"), updates: found.updates && real("updates") };
}

const namesOf = ({ parameters }: Pick<Albert, "parameters">) => parameters.map(({ name }) => name);

const depths: [depth: string, style: Partial<AlbertOptions>][] = [
  ["2*3", {}],
  ["1*4 halt", {}],
  ["1*4 halt(keys=first)", {}],
  ["2*2 halt(keys=last, stepEmbedding)", {}],
  ["1*3 relax(2, norms, biases) halt", {}],
  ["1*3 route(token)", {}],
  ["1*3 route(expert)", {}],
  ["1 + 1 loop(3, mean=2, injection=add) + 1", {}],
  ["(1*2 halt)*2 halt", {}],
  ["1*4 exits(rule=difference, level=0.5, keys=own)", {}],
  ["3*1 drop(0.3, exitLoss=0)", {}],
  ["(sf)x2", {}],
  ["(sff)x2*2 halt(biasInitial=-3)", {}],
  ["1*3 halt", modern],
  ["1 + (s f:16)*2 relax(2) halt(biasInitial=-3)", { gated: true }],
];

describe("an encoder with a depth in words", () => {
  it.each(depths)("%s computes for tokens that run what it computes for all", async (depth, style) => {
    const model = albert({ ...sizes, ...style, depth });
    const [all, running] = [await encoded(model, "all"), await encoded(model, "running")];
    expect(difference(running.sequence, all.sequence)).toBeLessThan(1e-5);
    expect(running.updates).toEqual(all.updates);
  });

  it.each(depths)("%s learns masked words, and moves all of its weights", async (depth, style) => {
    const heads = { maskedLanguage: { predictions: 2 }, sentenceOrder: {} };
    const { model, parameters, ...described } = describedAlbert({ model: { ...sizes, ...style, depth }, heads });
    const shape = { batch, length, training: true };
    const objective = albertObjective(model, Object.values(described.heads), shape);
    const groups = [{ parameters: parameters.map(({ tensor }) => tensor), optimiser: adam() }];
    const initial = weightsOf({ parameters });
    const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1 });
    const words = {
      maskedPositions: Int32Array.of(1, 2, 0, 3),
      maskedLabels: Int32Array.of(5, 6, 7, 8),
      maskedWeights: Float32Array.of(1, 1, 1, 1),
      order: Int32Array.of(0, 1),
    };
    const losses: number[] = [];
    for (let i = 0; i < 12; i++) {
      const scalars = Object.entries(objective.courses ?? {}).map(([name, at]) => [name, Float32Array.of(at(i, 12))]);
      losses.push((await step.run({ ...texts, ...words, ...Object.fromEntries(scalars) }, 0.01)).loss);
    }
    expect(losses.at(-1)).toBeLessThan(losses[0]! - 0.2);
    const still = parameters.filter(({ tensor }) => difference(step.weights.get(tensor)!, initial.get(tensor)!) === 0);
    await step.release();
    expect(still.map(({ name }) => name)).toEqual([]);
  });

  it("is the ALBERT of a number where it says the same, to the names and the bit", async () => {
    const [written, counted] = [albert({ ...sizes, depth: "1*3" }), albert({ ...sizes, depth: 3 })];
    expect([namesOf(written), written.policy.depth]).toEqual([namesOf(counted), 3]);
    expect(await encoded(written, "all")).toEqual(await encoded(counted, "all"));
    const halting = albert({ ...sizes, depth: 3, halting: { ponder: 0.01 } });
    const said = albert({ ...sizes, depth: "1*3 halt" });
    expect(namesOf(said)).toEqual(namesOf(halting));
    expect(await encoded(said, "all")).toEqual(await encoded(halting, "all"));
    expect(namesOf(albert({ ...sizes, depth: "2*3" }))).toEqual(namesOf(albert({ ...sizes, depth: 6, groups: 2 })));
  });

  it("is the encoder of blocks where it has the same letters", async () => {
    const [written, blocks] = [
      albert({ ...sizes, depth: "(sff)x2" }),
      blockEncoder({ ...sizes, depth: 6, blocks: "(sff)x2" }),
    ];
    expect(namesOf(written).toSorted()).toEqual(namesOf(blocks).toSorted());
    expect(await encoded(written, "all")).toEqual(await encoded(blocks, "all"));
  });

  it("has other weights at every visit where sharing is relaxed, on any engine", async () => {
    const model = albert({ ...sizes, depth: "1*3 relax(2)" });
    const [ours, theirs] = [
      await encoded(model, "all"),
      await encoded(model, "all", referenceEngine({ precision: "double" })),
    ];
    expect(difference(ours.sequence, theirs.sequence)).toBeLessThan(1e-4);
    const plain = await encoded(albert({ ...sizes, depth: "1*3" }), "all");
    expect(difference(ours.sequence, plain.sequence)).toBeGreaterThan(0.01);
  });

  it("shows attention of ALBERT's layers, and exports with its text", () => {
    const model = albert({ ...sizes, depth: "2*2 halt" });
    expect(encodeWithAttentions(model, textInputs({ batch, length })).attentions).toHaveLength(4);
    expect(Object.keys(albertProgram(model, weightsOf(model)).outputs)).toEqual(["sequence", "pooled", "updates"]);
    expect(albertConfig(model, {})).toMatchObject({ kind: "encoder", depth: "2*2 halt" });
  });

  it.each<[string, Partial<AlbertOptions>, string]>([
    ["1*4 exits(gate)", {}, "encoder depth: expected a depth without exits that predict"],
    ["3*1 drop(0.2)", {}, "encoder depth: expected a depth without exits that predict"],
    ["1*4 exits(rule=entropy)", {}, "exits / entropy: expected a model with a head that scores tokens"],
    ["1*4 exits(rule=agreement)", {}, "exits / agreement: expected a model with a head that scores tokens"],
    ["2x3 halt", {}, "write 2*3 to run them 3 times"],
    ["2*3", { halting: {} }, 'expected all of it in words, got halting beside "2*3"'],
    ["2*3", { groups: 2 }, 'got several groups beside "2*3"'],
    ["(sf)x2", { lora: { rank: 2 } }, "expected ALBERT's own layers for lora"],
  ])("%s with %j is refused", (depth, more, said) => {
    expect(() => albert({ ...sizes, ...more, depth })).toThrow(said);
  });

  it("is what newer blocks are for", () => {
    expect(() => albert({ ...sizes, depth: 4, gated: true })).toThrow(
      'ALBERT / gated: expected a depth in words, got 4; write "1*4" or "4*1"',
    );
    const names = namesOf(albert({ ...sizes, ...modern, depth: "1*3" })).join();
    expect(names).not.toContain("position_embeddings");
    expect(names).toContain("encoder.blocks.0.query_norm");
  });
});

const shape = { heads: 2, hidden: 12, length: 6, dropout: 0, attentionDropout: 0, activation: "gelu_new" } as const;
const nothing = { groups: 1, inner: 1, halting: undefined, lora: undefined };
const opened = (depth: string) => (width: number) =>
  writtenStack({ ...shape, ...nothing, width, epsilon: 1e-6, depth }).policy;
depthContract("ALBERT's layers in words", opened("1*2 relax(2, norms) halt + 1"));
depthContract("ALBERT's layers that loop", opened("1 + 1 loop(2, injection=add)"));
