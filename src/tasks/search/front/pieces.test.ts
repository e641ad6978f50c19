import { describe, expect, it } from "vitest";
import { RandomStream } from "../../../base/random.ts";
import { ortEngine } from "../../../engine/ort.ts";
import { foundNetwork } from "../../../model/par/found.ts";
import { parModel } from "../../../model/par/par.ts";
import { parPieces } from "../../../model/par/pieces.ts";
import { initialise } from "../../../nn/index.ts";
import type { Batches } from "../../../train/evaluate.ts";
import { Evaluator } from "../../../train/evaluator.ts";
import { optimiserGroups } from "../../../train/groups.ts";
import { PathEvaluator } from "../../../train/path-evaluator.ts";
import { PATH, PathProgram } from "../../../train/path-program.ts";
import { TrainingStep } from "../../../train/step.ts";

const options = {
  vocabulary: 60,
  width: 16,
  heads: 2,
  hidden: 24,
  memory: 5,
  cutoffs: [10, 30],
  blocks: 4,
  candidates: [
    { kind: "attention" },
    { kind: "feed-forward" },
    { kind: "feed-forward", hidden: 8 },
    { kind: "identity" },
  ] as const,
};
const shape = { batch: 3, length: 4 };
const model = parModel(options);
const weights = initialise(model.parameters, 3);

/** Batches that follow each other; with more memory than a segment holds, it fills slowly. */
function textOf(count: number): Batches {
  const random = new RandomStream(5, "text");
  const size = shape.batch * shape.length;
  const all = Array.from({ length: count }, () =>
    ["ids", "targets"].map(() => Int32Array.from({ length: size }, () => random.integer(60))),
  );
  return {
    count,
    tokens: size,
    at: (i) => {
      const [ids, targets] = all[i % count]!;
      const missing = [model.missingAfter(i % count, shape.length)];
      return { ids: ids!, targets: targets!, missing, ...model.rowsOf(targets!) };
    },
  };
}

const paths = [
  [0, 1, 2, 3],
  [0, 1, 0, 1],
  [3, 3, 3, 3],
  [2, 0, 3, 0],
  [0, 1, 2, 0],
];
const patternOf = (path: readonly number[]) => path.map((k) => ["s", "f", "f:8", "i"][k]).join(" ");

describe("a supernet in pieces", () => {
  it("gives every path the loss that its network has with the same weights", async () => {
    const engine = await ortEngine({ threads: 1 });
    const pieces = parPieces(model, { ...shape, training: false });
    const text = textOf(3);
    const evaluator = await PathEvaluator.create(engine, pieces, weights, text);
    const losses = await evaluator.losses(paths);
    for (const [i, path] of paths.entries()) {
      const network = foundNetwork(model, weights, patternOf(path));
      const own = await Evaluator.create(engine, network.model.objective({ ...shape, training: false }));
      expect(losses[i]).toBeCloseTo(await own.meanLoss(network.weights, text), 5);
      await own.release();
    }
    // Beginnings that are shared run once: 3 + 1 + 0 + 2 + 1 blocks of three batches, with identity for nothing.
    expect(evaluator.runs).toBeLessThan(3 * paths.flat().filter((place) => place !== 3).length);
    const again = await evaluator.losses(paths.toReversed());
    expect(again.toReversed()).toEqual(losses);
    await evaluator.release();
  });

  it("trains along a path as its network would be trained, and leaves other candidates alone", async () => {
    const engine = await ortEngine({ threads: 1 });
    const pieces = parPieces(model, { ...shape, training: true });
    const program = await PathProgram.create(engine, pieces);
    const groups = optimiserGroups(model.parameters, { optimiser: "adamw", engine });
    const common = { engine, seed: 1, sizes: pieces.sizes };
    const supernet = await TrainingStep.around(
      {
        ...common,
        groups,
        initial: weights,
        inputs: { ...pieces.inputs, [PATH]: program.pathInput },
        noise: program.noise,
        carried: program.carried,
      },
      program.plan,
      program,
    );
    const text = textOf(2);
    for (const path of paths) {
      const { model: own, weights: first } = foundNetwork(model, weights, patternOf(path));
      const objective = own.objective({ ...shape, training: true });
      const alone = await TrainingStep.create({
        ...common,
        ...objective,
        groups: optimiserGroups(own.parameters, { optimiser: "adamw", engine }),
        initial: first,
      });
      for (const memory of [supernet.carried, alone.carried]) for (const { data } of memory.values()) data.fill(0);
      for (const i of [0, 1]) {
        const loss = await supernet.differentiate({ ...text.at(i), [PATH]: path });
        expect(loss).toBeCloseTo(await alone.differentiate(text.at(i)), 5);
      }
      const own0 = new Map([...alone.gradients].map(([{ attributes }, data]) => [attributes.name, data]));
      for (const [{ attributes }, data] of supernet.gradients) {
        const wanted = own0.get(attributes.name.replace("dense2", "dense"));
        const isTaken = path.some((k, depth) => taken(attributes.name, depth, k));
        const outer = !attributes.name.startsWith("blocks.");
        if (outer || isTaken) expectClose(data, wanted!);
        else expect(data.every((value) => value === 0)).toBe(true);
      }
      for (const [name, { data }] of alone.carried) expectClose(supernet.carried.get(name)!.data, data);
      await alone.release();
    }
    await supernet.release();
  });
});

const parts = ["attention", "dense", "dense2"];
const taken = (name: string, depth: number, k: number) => k < 3 && name.startsWith(`blocks.${depth}.${parts[k]}.`);

function expectClose(got: Float32Array, wanted: Float32Array): void {
  const scale = Math.max(1e-3, ...wanted.map(Math.abs));
  const apart = got.reduce((most, value, i) => Math.max(most, Math.abs(value - wanted[i]!)), 0);
  expect(apart / scale).toBeLessThan(1e-5);
}
