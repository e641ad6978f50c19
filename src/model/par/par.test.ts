import { describe, expect, it } from "vitest";
import { RandomStream } from "../../base/random.ts";
import { difference } from "../../engine/engine.contract.ts";
import type { Engine, Feed, Numbers } from "../../engine/engine.ts";
import { ortEngine } from "../../engine/ort.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { simplify } from "../../graph/index.ts";
import { initialise } from "../../nn/index.ts";
import { type ParOptions, type ParRun, parModel } from "./par.ts";

const base: ParOptions = { vocabulary: 30, width: 8, heads: 2, hidden: 12, blocks: 2, memory: 3, cutoffs: [6, 15] };
const [BATCH, LENGTH] = [2, 4];
const oracle = referenceEngine({ precision: "double" });

function weightsOf(model: ReturnType<typeof parModel>): Record<string, Float32Array> {
  const entries = [...initialise(model.parameters, 1)].map(([{ attributes }, data]) => {
    return [attributes.name, data.map((value, i) => 3 * value + 0.05 * Math.sin(i))] as const;
  });
  return Object.fromEntries(entries);
}

function segmentsOf(count: number, length = LENGTH) {
  const random = new RandomStream(1, "tokens");
  const draw = () => Int32Array.from({ length: BATCH * length }, () => random.integer(30));
  return Array.from({ length: count }, () => ({ ids: draw(), targets: draw() }));
}

/** Token losses of consecutive segments, memory handed on. */
async function lossesOf(
  engine: Engine,
  options: ParOptions,
  run: Partial<ParRun>,
  segments: ReturnType<typeof segmentsOf>,
) {
  const model = parModel(options);
  const length = run.length ?? LENGTH;
  const { tokenLosses, carried, loss } = model.objective({ batch: BATCH, length, training: false, ...run });
  const names = carried.map(({ input }) => input.attributes.name);
  const simple = simplify([tokenLosses, loss, ...carried.map(({ output }) => output)]);
  const outputs = Object.fromEntries(
    ["each", "loss", ...names.map((name) => `new ${name}`)].map((name, i) => [name, simple[i]!]),
  );
  const program = await engine.compile({ outputs });
  const memory = run.memory ?? options.memory;
  let state: Record<string, Numbers> = Object.fromEntries(
    names.map((name) => [name, new Float32Array(BATCH * memory * options.width)]),
  );
  const found: { each: number[]; loss: number }[] = [];
  for (const [i, { ids, targets }] of segments.entries()) {
    const missing = memory > 0 ? { missing: Int32Array.of(model.missingAfter(i, length, memory)) } : {};
    const rows = Object.entries(model.rowsOf(targets)).map(
      ([name, data]) => [name, { data, shape: [data.length] }] as const,
    );
    const needed = new Set(program.inputs.map(({ name }) => name));
    const feeds: Record<string, Numbers | Feed> = {
      ...weightsOf(model),
      ids,
      targets,
      ...missing,
      ...Object.fromEntries(rows),
      ...state,
    };
    const fed = Object.fromEntries(Object.entries(feeds).filter(([name]) => needed.has(name)));
    const results = await program.run(fed);
    found.push({ each: [...results.each!.data], loss: results.loss!.data[0]! });
    state = Object.fromEntries(names.map((name) => [name, Float32Array.from(results[`new ${name}`]!.data)]));
  }
  await program.release();
  return found;
}

