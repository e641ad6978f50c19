import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder, printedBy, wordsIn } from "../../../test/command.ts";
import { readSafetensors } from "../../format/safetensors.ts";
import { nextWordsOf } from "../../tasks/next-words.ts";
import { openCorpus } from "../../text/files/corpus.ts";
import { trainTokenizer } from "../../text/tokenizer-training.ts";
import { addEmbed } from "./embed.ts";
import { addEval } from "./eval.ts";
import { addFill } from "./fill.ts";
import { addFinetune } from "./finetune.ts";
import { addPredict } from "./predict.ts";

const folder = ownFolder("people");
const at = (name: string) => join(folder, name);
const albert = "fixtures/runs/albert";

/** One word decides. */
const lines = (count: number) =>
  Array.from({ length: count }, (_, i) => {
    const word = i % 2 ? "good" : "bad";
    return { text: `${["the", "a", "my"][i % 3]} ${word} ${["day", "house", "man", "time"][i % 4]}`, label: word };
  });

const write = (name: string, rows: readonly string[]) => writeFileSync(at(name), `${rows.join("\n")}\n`);
const tsv = (name: string, count: number) =>
  write(name, ["text\tlabel", ...lines(count).map(({ text, label }) => `${text}\t${label}`)]);

const quick = "--epochs 6 --batch 8 --rate 0.01 --pooling mean --threads 1 --json".split(" ");
const tune = (out: string, ...args: string[]) =>
  printedBy(addFinetune, "finetune", albert, "--out", at(out), ...quick, ...args);
const own = () => ["--train", at("train.tsv"), "--dev", at("dev.tsv")];

beforeAll(async () => {
  tsv("train.tsv", 96);
  tsv("dev.tsv", 24);
  const { best, epochs } = JSON.parse(await tune("run", ...own()));
  expect(epochs[best - 1].figures.accuracy).toBe(1);
}, 60_000);

describe("layerwise finetune", () => {
  it("leaves a run that predicts lines, tables and a text, and is evaluated on any table", async () => {
    const predict = (...args: string[]) => printedBy(addPredict, "predict", at("run"), ...args);
    const [one] = JSON.parse(await predict("--text", "a good house", "--json"));
    expect(one).toMatchObject({ text: "a good house", label: "good", depth: expect.any(Number) });
    expect(one.scores.good + one.scores.bad).toBeCloseTo(1, 6);
    write("lines.txt", ["my bad day", "the good time"]);
    expect(await predict(at("lines.txt"))).toMatch(
      /text +label +score +depth\nmy bad day +bad .*\nthe good time +good /,
    );
    await predict(at("dev.tsv"), "--out", at("out.tsv"), "--cap", "1", "--batch", "7");
    const [header, ...rows] = readFileSync(at("out.tsv"), "utf8").trimEnd().split("\n");
    expect([header, rows.length]).toEqual(["text\tlabel\tbad\tgood\tdepth", 24]);
    expect(rows.every((row) => row.endsWith("\t1"))).toBe(true);
    const found = JSON.parse(await printedBy(addEval, "eval", at("run"), "--corpus", at("train.tsv"), "--json"));
    expect(found).toMatchObject({ texts: 96, accuracy: 1 });
  });

  it("takes the settings of another run, and says what a run would be", async () => {
    const printed = await tune("dry", ...own(), "--config", join(at("run"), "config.yaml"), "--dry-run");
    expect(JSON.parse(printed)).toBeTruthy();
    expect(existsSync(at("dry"))).toBe(false);
  });

  it("reads pairs, numbers and several labels", { timeout: 60_000 }, async () => {
    write("pairs.csv", [
      "a,b,same",
      ...lines(16).map(({ text }, i) => `"${text}, so",${i % 2 ? "good" : "well"},${i % 2}`),
    ]);
    const files = (name: string) => ["--train", at(name), "--dev", at(name), "--epochs", "1"];
    const columns = ["--text", "a", "--pair", "b", "--label", "same"];
    expect(JSON.parse(await tune("pairs", ...files("pairs.csv"), ...columns, "--task", "pairs")).task).toBe("pairs");
    const figures = async (out: string, ...args: string[]) => JSON.parse(await tune(out, ...args)).epochs[0].figures;
    const numbers = await figures("numbers", ...files("pairs.csv"), ...columns, "--task", "regression");
    expect(Object.keys(numbers)).toEqual(["r2", "pearson", "spearman", "depth"]);
    write(
      "topics.jsonl",
      lines(16).map(({ text, label }) => JSON.stringify({ text, labels: [label, "all"] })),
    );
    const topics = await figures("topics", ...files("topics.jsonl"), "--task", "multi-label");
    expect(Object.keys(topics)).toEqual(["f1", "accuracy", "depth"]);
    const next = (await nextWordsOf(at("pairs"), "finetune")).find((line) => line.startsWith("predict"))!;
    expect(await printedBy(addPredict, ...wordsIn(next.replace("RUN", at("pairs"))))).toContain("label");
    const without = printedBy(addPredict, "predict", at("pairs"), "--text", "one text alone");
    await expect(without).rejects.toThrow("--text: expected two texts, as in training, got one");
  });

  it.each([
    ["a label that --train lacks", "text\tlabel\na day\tgreat", "bad.tsv: line 2: expected a label of bad, good"],
    ["an empty text", "text\tlabel\n\tgood", "bad.tsv: line 2: expected a text in column text"],
    ["a row too wide", "text\tlabel\na\tb\tgood", "bad.tsv: line 2: expected 2 columns, got 3"],
  ])("refuses %s as a failure, and writes nothing", async (_, content, message) => {
    write("bad.tsv", [content]);
    const failed = tune("refused", "--train", at("train.tsv"), "--dev", at("bad.tsv"));
    await expect(failed).rejects.toMatchObject({ message: expect.stringContaining(message), exitCode: 1 });
    expect(existsSync(at("refused"))).toBe(false);
  });
});

