/** Activations computed again instead of kept: the same updates on every kind of depth, from segments that are blocks. */
import { describe, expect, it } from "vitest";
import { recomputingGradients } from "../src/graph/recompute.ts";
import { segmentsOf } from "../src/graph/segments.ts";
import { type Engine, graph, languageModel, nn, ortEngine, referenceEngine, train, training } from "../src/index.ts";
import { type GradientOptions, stepGraph } from "../src/train/step-graph.ts";
import { BATCH, LENGTH, smallBatches, smallModels } from "./small-models.ts";

const kinds = Object.keys(smallModels).filter((kind) => kind !== "translation");
/** Here the simplifier finds other sums to join, since what is computed again is another node: the same numbers in another order. */
const reordered = ["halting", "exits", "routing by expert", "a search"];

/** Losses and weights after three updates. */
async function trained(kind: string, engine: Engine, recompute: boolean) {
  const model = smallModels[kind]!();
  const data = { train: smallBatches(kind) };
  const session = train(model, { engine, data, steps: 3, rate: 0.01, warmup: 0, seed: 5, recompute });
  const losses: number[] = [];
  for await (const event of session) if (event.type === "step") losses.push(event.loss);
  const { weights } = await session.result;
  return { losses, weights: [...weights].map(([{ attributes }, values]) => [attributes.name, values] as const) };
}

/** A step of a small model, and its batches with what follows the step. */
async function opened(kind: string, recompute: boolean) {
  const model = smallModels[kind]!();
  const objective = model.objective({ batch: BATCH, length: LENGTH, training: true });
  const courses = Object.entries(objective.courses ?? {}).map(([name, at]) => [name, [at(0, 10)]] as const);
  const parameters = model.parameters.map(({ tensor }) => tensor);
  const initial = nn.initialise(model.parameters as nn.Parameter[], 1);
  const { loss, inputs, noise = [], carried = [], sizes = {} } = objective;
  const told = { loss, inputs, noise, carried, sizes, initial, seed: 1, recompute };
  const groups = [{ parameters, optimiser: training.adamw() }];
  const engine = await ortEngine({ threads: 1 });
  const step = await training.TrainingStep.create({ engine, groups, ...told });
  const batches = smallBatches(kind);
  return { step, batchAt: (i: number) => ({ ...batches.at(i), ...Object.fromEntries(courses) }) };
}

/** Gradients of the first batch. */
async function gradientsOf(kind: string, recompute: boolean): Promise<Float32Array[]> {
  const { step, batchAt } = await opened(kind, recompute);
  await step.differentiate(batchAt(0));
  return [...step.gradients.values()].map((values) => Float32Array.from(values));
}

const shape = { vocabulary: 50, width: 32, heads: 2, length: 16, batch: 2 };

const take: GradientOptions["take"] = (loss, wanted, seed) => recomputingGradients(loss, wanted, { seed });

function stepOf(plan: readonly number[], recompute: boolean) {
  const { batch, ...sizes } = shape;
  const model = languageModel({ ...sizes, plan });
  const { loss } = model.objective({ batch, length: shape.length, training: true });
  const parameters = model.parameters.map(({ tensor }) => tensor);
  return { loss, ...stepGraph(loss, parameters, {}, recompute ? { take } : {}) };
}

