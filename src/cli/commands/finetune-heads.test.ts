import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder, printedBy, wordsIn } from "../../../test/command.ts";
import { sha256 } from "../../files/checksum.ts";
import type { Weights } from "../../graph/index.ts";
import { choices, sentences, squad } from "../../tasks/finetune/made-heads.contract.ts";
import { nextWordsOf } from "../../tasks/next-words.ts";
import { Run } from "../../tasks/run.ts";
import { addEval } from "./eval.ts";
import { addFinetune } from "./finetune.ts";
import { addPredict } from "./predict.ts";

const folder = ownFolder("heads");
const at = (name: string) => join(folder, name);
const write = (name: string, content: string) => writeFileSync(at(name), content);

const model =
  "--scratch --tokenizer fixtures/runs/data/tokenizer.model --width 32 --heads 2 --embedding 16 --depth 2 --halt";
const quick = "--batch 8 --rate 0.005 --length 24 --epochs 8 --threads 1 --json";
const tune = async (out: string, task: string, ...more: string[]) =>
  JSON.parse(
    await printedBy(
      addFinetune,
      "finetune",
      ...model.split(" "),
      ...quick.split(" "),
      ...["--out", at(out), "--task", task, ...more],
    ),
  );
const files = (train: string, dev: string) => ["--train", at(train), "--dev", at(dev)];
const predict = (run: string, ...args: string[]) => printedBy(addPredict, "predict", at(run), ...args);
/** Carries out the `predict` that is said to be next. */
const predictNext = async (run: string) => {
  const line = (await nextWordsOf(at(run), "head")).find((each) => each.startsWith("predict"))!;
  return printedBy(addPredict, ...wordsIn(line.replace("RUN", at(run))));
};
const measured = async (run: string, ...args: string[]) =>
  JSON.parse(await printedBy(addEval, "eval", at(run), "--json", ...args));

const likeliest = (scores: Record<string, number>) => Object.entries(scores).sort(([, a], [, b]) => b - a)[0]![0];
const sumOf = (scores: Record<string, number>) => Object.values(scores).reduce((a, b) => a + b, 0);

