import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import { fixed } from "../../depth/fixed.ts";
import { cycle } from "../../depth/plan.ts";
import { difference } from "../../engine/engine.contract.ts";
import type { Feed } from "../../engine/engine.ts";
import { ortEngine } from "../../engine/ort.ts";
import { concat, input, is, simplifyNamed, slice, type Tensor, topological } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { type IdPair, packBatches } from "../../text/pairs/packing.ts";
import { adam } from "../../train/optimiser.ts";
import { TrainingStep } from "../../train/step.ts";
import { Translator } from "./beam.ts";
import type { SideDepths } from "./sides.ts";
import { TranslationModel, type TranslationOptions } from "./translation.ts";

const specials = { padId: 0, bosId: 1, eosId: 2 };
const VOCABULARY = 12;
const sizes = { vocabulary: VOCABULARY, width: 16, heads: 2, hidden: 24, length: 16, dropout: 0 };
const style = { normFirst: true, norm: true };
const engine = await ortEngine({ threads: 1 });

const modelWith = (depths: SideDepths, more: Partial<TranslationOptions> = {}) =>
  new TranslationModel({ ...sizes, ...style, ...depths, ...more });

/** First weights, moved a little: routers and halting units then differ from token to token. */
function weightsOf(model: TranslationModel) {
  return new Map(
    [...initialise(model.parameters, 3)].map(([tensor, data]) => {
      const random = new RandomStream(4, tensor.attributes.name);
      return [tensor, data.map((value) => value + 0.15 * random.normal())] as const;
    }),
  );
}

/** Sentences of 2 to 5 pieces whose translation is the sentence backwards. */
function backwards(count: number): IdPair[] {
  const random = new RandomStream(5, "sentences");
  return Array.from({ length: count }, () => {
    const ids = Array.from({ length: 2 + random.integer(4) }, () => 3 + random.integer(VOCABULARY - 3));
    return { source: Int32Array.of(...ids, specials.eosId), target: Int32Array.from(ids.toReversed()) };
  });
}

/** Depths of either side, alike or apart. */
const depths: readonly (readonly [encoder: string, decoder: string])[] = [
  ["3*2", "2"],
  ["1*3 halt(ponder=0.1)", "1*3 halt(ponder=0.1)"],
  ["2*2 halt(keys=first)", "2*2 halt(keys=last, stepEmbedding)"],
  ["2*2 halt(keys=running)", "1*3 route(token, keys=running)"],
  ["1*3 route(token)", "1*3 route(token)"],
  ["1*3 route(expert)", "1*2 route(expert, capacity=1/0.5)"],
  ["1 + 1 loop(3, mean=2, injection=add)", "1 loop(3, mean=2, injection=linear) + 1"],
  ["1*2 relax(2, norms, biases)", "1*3 relax(2, scales)"],
  ["3 drop(0.3, exitLoss=0)", "3 drop(0.3)"],
  ["1*2 exits(rule=difference, level=0.5)", "1*3 exits(gate)"],
  ["(1*2 halt)*2 halt", "1*2 relax(norms) halt + 1*2 exits(gate, keys=own)"],
];

async function lossOf(model: TranslationModel, pairs: readonly IdPair[], rows: number, length: number) {
  const { loss, outputs = {} } = model.objective({ batch: rows, length, training: false });
  const program = await engine.compile({ outputs: { loss, ...outputs }, weights: weightsOf(model) });
  const [batch] = packBatches(pairs, specials, { rows, length, seed: 1 });
  const found = await program.run({ ...batch! });
  await program.release();
  return Object.fromEntries(Object.entries(found).map(([name, { data }]) => [name, data[0]!]));
}

/** Losses of twenty updates, and the weights that did not move. */
async function learnt(model: TranslationModel) {
  const [batch] = packBatches(backwards(8), specials, { rows: 4, length: 16, seed: 1 });
  const objective = model.objective({ batch: 4, length: 16, training: true });
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const initial = initialise(model.parameters, 1);
  const groups = [{ parameters, optimiser: adam({ beta2: 0.98 }) }];
  const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1 });
  const losses: number[] = [];
  for (let i = 0; i < 20; i++) {
    const scalars = Object.entries(objective.courses ?? {}).map(([name, at]) => [name, Float32Array.of(at(i, 20))]);
    losses.push((await step.run({ ...batch!, ...Object.fromEntries(scalars) }, 5e-3)).loss);
  }
  const still = parameters.filter((tensor) => difference(step.weights.get(tensor)!, initial.get(tensor)!) === 0);
  await step.release();
  return { losses, still: still.map(({ attributes }) => attributes.name) };
}

