import { describe, expect, it } from "vitest";
import { difference } from "../../engine/engine.contract.ts";
import { ortEngine } from "../../engine/ort.ts";
import { initialise } from "../../nn/index.ts";
import { adam } from "../../train/optimiser.ts";
import { TrainingStep } from "../../train/step.ts";
import { generateIds } from "../generation.ts";
import { parSpec } from "./huggingface.ts";
import { type ParOptions, parModel } from "./par.ts";
import { writtenNetwork } from "./written.ts";

const sizes = { vocabulary: 30, width: 8, heads: 2, hidden: 12, memory: 3, cutoffs: [] } satisfies Partial<ParOptions>;
const engine = await ortEngine({ threads: 1 });
const networkOf = (depth: string) => parModel({ ...sizes, ...writtenNetwork(depth) });

describe("a network with memory in words", () => {
  it.each([
    ["(sf)x2*3", "(sf)x6", [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]],
    ["s + (f:16 s)*2", "(s f:16)x2s", [0, 1, 2, 1, 2]],
    ["1 + 2*2", "(sf)x5", [0, 1, 2, 3, 4, 5, 2, 3, 4, 5]],
    ["((sf)x1*2)*2", "(sf)x4", [0, 1, 0, 1, 0, 1, 0, 1]],
  ])("%s is the pattern %s with shared weights", (depth, pattern, plan) => {
    const found = writtenNetwork(depth);
    expect([found.blocks.replaceAll(" ", ""), found.plan]).toEqual([pattern.replaceAll(" ", ""), plan]);
  });

  it("owns each shared block once, and has a memory at every depth", () => {
    const [shared, once] = [networkOf("(sf)x1*3"), networkOf("(sf)x1")];
    expect(shared.parameters.map(({ name }) => name)).toEqual(once.parameters.map(({ name }) => name));
    expect([shared.policy.unique, shared.policy.depth, shared.memoryInputs(1).length]).toEqual([2, 6, 6]);
  });

  it("computes and writes what unshared blocks of the same weights do, over segments", async () => {
    const [shared, unshared] = [networkOf("(sf)x1*2"), parModel({ ...sizes, blocks: "sfsf" })];
    const first = new Map([...initialise(shared.parameters, 1)].map(([t, data]) => [t.attributes.name, data]));
    const copied = (name: string) => first.get(name.replace("blocks.2", "blocks.0").replace("blocks.3", "blocks.1"))!;
    const [ours, theirs] = await Promise.all(
      [shared, unshared].map(async (model) => {
        const weights = new Map(
          model.parameters.map(({ name, tensor }) => [tensor, copied(name).map((x, i) => 4 * x + 0.1 * Math.sin(i))]),
        );
        const ids: number[] = [];
        const asked = { prompt: [3, 4, 9], maxTokens: 8, temperature: 0 };
        for await (const id of generateIds(engine, model, weights, asked)) ids.push(id);
        return { ids, losses: await trained(model, weights, 0) };
      }),
    );
    expect(difference(ours!.losses, theirs!.losses)).toBeLessThan(1e-6);
    expect(ours!.ids).toEqual(theirs!.ids);
    expect(new Set(ours!.losses).size).toBeGreaterThan(1); // what is remembered counts
  });

  it("learns", async () => {
    const model = networkOf("(sf)x1*2 + f");
    const losses = await trained(model, initialise(model.parameters, 1), 0.02);
    expect(losses.at(-1)).toBeLessThan(losses[0]! - 0.3);
  });

  it.each([
    [
      "(sf)x2*3 halt",
      "expected letters, + and * alone: every depth of a network with memory remembers the states of all tokens, got halt",
    ],
    ["1*3 relax(2)", "got relax"],
    ["1 loop(3)", "write *3 for loop"],
    ["(1*2 halt)*2", "got halt"],
  ])("%s is refused", (depth, said) => {
    expect(() => writtenNetwork(depth)).toThrow(said);
  });

  it("refuses plans that do not fit, and an export that knows no sharing", () => {
    for (const plan of [
      [0, 1, 1, 0],
      [0, 1],
    ]) {
      expect(() => parModel({ ...sizes, blocks: "sfsf", plan })).toThrow("plan: expected a pattern");
    }
    expect(() => parModel({ ...sizes, blocks: 2, plan: [0, 0] })).toThrow("plan: expected a pattern");
    expect(() => parSpec(networkOf("(sf)x1*2"), 8)).toThrow("got blocks that share weights");
  });
});

/** Losses of a few updates over segments that follow each other. */
async function trained(model: ReturnType<typeof parModel>, initial: ReturnType<typeof initialise>, rate: number) {
  const objective = model.objective({ batch: 1, length: 4, training: true });
  const groups = [{ parameters: model.parameters.map(({ tensor }) => tensor), optimiser: adam() }];
  const step = await TrainingStep.create({ engine, ...objective, groups, initial, seed: 1 });
  const losses: number[] = [];
  for (let i = 0; i < 10; i++) {
    const ids = Int32Array.of(3, 4, 5, 6);
    const missing = Int32Array.of(model.missingAfter(i, 4));
    losses.push((await step.run({ ids, targets: Int32Array.of(4, 5, 6, 3), missing }, rate)).loss);
  }
  await step.release();
  return losses;
}