describe("training that recomputes", () => {
  it.each(kinds.filter((kind) => !reordered.includes(kind)))(
    "makes the same updates of %s, bit for bit",
    async (kind) => {
      const engine = await ortEngine({ threads: 1 });
      expect(await trained(kind, engine, true)).toEqual(await trained(kind, engine, false));
    },
  );

  it.each(reordered)("finds the gradients of %s, but for the order of sums", async (kind) => {
    const [plain, again] = [await gradientsOf(kind, false), await gradientsOf(kind, true)];
    again.forEach((values, i) => {
      const size = Math.max(...plain[i]!.map(Math.abs), 1e-3);
      const apart = Math.max(...values.map((value, k) => Math.abs(value - plain[i]![k]!)));
      // Single precision, sums of some hundred terms.
      expect(apart / size).toBeLessThan(1e-6);
    });
  });

  it("goes on from a checkpoint as if it had not stopped, whether that recomputed or not", async () => {
    const [whole, first] = [await opened("a plan", true), await opened("a plan", false)];
    for (const i of [0, 1, 2]) await whole.step.run(whole.batchAt(i), 0.01);
    for (const i of [0, 1]) await first.step.run(first.batchAt(i), 0.01);
    const second = await opened("a plan", true);
    second.step.restore(first.step.state);
    await second.step.run(second.batchAt(2), 0.01);
    expect(second.step.state).toEqual(whole.step.state);
  });

  it("finds the same gradients on the reference engine", async () => {
    expect(await trained("a plan", referenceEngine(), true)).toEqual(await trained("a plan", referenceEngine(), false));
  });
});

describe("the graph of a step that recomputes", () => {
  const count = (tensors: readonly graph.Tensor[], op: graph.Op) =>
    graph.topological(tensors).filter((node) => node.op === op).length;

  it("runs the interior of all blocks but the last once more, and the products that only lead out of one not", () => {
    const plan = [0, 1, 2, 3, 4, 5];
    const [plain, again] = [false, true].map((recompute) => Object.values(stepOf(plan, recompute).outputs));
    expect(count(plain!, "after")).toBe(0);
    expect(count(again!, "softmax")).toBeGreaterThanOrEqual(count(plain!, "softmax") + plan.length - 1);
    // Of qkv, scores, mixed, out, up, down at least the last of every segment is not wanted again.
    const more = count(again!, "matmul") - count(plain!, "matmul");
    expect(more).toBeGreaterThanOrEqual(4 * (plan.length - 1));
    expect(more).toBeLessThan(6 * plan.length);
  });

  it("keeps between blocks no more than the rows that go from one to the next", () => {
    const { loss } = stepOf([0, 1, 0, 1], false);
    const segments = segmentsOf(graph.topological([loss]), new Map());
    expect(segments.length).toBeGreaterThanOrEqual(4);
    const place = new Map(segments.flatMap((segment, i) => segment.map((node) => [node, i] as const)));
    const kept = segments.map((segment, i) => {
      const entering = new Set(segment.flatMap((node) => node.inputs).filter((each) => place.get(each)! < i));
      return [...entering].filter((each) => each.inputs.length > 0).map((each) => `${each.shape}`);
    });
    for (const entering of kept.slice(1)) expect(entering).toEqual([`${shape.batch * shape.length},${shape.width}`]);
  });

  it("waits with a block until the gradient has come to it, and with the gradient until the block's weights have theirs", () => {
    const { outputs } = stepOf([0, 0, 0, 0], true);
    const order = graph.topological(Object.values(outputs));
    const waiting = order.filter((node) => node.op === "after");
    const needs = (node: graph.Tensor, other: graph.Tensor) => graph.topological([node]).includes(other);
    const gradient = outputs["gradient positions.weight"]!;
    for (const node of waiting) expect(needs(gradient, node)).toBe(true);
    // A chain: of any two, one waits for the other or both for the same.
    const last = waiting.filter((node) => !waiting.some((other) => other !== node && needs(other, node)));
    expect(
      new Set(
        last.map((node) =>
          node.inputs
            .slice(1)
            .map(({ id }) => id)
            .join(),
        ),
      ).size,
    ).toBeLessThanOrEqual(2);
  });
});

it("a step refuses nothing it did not refuse before: named dimensions without a size are some size", () => {
  const x = graph.input("x", ["N", 4]);
  const w = graph.parameter("w", [4]);
  const loss = graph.sum(graph.exp(graph.multiply(x, w)));
  expect(() => stepGraph(loss, [w], {}, { take })).not.toThrow();
});
