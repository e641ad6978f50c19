import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { readTextFiles } from "../../text/files/labelled.ts";
import { classification, type LabelledText, multiLabel, regression } from "../../text/labelled/text-task.ts";
import type { PretrainResult } from "../pretrain/index.ts";
import { tinyPretrained } from "../pretrain/tiny.contract.ts";
import { Run } from "../run.ts";
import { finetune } from "./finetune.ts";
import type { Prediction } from "./predictions.ts";

const folder = ownFolder("finetune");

let pre: PretrainResult;
beforeAll(async () => {
  pre = await tinyPretrained({ width: 16, heads: 2, embedding: 8, depth: 3, halting: { ponder: 0.01 } }, 16);
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

  it("classifies pairs of neighbours beside pieces, where a model has vectors for them", {
    timeout: 60_000,
  }, async () => {
    const paired = { pairs: 4096, documentShare: 0.5, steps: 2 };
    const from = await tinyPretrained({ width: 16, heads: 2, embedding: 8, depth: 3, halting: {} }, 16, paired);
    // All texts have the same pieces, and their order decides.
    const orders = [
      ["good bad day", "day good bad"],
      ["bad good day", "day bad good"],
    ];
    const texts = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ text: orders[i % 2]![(i >> 1) % 2]!, label: i % 2 ? "bad" : "good" }));
    const data = { task, train: texts(64), dev: texts(8) };
    const path = join(folder, "pairs");
    const asked = { ...options, ...data, pooling: "pairs", epochs: 3 } as const;
    const tuned = await finetune(from, { ...asked, into: await Run.create(path) }).result;
    expect(tuned.epochs.at(-1)!.figures.accuracy).toBe(1);
    const again = await Run.open(path, "finetune");
    expect(await again.predict(["day bad good"])).toEqual(await tuned.predict(["day bad good"]));
    expect((await again.evaluate({ examples: data.dev })).figures.accuracy).toBe(1);
    await expect(finetune(pre, asked).result).rejects.toThrow(
      "pooling pairs: expected a model with a table of pairs, got one without; pre-train one with --pairs, or pool distinct pieces",
    );
  });

  it("begins with a head that is fitted, lets tables rest, and goes on to the same bits", {
    timeout: 60_000,
  }, async () => {
    const asked = { ...options, headStart: "fitted", tableRate: 0, rate: 1e-4, checkpointEvery: 1 } as const;
    const path = join(folder, "fitted");
    const session = finetune(pre, { ...asked, into: await Run.create(path) });
    const notes: string[] = [];
    for await (const event of session) {
      if (event.type === "note") notes.push(event.text);
      if (event.type === "step" && event.step === 5) break;
    }
    expect(notes[0]).toMatch(
      /^head fitted to \d+ texts at depths 1, 2, 3: penalty 0?\.?\d+, loss 0\.\d+ on texts left out$/,
    );
    const { parameters, weights } = await session.result;
    const known = new Map(pre.parameters.map(({ name, tensor }) => [name, pre.weights.get(tensor)!]));
    const moved = parameters.filter(({ name, tensor }) => `${known.get(name)}` !== `${weights.get(tensor)}`);
    expect(new Set(moved.map(({ role }) => role))).toEqual(new Set(["norm", "matrix", "bias", "halting", "head"]));
    const run = await Run.open(path, "finetune");
    const resumed = await run.resume({ train: options.train, dev: options.dev }).result;
    const whole = await finetune(pre, asked).result;
    expect([...resumed.weights.values()].map(String)).toEqual([...whole.weights.values()].map(String));
    // Five updates at so low a rate are nothing to a head that is drawn.
    const drawn = await finetune(pre, { ...asked, headStart: "drawn", steps: 5 }).result;
    const fitted = await finetune(pre, { ...asked, steps: 5 }).result;
    expect(fitted.epochs.at(-1)!.figures.accuracy).toBeGreaterThan(drawn.epochs.at(-1)!.figures.accuracy!);
  });

  it("tells in which of two texts a word stands", { timeout: 60_000 }, async () => {
    const words = ["the", "day", "house", "man", "time", "and", "to"];
    const some = (i: number, count: number) => Array.from({ length: count }, (_, k) => words[(i * 5 + k * 3) % 7]!);
    const pairs = (count: number): LabelledText[] =>
      Array.from({ length: count }, (_, i) => {
        const [first, second] = [some(i, 1 + (i % 3)), some(i + 3, 1 + ((i >> 2) % 3))];
        const label = (i * 7) % 11 < 5 ? "first" : "second";
        (label === "first" ? first : second).splice(i % 2, 0, "good");
        return { text: first.join(" "), pair: second.join(" "), label };
      });
    const where = classification({ labels: ["first", "second"], name: "pairs" });
    const data = { task: where, train: pairs(160), dev: pairs(40) };
    const tuned = await finetune(pre, { ...options, ...data, epochs: 8, rate: 0.02 }).result;
    expect(tuned.epochs.at(-1)!.figures.accuracy).toBeGreaterThan(0.95);
    const [a, b] = ["the good day", "my house"];
    const found = await tuned.predict([
      { text: a, pair: b },
      { text: b, pair: a },
    ]);
    expect(found.map(({ label }) => label)).toEqual(["first", "second"]);
  });

  it("says so where it gives every text the same label", async () => {
    const data = { train: made(8), dev: made(8), epochs: 1, rate: 1e-7, classifierDropout: 0 };
    const notes: string[] = [];
    for await (const event of finetune(pre, { ...options, ...data })) if (event.type === "note") notes.push(event.text);
    expect(notes.join()).toMatch(/all 8 texts to judge by got the same label: try --pooling mean, a lower --rate/);
  });

  it("ends after so many updates, and warms up over so many", async () => {
    const tuned = await finetune(pre, { ...options, steps: 11, warmupSteps: 4 }).result;
    expect([tuned.steps, tuned.epochs.map(({ epoch, step }) => [epoch, step])]).toEqual([
      11,
      [
        [1, 8],
        [2, 11],
      ],
    ]);
    const rates: number[] = [];
    for await (const event of finetune(pre, { ...options, steps: 6, warmupSteps: 4, rate: 0.004 }))
      if (event.type === "step") rates.push(event.learningRate);
    expect(rates.slice(0, 4).map((rate) => Math.round(rate * 1000))).toEqual([1, 2, 3, 4]);
  });

  it("learns numbers", async () => {
    const numbers = (count: number) =>
      made(count).map(({ text, label }) => ({ text, label: label === "good" ? 1 : 0 }));
    const data = { train: numbers(16), dev: numbers(8) };
    const tuned = await finetune(pre, { task: regression(), ...data, epochs: 1, batch: 8 }).result;
    expect(Object.keys(tuned.epochs[0]!.figures)).toEqual(["r2", "pearson", "spearman", "depth"]);
    const [answer] = await tuned.predict(["a good house"]);
    expect([typeof answer!.label, answer!.scores]).toEqual(["number", {}]);
  });

  it("learns any number of labels per text", { timeout: 60_000 }, async () => {
    const several = (count: number) =>
      made(count).map(({ text, label }) => ({ text, label: [`${label}`, ...(text.includes("day") ? ["day"] : [])] }));
    const topics = multiLabel({ labels: ["bad", "day", "good"] });
    const data = { train: several(64), dev: several(12) };
    const tuned = await finetune(pre, { ...options, task: topics, ...data, epochs: 12 }).result;
    expect(tuned.epochs.at(-1)!.figures.f1).toBeGreaterThan(0.9);
    const [answer] = await tuned.predict(["my bad day"]);
    expect(answer!.label).toEqual(["bad", "day"]);
    const [all] = await tuned.predict(["my bad day"], { labelThreshold: 0 });
    expect(all!.label).toEqual(["bad", "day", "good"]);
    await expect(finetune(pre, { ...options, task: topics }).result).rejects.toThrow(
      "expected labels of bad, day, good",
    );
  });

  it("halts earlier where it is asked to, and says the same where it is not", { timeout: 60_000 }, async () => {
    const tuned = await finetune(pre, { ...options, epochs: 1 }).result;
    const texts = options.dev.map(({ text }) => text);
    const depths = (found: readonly Prediction[]) => found.flatMap((each) => each.depths!.map(({ depth }) => depth));
    const usual = await tuned.predict(texts);
    const skipping = await tuned.predict(texts, { cap: 3, batch: 5 });
    expect(depths(skipping)).toEqual(depths(usual));
    for (const [i, { scores }] of skipping.entries()) expect(scores.good).toBeCloseTo(usual[i]!.scores.good!, 5);
    expect(Math.max(...depths(usual))).toBeGreaterThan(1);
    expect(new Set(depths(await tuned.predict(texts, { cap: 1 })))).toEqual(new Set([1]));
    expect(new Set(depths(await tuned.predict(texts, { threshold: 0.001 })))).toEqual(new Set([1]));
    await expect(tuned.predict(texts, { cap: 4 })).rejects.toThrow("predict / cap");
    await expect(tuned.predict(texts, { threshold: 1 })).rejects.toThrow("predict / threshold");
    await expect(tuned.predict(texts, { labelThreshold: 0.5 })).rejects.toThrow("several labels per text");
  });

  it("out of files is resumed and evaluated without being given texts", { timeout: 60_000 }, async () => {
    const table = (name: string, texts: readonly LabelledText[]) => {
      const file = join(folder, name);
      writeFileSync(file, ["text\tlabel", ...texts.map(({ text, label }) => `${text}\t${label}`), ""].join("\n"));
      return file;
    };
    const files = { train: table("train.tsv", options.train), dev: table("dev.tsv", options.dev) };
    const { task: _, ...others } = options;
    const short = { ...others, ...readTextFiles({ ...files, task: "classification" }), epochs: 2, checkpointEvery: 3 };
    const whole = await finetune(pre, short).result;
    const path = join(folder, "files");
    const session = finetune(pre, { ...short, into: await Run.create(path) });
    for await (const event of session) if (event.type === "step" && event.step === 10) break;
    await session.result;
    const { weights } = (await Run.resume(path).result) as typeof whole;
    expect([...weights.values()].map(String)).toEqual([...whole.weights.values()].map(String));
    const run = await Run.open(path, "finetune");
    expect(await run.evaluate()).toMatchObject({
      split: "dev",
      texts: 12,
      figures: whole.epochs[whole.best!.step / 8 - 1]!.figures,
    });
    expect(await run.evaluate({ corpus: files.train })).toMatchObject({ split: files.train, texts: 64 });
  });

  it("refuses settings it does not know, and tasks without texts", async () => {
    expect(() => finetune(pre, { ...options, learningRate: 1 } as never)).toThrow("finetune: expected a known key");
    await expect(finetune(pre, { task }).result).rejects.toThrow("classification: expected train examples");
  });
});