describe("layerwise finetune with another tokenizer", () => {
  const larger = ["--tokenizer", at("larger.model"), "--epochs", "1"];
  beforeAll(async () => {
    const { bytes } = await trainTokenizer(await openCorpus("fixtures/runs/data/text"), { pieces: 240, masked: true });
    writeFileSync(at("larger.model"), bytes);
  });

  it("refuses one with more pieces than the model, before anything is written", async () => {
    const refused = {
      message: expect.stringMatching(/at most the 200 pieces of .*, got 240; set --resize-vocabulary/),
    };
    await expect(tune("none", ...own(), ...larger)).rejects.toMatchObject({ ...refused, exitCode: 2 });
    write("words.conll", ["a N", "good A", "day N"]);
    const tags = ["--train", at("words.conll"), "--dev", at("words.conll"), "--task", "tagging", "--pooling"];
    await expect(tune("none", ...tags, "first", ...larger)).rejects.toMatchObject(refused);
    await expect(tune("none", ...tags, "mean")).rejects.toThrow(
      "finetune / pooling: expected classes or numbers of whole texts for --pooling, got tagging; leave --pooling out",
    );
    expect(existsSync(at("none"))).toBe(false);
  });

  it("takes it with --resize-vocabulary, and leaves a run like any other", { timeout: 60_000 }, async () => {
    const tuned = JSON.parse(await tune("resized", ...own(), ...larger, "--resize-vocabulary"));
    expect(tuned.epochs).toHaveLength(1);
    expect(readFileSync(join(at("resized"), "config.yaml"), "utf8")).toMatch(/vocabulary: 240\b/);
    const [one] = JSON.parse(await printedBy(addPredict, "predict", at("resized"), "--text", "a good day", "--json"));
    expect(["bad", "good"]).toContain(one.label);
  });

  it("refuses --resize-vocabulary where there is nothing to change, or where weights rest", async () => {
    const alone = tune("none", ...own(), "--resize-vocabulary");
    await expect(alone).rejects.toThrow("--resize-vocabulary: expected a run and another --tokenizer for it");
    const resting = tune("none", ...own(), ...larger, "--resize-vocabulary", "--lora", "2");
    await expect(resting).rejects.toThrow("expected weights that rest, got --resize-vocabulary");
    expect(existsSync(at("none"))).toBe(false);
  });
});

describe("layerwise fill", () => {
  it("gives the likeliest pieces of each mask", async () => {
    const printed = await printedBy(addFill, "fill", albert, "the [MASK] sat on [MASK]", "--top", "3", "--json");
    const { masks } = JSON.parse(printed);
    expect(masks.map(({ guesses }: { guesses: unknown[] }) => guesses.length)).toEqual([3, 3]);
    const [first, second] = masks[0].guesses;
    expect(first.probability).toBeGreaterThanOrEqual(second.probability);
  });

  it("refuses a text without masks, and a run without the head", async () => {
    await expect(printedBy(addFill, "fill", albert, "the cat sat")).rejects.toMatchObject({ exitCode: 2 });
    await expect(printedBy(addFill, "fill", at("run"), "the [MASK] sat")).rejects.toThrow("a head that guesses words");
  });
});

describe("layerwise embed", () => {
  it("writes the same vectors as safetensors and as JSON lines, whatever the batch", async () => {
    const embed = (...args: string[]) => printedBy(addEmbed, "embed", albert, at("dev.tsv"), ...args);
    await embed("--out", at("v.safetensors"));
    const printed = await embed("--out", at("v.jsonl"), "--batch", "5", "--json");
    expect(JSON.parse(printed)).toMatchObject({ texts: 24, width: 16, pooling: "mean" });
    const { shape, data } = readSafetensors(readFileSync(at("v.safetensors"))).tensors.get("embeddings")!;
    expect(shape).toEqual([24, 16]);
    const rows = readFileSync(at("v.jsonl"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const flat: number[] = rows.flatMap(({ embedding }) => embedding);
    for (const [i, value] of flat.entries()) expect(value).toBeCloseTo(Number(data[i]), 5);
    await embed("--out", at("first.jsonl"), "--pooling", "first");
    expect(JSON.parse(readFileSync(at("first.jsonl"), "utf8").split("\n")[0]!).embedding).not.toEqual(
      rows[0].embedding,
    );
    await expect(embed("--out", at("v.bin"))).rejects.toMatchObject({ exitCode: 2 });
  });
});