describe("a PAR Transformer-XL", () => {
  it("computes on ONNX Runtime what the reference engine computes, over segments", async () => {
    const segments = segmentsOf(3);
    const expected = await lossesOf(oracle, base, {}, segments);
    const actual = await lossesOf(await ortEngine({ threads: 2 }), base, {}, segments);
    // Single precision through two blocks; losses of order 3.
    for (const [i, { each }] of actual.entries()) expect(difference(each, expected[i]!.each)).toBeLessThan(1e-5);
  });

  it("with memory enough says of two segments what it says of both as one", async () => {
    const options = { ...base, memory: 4, blocks: "sfs" };
    const [a, b] = segmentsOf(2) as [ReturnType<typeof segmentsOf>[0], ReturnType<typeof segmentsOf>[0]];
    const join = (x: Int32Array, y: Int32Array) =>
      Int32Array.from([0, 1].flatMap((r) => [...x.slice(r * 4, r * 4 + 4), ...y.slice(r * 4, r * 4 + 4)]));
    const whole = { ids: join(a.ids, b.ids), targets: join(a.targets, b.targets) };
    // Hidden memories are what the blocks saw, so recurrence loses nothing while the memory reaches back to the start.
    const parts = await lossesOf(oracle, options, {}, [a, b]);
    const [together] = await lossesOf(oracle, options, { length: 8, memory: 0 }, [whole]);
    const second = [0, 1].flatMap((r) => together!.each.slice(r * 8 + 4, r * 8 + 8));
    // Memories are handed on in single precision.
    expect(difference(parts[1]!.each, second)).toBeLessThan(1e-5);
  });

  it("is evaluated with another memory than it was trained with", async () => {
    const segments = segmentsOf(3);
    const [short, long] = [
      await lossesOf(oracle, base, {}, segments),
      await lossesOf(oracle, base, { memory: 8 }, segments),
    ];
    expect(long[0]!.loss).toBeCloseTo(short[0]!.loss, 10);
    expect(Math.abs(long[2]!.loss - short[2]!.loss)).toBeGreaterThan(1e-4);
  });

  it("averages over the targets that count", async () => {
    const [segment] = segmentsOf(1);
    segment!.targets.fill(29, 1);
    const [found] = await lossesOf(oracle, { ...base, padding: 29 }, {}, [segment!]);
    expect(found!.loss).toBeCloseTo(found!.each[0]!, 10);
    expect(found!.each.slice(1).every((value) => value === 0)).toBe(true);
  });

  it("has the parameters of a pattern alone, once it was found", () => {
    const names = (blocks: ParOptions["blocks"]) => parModel({ ...base, blocks }).parameters.map(({ name }) => name);
    expect(names("si").filter((name) => name.startsWith("blocks."))).toHaveLength(9);
    expect(names("si").some((name) => name.endsWith("pi"))).toBe(false);
    expect(names(2).filter((name) => name.endsWith("pi"))).toEqual(["blocks.0.pi", "blocks.1.pi"]);
  });

  it("takes other candidates, of other sizes", () => {
    const candidates = [
      { kind: "feed-forward", hidden: 4 },
      { kind: "feed-forward", hidden: 32 },
      { kind: "attention", heads: 4 },
    ] as const;
    const { parameters } = parModel({ ...base, candidates });
    const shapes = Object.fromEntries(parameters.map(({ name, tensor }) => [name, tensor.shape]));
    expect(shapes["blocks.0.dense.up.weight"]).toEqual([4, 8]);
    expect(shapes["blocks.0.dense2.up.weight"]).toEqual([32, 8]);
    expect(shapes["blocks.1.attention.u"]).toEqual([4, 2]);
  });

  it("keeps the names of candidates when others are cut, twins included", () => {
    const candidates = [
      { kind: "feed-forward", hidden: 4 },
      { kind: "feed-forward", hidden: 32 },
      { kind: "identity" },
    ] as const;
    const model = parModel({ ...base, candidates }).narrowed([[1, 2], [1]]);
    const names = model.parameters.map(({ name }) => name).filter((name) => /weight|pi/.test(name));
    expect(names.filter((name) => name.startsWith("blocks.0"))).toEqual([
      ...["up", "down", "norm"].map((part) => `blocks.0.dense2.${part}.weight`),
      "blocks.0.pi",
    ]);
    expect(names).not.toContain("blocks.1.pi");
    const values = initialise(model.parameters, 1);
    expect([model.probabilities(values), model.chosen(values)]).toEqual([
      [
        [0, 0.5, 0.5],
        [0, 1, 0],
      ],
      [1, 1],
    ]);
    expect(() => model.narrowed([[3], [1]])).toThrow("alive: expected places among the 3, 3 candidates");
  });

  it("may give rare words shorter vectors on the way in", async () => {
    const segments = segmentsOf(1);
    const [found] = await lossesOf(oracle, { ...base, adaptiveInput: true }, {}, segments);
    expect(found!.loss).toBeGreaterThan(0);
    const names = parModel({ ...base, adaptiveInput: true }).parameters.map(({ name }) => name);
    expect(names).toContain("embedding.tails.1.projection");
  });
});