describe.each(depths)("an encoder of depth %s and a decoder of depth %s", (encoderDepth, decoderDepth) => {
  it("learn: all their weights move, and the loss falls", async () => {
    const { losses, still } = await learnt(modelWith({ encoderDepth, decoderDepth }, { dropout: 0.1 }));
    expect(losses.at(-1)!).toBeLessThan(losses[0]! - 0.2);
    expect(still).toEqual([]);
  });

  it("read every sentence by itself, however rows are packed and padded", async () => {
    const model = modelWith({ encoderDepth, decoderDepth });
    const pairs = backwards(4);
    const packed = await lossOf(model, pairs, 3, 14);
    const alone = await Promise.all(pairs.map((pair) => lossOf(model, [pair], 1, 8)));
    const mean = (name: string, of: (pair: IdPair) => number) => {
      const counts = pairs.map(of);
      return alone.reduce((sum, each, i) => sum + each[name]! * counts[i]!, 0) / counts.reduce((a, b) => a + b);
    };
    const written = ({ target }: IdPair) => target.length + 1;
    // Single precision over some 20 losses, and over counts of depths.
    expect(packed.loss).toBeCloseTo(mean("loss", written), 5);
    if ("encoderDepth" in packed)
      expect(packed.encoderDepth).toBeCloseTo(
        mean("encoderDepth", ({ source }) => source.length),
        5,
      );
    if ("decoderDepth" in packed) expect(packed.decoderDepth).toBeCloseTo(mean("decoderDepth", written), 5);
  });

  it("translate piece by piece out of caches what they compute at once", async () => {
    const model = modelWith({ encoderDepth, decoderDepth });
    const [{ source, target }] = backwards(1) as [IdPair];
    const probabilities = await stepwise(model, source, [specials.bosId, ...target]);
    const labels = [...target, specials.eosId];
    const cost = labels.reduce((sum, label, i) => sum - probabilities[i]![label]!, 0) / labels.length;
    // Single precision through some ten layers.
    expect(cost).toBeCloseTo((await lossOf(model, [{ source, target }], 1, 8)).loss!, 5);
  });

  it("translate sentences together as each alone", async () => {
    const model = modelWith({ encoderDepth, decoderDepth });
    const sources = backwards(3).map(({ source }) => source);
    const translator = await Translator.create(engine, model, weightsOf(model), specials, { beam: 2 });
    const together = await translator.translate(sources);
    for (const [i, source] of sources.entries()) expect(await translator.translate([source])).toEqual([together[i]]);
    await translator.release();
  });
});

/** log p of every piece after each prefix of a target, out of caches: rows [V]. */
async function stepwise(model: TranslationModel, source: Int32Array, target: readonly number[]) {
  const weights = weightsOf(model);
  const pair = (of: string, length: string, width: number) => ({
    keys: input(`${of} keys`, [1, length, width]),
    values: input(`${of} values`, [1, length, width]),
  });
  const [past, memory] = [
    model.cacheWidths.map((width, i) => pair(`past ${i}`, "P", width)),
    Array.from({ length: model.memories }, (_, i) => pair(`memory ${i}`, "S", model.options.width)),
  ];
  const named = (of: string, pairs: readonly { keys: Tensor; values: Tensor }[]) =>
    Object.fromEntries(
      pairs.flatMap(({ keys, values }, i) => [
        [`${of} ${i} keys`, keys],
        [`${of} ${i} values`, values],
      ]),
    );
  const encoded = model.encode(input("ids", [1, "S"], "int"), input("padding", [1, "S"], "bool"));
  const step = model.decode(input("ids", [1, 1], "int"), past, memory, input("padding", [1, "S"], "bool"), 1);
  const longer = step.added.map((added, i) => ({
    keys: concat([past[i]!.keys, added.keys], 1),
    values: concat([past[i]!.values, added.values], 1),
  }));
  const outputs = simplifyNamed({ found: step.logProbabilities, ...named("next", longer) });
  const encoder = await engine.compile({ outputs: simplifyNamed(named("memory", encoded)), weights });
  const decoder = await engine.compile({ outputs, weights });
  const padding = { data: new Uint8Array(source.length), shape: [1, source.length] };
  const remembered = await encoder.run({ ids: { data: source.slice(), shape: [1, source.length] }, padding });
  const empty = ({ shape }: Tensor) => ({ data: new Float32Array(), shape: [1, 0, Number(shape[2])] });
  let state: Record<string, Feed> = Object.fromEntries(
    Object.entries(named("past", past)).map(([name, each]) => [name, empty(each)]),
  );
  const rows: Float32Array[] = [];
  for (const id of target) {
    const ids = { data: Int32Array.of(id), shape: [1, 1] };
    const { found, ...next } = await decoder.run({ ids, padding, ...remembered, ...state });
    rows.push(Float32Array.from(found!.data));
    state = Object.fromEntries(Object.entries(next).map(([name, each]) => [name.replace("next", "past"), each]));
  }
  await Promise.all([encoder.release(), decoder.release()]);
  return rows;
}

