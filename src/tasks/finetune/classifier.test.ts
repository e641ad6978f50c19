import { describe, expect, it } from "vitest";
import { ortEngine } from "../../engine/ort.ts";
import { describedAlbert } from "../../model/albert/description.ts";
import { albertObjective } from "../../model/albert/heads.ts";
import { initialise } from "../../nn/index.ts";
import { framed, layOut } from "../../text/labelled/glue-batches.ts";
import { glueTask } from "../../text/labelled/glue-tasks.ts";
import { sgd } from "../../train/optimiser.ts";
import { TrainingStep } from "../../train/step.ts";
import { Classifier, finetuneObjective, guessesOf, LENGTH, lossOf, taskFigures } from "./classifier.ts";
import { submission } from "./uses.ts";

const special = { pad: 0, cls: 2, sep: 3, mask: 4 };
const sizes = { vocabulary: 30, embedding: 6, width: 8, heads: 2, depth: 3, length: 40, dropout: 0.2 };
const described = describedAlbert({
  model: { ...sizes, halting: { ponder: 0.01 } },
  heads: { classification: { labels: 2, dropout: 0.2 } },
});
const weights = initialise(described.parameters, 3);
const example = (length: number, label: number) => {
  const text = Array.from({ length }, (_, i) => 5 + ((i * 7 + length) % 25));
  return { ...framed([text, [9, 8]], special, 40), label };
};
const [short, long] = [
  [example(2, 0), example(3, 1)],
  [example(20, 1), example(28, 0)],
];

async function stepFor(length: number | undefined, engine: Awaited<ReturnType<typeof ortEngine>>) {
  const objective =
    length === undefined
      ? finetuneObjective(described, 2)
      : albertObjective(described.model, [described.heads.classification!], { batch: 2, length, training: true });
  const parameters = described.parameters.map(({ tensor }) => tensor);
  const groups = [{ parameters, optimiser: sgd() }];
  return TrainingStep.create({ engine, ...objective, sizes: { [LENGTH]: 40 }, groups, initial: weights, seed: 5 });
}

describe("texts of any length", () => {
  it("give one program the losses and gradients of programs for each length, dropout included", async () => {
    const engine = await ortEngine({ threads: 1 });
    const any = await stepFor(undefined, engine);
    for (const texts of [long, short]) {
      const { length, ...batch } = layOut(texts, { rows: 2, length: 40, pad: 0, regression: false });
      const one = await stepFor(length, engine);
      one.restore({ ...one.state, noise: any.state.noise });
      const losses = [await any.differentiate({ ...batch }), await one.differentiate({ ...batch })];
      // Products of other shapes are added up in another order: a few float32 roundings.
      expect(losses[0]).toBeCloseTo(losses[1]!, 5);
      for (const [parameter, expected] of one.gradients) {
        const found = any.gradients.get(parameter)!;
        const worst = Math.max(...expected.map((value, i) => Math.abs(value - found[i]!)));
        expect(worst, parameter.attributes.name).toBeLessThan(1e-5);
      }
      await one.release();
    }
    await any.release();
  });

  it("are scored 32 at a time, fewer where they may be long", async () => {
    const engine = await ortEngine({ threads: 1 });
    const examples = Array.from({ length: 40 }, (_, i) => example(1 + (i % 5), 0));
    const largest = async (options: { length?: number; batch?: number }) => {
      const classifier = await Classifier.create(engine, described, options);
      const batches = classifier.batches(examples);
      await classifier.release();
      return Math.max(...batches.map(({ length }) => length));
    };
    expect(await largest({})).toBe(32);
    expect(await largest({ length: 1024 })).toBe(8);
    expect(await largest({ length: 100_000 })).toBe(1);
    expect(await largest({ length: 1024, batch: 16 })).toBe(16);
  });

  it("score the same in any company, in the order they came", async () => {
    const classifier = await Classifier.create(await ortEngine({ threads: 1 }), described);
    const texts = [...long, ...short];
    const all = await classifier.score(weights, texts, { pad: 0 });
    const alone = await classifier.score(weights, [texts[0]!], { pad: 0 });
    await classifier.release();
    expect(all.scores[0]).toBeCloseTo(alone.scores[0]!, 5);
    expect([all.scores.length, all.depth! >= 1 && all.depth! <= 3]).toEqual([8, true]);
  });
});

describe("scores", () => {
  const scored = { scores: Float32Array.of(2, 1, 0, 3), classes: 2, depth: 1.5 };

  it("become guesses, a loss and a task's figures", () => {
    const rte = glueTask("RTE");
    expect([...guessesOf(scored, rte)]).toEqual([0, 1]);
    expect(lossOf(scored, [0, 0], rte)).toBeCloseTo((Math.log(1 + Math.exp(-1)) + Math.log(1 + Math.exp(3))) / 2, 12);
    const examples = [example(2, 0), example(2, 0)];
    expect(taskFigures(rte, scored, examples).figures).toEqual({ accuracy: 0.5, depth: 1.5 });
  });

  it("become lines of a submission: names of classes, numbers within 0 and 5", () => {
    const examples = ["7", "8"].map((index) => ({ index, label: 0, texts: ["a"] as const }));
    expect(submission(glueTask("RTE"), examples, scored)).toBe("index\tprediction\n7\tentailment\n8\tnot_entailment\n");
    const numbers = { scores: Float32Array.of(-0.5, 5.5), classes: 1 };
    expect(submission(glueTask("STS-B"), examples, numbers)).toBe("index\tprediction\n7\t0.000\n8\t5.000\n");
  });
});
