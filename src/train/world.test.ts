import { describe, expect, it } from "vitest";
import { cycle } from "../depth/plan.ts";
import type { World } from "../engine/engine.ts";
import { ortEngine } from "../engine/ort.ts";
import { languageModel } from "../model/language/language.ts";
import type { TrainState } from "./events.ts";
import { type TrainOptions, train } from "./train.ts";
import { anyOf, told } from "./world.ts";

/** Processes of a world, in this one: a sum waits until all have come. */
function worlds(size: number, localSteps = 1): World[] {
  let waiting: { values: Float32Array | Float64Array; done: () => void }[] = [];
  const sum = (values: Float32Array | Float64Array) =>
    new Promise<void>((done) => {
      waiting.push({ values, done });
      if (waiting.length < size) return;
      const all = waiting;
      waiting = [];
      const total = values.map((_, i) => all.reduce((sofar, { values: each }) => sofar + each[i]!, 0));
      for (const each of all) each.values.set(total);
      for (const each of all) each.done();
    });
  return Array.from({ length: size }, (_, rank) => ({ rank, size, localSteps, sum }));
}

const [batch, length, vocabulary] = [4, 5, 11];
const batches = {
  count: 3,
  rows: batch,
  length,
  at: (index: number) => {
    const ids = Int32Array.from({ length: batch * length }, (_, i) => (7 * i + 3 * index) % vocabulary);
    return { ids, targets: ids.map((id) => (id + 1) % vocabulary) };
  },
};
const options: Omit<TrainOptions, "engine"> = {
  data: { train: batches, valid: batches },
  steps: 6,
  rate: 0.01,
  warmup: 1,
  evaluateEvery: 2,
  checkpointEvery: 2,
};

const engine = (world?: World) => ortEngine({ threads: 1 }).then((made) => (world ? { ...made, world } : made));

/** Losses of the steps, the weights, and the state after the second step. */
async function trained(world: World | undefined, width: number, more: Partial<TrainOptions> = {}) {
  const plan = cycle({ unique: 1, depth: 2 });
  const model = languageModel({ vocabulary, width, heads: 1, plan, length, dropout: 0.3 });
  const session = train(model, { ...options, ...more, engine: await engine(world) });
  const losses: number[] = [];
  let second: TrainState | undefined;
  for await (const event of session) {
    if (event.type === "step" || event.type === "evaluation") losses.push(event.loss);
    if (event.type === "checkpoint" && event.step === 2) second = event.state;
  }
  const { weights } = await session.result;
  return { losses, weights: [...weights.values()].flatMap((data) => [...data]), second };
}

const together = (all: readonly World[], width: number, more: Partial<TrainOptions> = {}) =>
  Promise.all(all.map((world) => trained(world, width, more)));

describe("processes that share a batch", () => {
  // A width of 3 gives noise that no process can draw by itself: 15 numbers a row.
  it.each([8, 3])("learn what one process does, dropout included (width %d)", async (width) => {
    const alone = await trained(undefined, width);
    for (const size of [2, 4]) {
      const all = await together(worlds(size), width);
      for (const each of all) expect(each.weights).toEqual(all[0]!.weights);
      expect(all[0]!.losses.length).toBe(alone.losses.length);
      all[0]!.losses.forEach((loss, i) => {
        expect(loss).toBeCloseTo(alone.losses[i]!, 5);
      });
    }
  });

  it("go on from a checkpoint, in any number", async () => {
    const [whole] = await together(worlds(2), 8);
    const [resumed] = await together(worlds(2), 8, { resume: whole!.second });
    expect(resumed!.weights).toEqual(whole!.weights);
    const alone = await trained(undefined, 8, { resume: whole!.second });
    alone.weights.forEach((weight, i) => {
      expect(weight).toBeCloseTo(whole!.weights[i]!, 5);
    });
  });

  it("are refused a batch that they cannot share evenly", async () => {
    await expect(together(worlds(3), 8)).rejects.toThrow("a batch that 3 processes can share evenly, got 4 rows");
  });
});

describe("local steps", () => {
  it("end with the same weights everywhere, and go on exactly from a checkpoint", async () => {
    const all = await together(worlds(2, 2), 8);
    expect(all[1]!.weights).toEqual(all[0]!.weights);
    expect(all[0]!.losses.at(-1)).toBeLessThan(all[0]!.losses[0]!);
    const [resumed] = await together(worlds(2, 2), 8, { resume: all[0]!.second });
    expect(resumed!.weights).toEqual(all[0]!.weights);
  });
});

describe("agreement", () => {
  it("tells all what the first says, numbers that JSON lacks included", async () => {
    const said = { loss: Number.NaN, words: "τ π", none: null };
    expect(await Promise.all(worlds(3).map((world) => told(world, () => said)))).toEqual([said, said, said]);
  });

  it("is yes where any says so", async () => {
    expect(await Promise.all(worlds(2).map((world) => anyOf(world, world.rank === 1)))).toEqual([true, true]);
    expect(await Promise.all(worlds(2).map((world) => anyOf(world, false)))).toEqual([false, false]);
  });
});