const hashOf = (weights: Weights) =>
  Object.fromEntries(
    [...weights].map(([{ attributes }, data]) => [
      attributes.name,
      sha256(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
    ]),
  );

beforeAll(() => {
  write("train.conll", sentences(0, 64));
  write("dev.conll", sentences(3, 12));
  write("train.json", squad(0, 64));
  write("dev.json", squad(3, 12));
  write("train.jsonl", choices(0, 48).join("\n"));
  write("dev.jsonl", choices(3, 12).join("\n"));
});

describe("layerwise finetune with another head", () => {
  it("tags words: whole spans, CoNLL's columns in and out", { timeout: 60_000 }, async () => {
    const { task, metric, epochs, best } = await tune("tags", "tagging", ...files("train.conll", "dev.conll"));
    expect([task, metric, epochs.length]).toEqual(["tagging", "f1", 8]);
    expect(epochs[best - 1].figures.f1).toBeGreaterThan(0.9);
    expect((await measured("tags")).f1).toBe(epochs[best - 1].figures.f1);
    const [found] = JSON.parse(await predict("tags", "--text", "alice white went to rome", "--json"));
    expect(found.tags).toEqual(["B-PER", "I-PER", "O", "O", "B-LOC"]);
    expect(found.scores.map((each: Record<string, number>) => likeliest(each))).toEqual(found.tags);
    expect(sumOf(found.scores[0])).toBeCloseTo(1, 6);
    const [early] = JSON.parse(await predict("tags", "--text", "alice went to rome", "--cap", "1", "--json"));
    expect(early.depth).toBe(1);
    expect(await measured("tags", "--threshold", "0.001")).toMatchObject({ depth: 1, msPerText: expect.any(Number) });
    await expect(predict("tags", "--text", "alice", "--cap", "3")).rejects.toThrow("a whole number from 1 to 2, got 3");
    expect(await predictNext("tags")).toContain("alice");
    await predict("tags", at("dev.conll"), "--out", at("said.conll"));
    expect((await measured("tags", "--corpus", at("said.conll"))).f1).toBe(1);
  });

  it("answers questions, in the form that SQuAD's own script reads", { timeout: 60_000 }, async () => {
    const { epochs, best } = await tune("qa", "qa", ...files("train.json", "dev.json"), "--epochs", "14");
    expect(Object.keys(epochs[0].figures)).toEqual(["f1", "exact"]);
    expect(epochs[best - 1].figures.f1).toBeGreaterThan(0.75);
    await predict("qa", at("dev.json"), "--out", at("answers.json"));
    expect(Object.keys(JSON.parse(readFileSync(at("answers.json"), "utf8")))).toHaveLength(12);
    const [found] = JSON.parse(await predict("qa", "--text", "tom sat in rome", "--pair", "where", "--json"));
    expect("tom sat in rome").toContain(found.answer);
    expect(Object.keys(found.scores)).toEqual([found.answer]);
    expect(found.scores[found.answer]).toBeGreaterThan(0);
    expect(found.scores[found.answer]).toBeLessThanOrEqual(1);
    expect(await predictNext("qa")).toContain("answer");
  });

  it("chooses, and is resumed to the same bits", { timeout: 60_000 }, async () => {
    const { epochs, best } = await tune("choice", "choice", ...files("train.jsonl", "dev.jsonl"));
    expect(epochs[best - 1].figures.accuracy).toBe(1);
    write("open.jsonl", `${JSON.stringify({ text: "ann", choices: ["a bad day", "a good day"] })}\n`);
    expect(await predict("choice", at("open.jsonl"))).toMatch(
      /text +label +choice +score\nann +1 +a good day +[01]\.\d{3}\n/,
    );
    const [chosen] = JSON.parse(await predict("choice", at("open.jsonl"), "--cap", "2", "--json"));
    expect([chosen.label, likeliest(chosen.scores), sumOf(chosen.scores)]).toEqual([1, "1", expect.closeTo(1, 6)]);
    expect((await predictNext("choice")).trimEnd().split("\n")).toHaveLength(13);
    const { headJob, openHead } = await import("../../tasks/finetune/index.ts");
    const run = await Run.open(at("choice"), "head");
    const parts = await openHead("choice", { ...run.settings, checkpointEvery: 5 }, run.files);
    const session = (await import("../../tasks/index.ts")).perform(headJob(parts), {
      into: await Run.create(at("stopped")),
    });
    for await (const event of session) if (event.type === "step" && event.step === 11) break;
    const { weights, epochs: again } = (await Run.resume(at("stopped")).result) as Awaited<typeof session.result>;
    const whole = await Run.open(at("choice"), "head", { checkpoint: "last" });
    expect(hashOf(weights)).toEqual(hashOf(whole.weights));
    expect(again).toEqual(epochs);
  });

  it("refuses files of another form by file and line, before anything is written", async () => {
    write("other.conll", "alice B-PER\nrome I-ORG\n");
    const other = tune("bad", "tagging", ...files("train.conll", "other.conll"));
    await expect(other).rejects.toThrow(/other\.conll: line 2: expected a tag of O, B-LOC, B-PER, I-PER, got I-ORG/);
    write("wide.jsonl", `${JSON.stringify({ text: "a", choices: ["b", "c", "d"], label: 0 })}\n`);
    const wide = tune("bad", "choice", ...files("train.jsonl", "wide.jsonl"));
    await expect(wide).rejects.toThrow(/wide\.jsonl: line 1: expected 2 choices, got 3/);
    write("bad.json", JSON.stringify({ data: [{ paragraphs: [{ context: "a b", qas: [{ id: "1" }] }] }] }));
    const bad = tune("bad", "qa", ...files("bad.json", "dev.json"));
    await expect(bad).rejects.toThrow(/bad\.json: line 1 \/ data\.0 \/ paragraphs\.0 \/ qas\.0/);
    await expect(tune("bad", "qa", ...files("none.json", "dev.json"))).rejects.toThrow(/none\.json.*no such file/);
    const column = tune("bad", "tagging", ...files("train.conll", "dev.conll"), "--label", "x");
    await expect(column).rejects.toThrow(/--label: expected a table of texts, got --task tagging/);
    expect(existsSync(at("bad"))).toBe(false);
  });
});