describe("newer layers", () => {
  const newer = { normKind: "rms", gated: true, tied: false, activation: "silu" } as const;
  const model = modelWith({ encoderDepth: "1*2 halt", decoderPlan: [0, 0] }, newer);

  it("have norms without a bias, a gate, and a head of their own", () => {
    const names = model.parameters.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["encoder.layers.0.linear3.weight", "head.weight"]));
    expect(names.filter((name) => /norm\d?\.bias/.test(name))).toEqual([]);
  });

  it("learn, and translate piece by piece what they compute at once", async () => {
    const { losses, still } = await learnt(model);
    expect(losses.at(-1)!).toBeLessThan(losses[0]! - 0.2);
    expect(still).toEqual([]);
    const [{ source, target }] = backwards(1) as [IdPair];
    const probabilities = await stepwise(model, source, [specials.bosId, ...target]);
    const labels = [...target, specials.eosId];
    const cost = labels.reduce((sum, label, i) => sum - probabilities[i]![label]!, 0) / labels.length;
    expect(cost).toBeCloseTo((await lossOf(model, [{ source, target }], 1, 8)).loss!, 5);
  });

  it("are refused under names that no norm has", () => {
    const wrong = { normKind: "batch" as "rms" };
    expect(() => modelWith({ encoderDepth: "1", decoderDepth: "1" }, wrong)).toThrow(
      "normKind: expected one of layer, rms",
    );
  });
});

describe("a depth in words", () => {
  it("is the same model as the plan that it stands for", async () => {
    const plan = cycle({ unique: 2, depth: 4 });
    const [planned, written] = [
      modelWith({ encoderPlan: plan, decoderPlan: plan }),
      modelWith({ encoderDepth: "2*2", decoderDepth: "2*2" }),
    ];
    expect(written.parameters.map(({ name }) => name)).toEqual(planned.parameters.map(({ name }) => name));
    expect(await lossOf(written, backwards(3), 3, 16)).toEqual(await lossOf(planned, backwards(3), 3, 16));
  });

  it("names what each side owns after the side", () => {
    const names = modelWith({ encoderDepth: "1*2 halt", decoderDepth: "1*2 halt" }).parameters.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["encoder.halting.unit.weight", "decoder.halting.unit.weight"]));
  });

  it("remembers a source once for all visits of a layer, and once for each where weights differ", () => {
    const memories = (decoderDepth: string) => modelWith({ encoderDepth: "1", decoderDepth }).memories;
    expect([memories("2*3"), memories("2*3 halt"), memories("2*3 relax(norms)")]).toEqual([2, 2, 2]);
    expect(memories("2*3 relax(4)")).toBe(6);
  });

  it("computes tokens of the source no further once they halted", () => {
    const narrowed = (encoderDepth: string) => {
      const padding = input("padding", ["B", "S"], "bool");
      const pairs = modelWith({ encoderDepth, decoderDepth: "1" }).encode(input("ids", ["B", "S"], "int"), padding);
      return topological(pairs.map(({ keys }) => keys)).filter((node) => is(node, "which")).length;
    };
    expect(narrowed("1*3")).toBe(0);
    expect(narrowed("1*3 halt")).toBeGreaterThanOrEqual(3);
  });

  it.each<[SideDepths, string]>([
    [{ encoderDepth: "2" }, "translation model: expected either decoderPlan or decoderDepth, got neither"],
    [{ encoderDepth: "2", encoderPlan: [0], decoderDepth: "1" }, "either encoderPlan or encoderDepth, got both"],
    [{ encoderDepth: "1*2 exits(gate)", decoderDepth: "1" }, "encoder depth: expected a depth without exits"],
    [{ encoderDepth: "2 drop(0.1)", decoderDepth: "1" }, "write halt or route, or drop(0.1, exitLoss=0)"],
    [{ encoderDepth: "2 exits(rule=agreement)", decoderDepth: "1" }, "a model with a head that scores tokens"],
    [{ encoderDepth: "1", decoderDepth: "(sf)x2" }, 'decoder depth: expected whole layers, got "(sf)x2"'],
    [{ encoderDepth: "1 loop(4, mean=2)", decoderDepth: "1 loop(4, mean=3)" }, "one course for all policies"],
    [{ encoderDepth: "1", decoderDepth: "2x3" }, "expected * between blocks"],
  ])("refuses %j when the model is built", (wrong, message) => {
    expect(() => modelWith(wrong)).toThrow(message);
  });

  it("may be a policy, which has to keep the width and to know caches", () => {
    const owned = { parameters: [], caches: 0, apply: (x: Tensor) => x };
    expect(modelWith({ encoderDepth: fixed([owned], [0, 0]), decoderDepth: "1" }).encoder.depth).toBe(2);
    const narrow = { parameters: [], depth: 1, apply: (x: Tensor) => ({ hidden: slice(x, 1, 0, 8), probes: {} }) };
    expect(() => modelWith({ encoderDepth: narrow, decoderDepth: "1" })).toThrow(
      "encoder depth: expected states of width 16",
    );
    const forgetful = { parameters: [], depth: 1, apply: (x: Tensor) => ({ hidden: x, probes: {} }) };
    expect(() => modelWith({ encoderDepth: "1", decoderDepth: forgetful })).toThrow("continues from caches");
  });
});
