import { beforeAll, describe, expect, it } from "vitest";
import { type ChoiceQuestion, parseChoices } from "../../text/labelled/choices.ts";
import { parseSquad } from "../../text/labelled/questions.ts";
import { parseConll, tagsIn } from "../../text/labelled/tagged.ts";
import type { PretrainResult } from "../pretrain/index.ts";
import { tinyPretrained } from "../pretrain/tiny.contract.ts";
import { answering, choosing, tagging } from "./head-tasks.ts";
import { finetuneHead } from "./head-training.ts";
import { choices, sentences, squad } from "./made-heads.contract.ts";

let pre: PretrainResult;
beforeAll(async () => {
  pre = await tinyPretrained({ width: 32, heads: 2, embedding: 16, depth: 2, halting: { ponder: 0.001 } }, 32);
});

const quick = { batch: 8, rate: 0.005, length: 24, epochs: 8 } as const;

describe("a head is trained end to end", () => {
  it("to tag words, judged by whole spans", { timeout: 60_000 }, async () => {
    const [train, dev] = [sentences(0, 64), sentences(3, 12)].map((text) =>
      parseConll(text.split("\n"), { source: "made" }),
    );
    const task = tagging({ labels: tagsIn(train!) });
    const tuned = await finetuneHead(pre, task, { ...quick, train: train!, dev: dev! });
    expect(tuned.epochs).toHaveLength(8);
    const untaught = await finetuneHead(pre, task, { ...quick, epochs: 1, rate: 1e-9, train: train!, dev: dev! });
    expect(untaught.epochs[0]!.f1).toBeLessThan(0.5);
    expect(await tuned.evaluate(dev!)).toEqual({ f1: 1, accuracy: 1 });
    const [tags] = await tuned.predict([
      { words: ["tom", "white", "came", "to", "rome"], tags: ["O", "O", "O", "O", "O"] },
    ]);
    expect(tags).toEqual(["B-PER", "I-PER", "O", "O", "B-LOC"]);
  });

  it("to find answers in a text", { timeout: 60_000 }, async () => {
    const [train, dev] = [squad(0, 64), squad(2, 12)].map((json) => parseSquad(json, "made"));
    const tuned = await finetuneHead(pre, answering(), { ...quick, epochs: 20, train: train!, dev: dev! });
    expect((await tuned.evaluate(dev!)).exact).toBeGreaterThan(0.9);
    const asked = { id: "x", question: "where", context: "ann sat in rome", answers: [] };
    expect(await tuned.predict([asked])).toEqual(["rome"]);
  });

  it("to choose among texts", { timeout: 60_000 }, async () => {
    const [train, dev] = [choices(0, 48), choices(1, 10)].map((lines) => parseChoices(lines, "made")) as [
      ChoiceQuestion[],
      ChoiceQuestion[],
    ];
    const tuned = await finetuneHead(pre, choosing({ choices: 2 }), { ...quick, train, dev });
    expect(await tuned.evaluate(dev)).toEqual({ accuracy: 1 });
    expect(await tuned.predict([{ text: "ann", choices: ["a good man", "a bad man"], label: 1 }])).toEqual([0]);
  });

  it("the same twice, and says how many texts were cut before their answer", { timeout: 60_000 }, async () => {
    const [short] = parseSquad(squad(1, 1), "made");
    const context = `${"no ".repeat(40)}rome`;
    const cut = { ...short!, context, answers: [{ text: "rome", start: context.length - 4 }] };
    const said: string[] = [];
    const options = {
      ...quick,
      epochs: 1,
      train: [short!, cut],
      dev: [short!, cut],
      say: (text: string) => said.push(text),
    };
    const runs = [await finetuneHead(pre, answering(), options), await finetuneHead(pre, answering(), options)];
    expect([...runs[0]!.weights.values()].map(String)).toEqual([...runs[1]!.weights.values()].map(String));
    expect(said[0]).toBe("answering: 1 of 2 examples are left out: nothing in 24 pieces to learn");
    await expect(finetuneHead(pre, answering(), { ...options, train: [cut] })).rejects.toThrow("none that fits");
  });
});
