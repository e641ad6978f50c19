import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { classification, type LabelledText, regression } from "../../text/labelled/text-task.ts";
import { type PretrainResult, pretrain } from "../pretrain/index.ts";
import { Run } from "../run.ts";
import { finetune } from "./finetune.ts";

const folder = ownFolder("finetune");

let pre: PretrainResult;
beforeAll(async () => {
  const model = { width: 16, heads: 2, embedding: 8, depth: 3, halting: { ponder: 0.01 } };
  const tokenizer = "fixtures/runs/data/tokenizer.model";
  const texts = { corpus: "fixtures/runs/data/text", tokenizer, length: 16, batch: 4 };
  pre = await pretrain({ model, ...texts, steps: 1, evaluateTexts: 4 }).result;
});

/** One word decides. */
const made = (count: number): LabelledText[] =>
  Array.from({ length: count }, (_, i) => ({
    text: `${["the", "a", "my"][i % 3]} ${i % 2 ? "good" : "bad"} ${["day", "house", "man", "time"][i % 4]}`,
    label: i % 2 ? "good" : "bad",
  }));

const task = classification({ labels: ["bad", "good"] });
const options = { task, train: made(64), dev: made(12), epochs: 6, batch: 8, rate: 0.01, pooling: "mean" } as const;

describe("fine-tuning from a program", () => {
  it("learns labels of one's own, and says labels, scores and depths", { timeout: 60_000 }, async () => {
    const tuned = await finetune(pre, options).result;
    expect(tuned.epochs.map(({ epoch }) => epoch)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(tuned.epochs.at(-1)!.figures.accuracy).toBe(1);
    const [first, second] = await tuned.predict(["a good house", { text: "my bad day" }]);
    expect([first!.label, second!.label]).toEqual(["good", "bad"]);
    expect(first!.scores.good! + first!.scores.bad!).toBeCloseTo(1, 6);
    expect(first!.depths!.map(({ piece }) => piece)[0]).toBe("[CLS]");
    expect(await tuned.predict([])).toEqual([]);
  });

  it("is stopped, opened and resumed to the same bits with the texts it had", { timeout: 60_000 }, async () => {
    const path = join(folder, "run");
    const short = { ...options, epochs: 2, checkpointEvery: 3 };
    const whole = await finetune(pre, short).result;
    const session = finetune(pre, { ...short, into: await Run.create(path) });
    for await (const event of session) if (event.type === "step" && event.step === 10) break;
    expect([(await session.result).reason, existsSync(join(path, "result.json"))]).toEqual(["stopped", false]);
    const run = await Run.open(path, "finetune");
    expect([run.task, run.glue]).toEqual([task, undefined]);
    await expect(run.resume().result).rejects.toThrow("expected train examples, which a program gives, got none");
    const { weights, epochs } = await run.resume({ train: options.train, dev: options.dev }).result;
    expect([...weights.values()].map(String)).toEqual([...whole.weights.values()].map(String));
    expect(epochs).toEqual(whole.epochs);
    expect(JSON.parse(readFileSync(join(path, "result.json"), "utf8"))).toMatchObject({
      task: "classification",
      epochs,
    });
    const again = await Run.open(path, "finetune");
    const { figures } = await again.evaluate({ examples: options.dev });
    expect(figures).toEqual(epochs[whole.best!.step / 8 - 1]!.figures);
    expect(await again.predict(["a good house"])).toEqual(await whole.predict(["a good house"]));
  });

  it("learns numbers", async () => {
    const numbers = (count: number) =>
      made(count).map(({ text, label }) => ({ text, label: label === "good" ? 1 : 0 }));
    const data = { train: numbers(16), dev: numbers(8) };
    const tuned = await finetune(pre, { task: regression(), ...data, epochs: 1, batch: 8 }).result;
    expect(Object.keys(tuned.epochs[0]!.figures)).toEqual(["pearson", "spearman", "depth"]);
    const [answer] = await tuned.predict(["a good house"]);
    expect([typeof answer!.label, answer!.scores]).toEqual(["number", {}]);
  });

  it("refuses settings it does not know, and tasks without texts", async () => {
    expect(() => finetune(pre, { ...options, learningRate: 1 } as never)).toThrow("finetune: expected a known key");
    await expect(finetune(pre, { task }).result).rejects.toThrow("classification: expected train examples");
  });
});
