import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import type { LayerwiseError } from "../../base/errors.ts";
import { readLabelled, readTextFiles, readTexts, type TextFiles } from "./labelled.ts";

const folder = ownFolder("labelled");

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const good = () => file("good.tsv", "Sentence\tlabel\na\t10\nb\t9\nc\t10\n");
const files = (train: string, dev: string, more: Partial<TextFiles> = {}): TextFiles => ({
  train,
  dev,
  task: "classification",
  ...more,
});

describe("files of labelled texts", () => {
  it("give a task with the labels to learn from, numbers in their order", () => {
    const { task, train } = readTextFiles(files(good(), good()));
    expect(task).toEqual({ name: "classification", labels: ["9", "10"], metrics: ["accuracy"] });
    expect(train[1]).toEqual({ text: "b", label: "9" });
  });

  it("are read by columns that are named or counted", () => {
    const path = file("wide.csv", "id,first,second,verdict\n1,a,b,yes\n2,c,d,no\n");
    const named = readTextFiles(files(path, path, { text: "first", pair: "second", label: "verdict", task: "pairs" }));
    expect(named.train[0]).toEqual({ text: "a", pair: "b", label: "yes" });
    const counted = readTextFiles(files(path, path, { text: "2", pair: "3", label: "4" }));
    expect(counted.train).toEqual(named.train);
    const bare = file("bare.tsv", "yes\ta\nno\tc\n");
    const { train } = readTextFiles(files(bare, bare, { text: "2", label: "1", header: false }));
    expect(train).toEqual([
      { text: "a", label: "yes" },
      { text: "c", label: "no" },
    ]);
  });

  it("may have several labels per text, or numbers", () => {
    const several = file(
      "several.jsonl",
      '{"text":"a","labels":["x","y"]}\n{"text":"b","labels":"y|z"}\n{"text":"c","labels":""}\n',
    );
    const { task, train } = readTextFiles(files(several, several, { task: "multi-label" }));
    expect(task).toMatchObject({ labels: ["x", "y", "z"], several: true, metrics: ["f1", "accuracy"] });
    expect(train.map(({ label }) => label)).toEqual([["x", "y"], ["y", "z"], []]);
    const numbers = file("numbers.tsv", "text\tscore\na\t-1.5\nb\t2e1\n");
    expect(readTextFiles(files(numbers, numbers, { task: "regression" })).train.map(({ label }) => label)).toEqual([
      -1.5, 20,
    ]);
  });

  it("without labels are texts", () => {
    expect(readTexts(file("plain.tsv", "text\na\nb\n"))).toEqual([{ text: "a" }, { text: "b" }]);
  });

  const bad: readonly [string, string, Partial<TextFiles>, string][] = [
    [
      "a label that nothing was learnt of",
      "text\tlabel\na\t9\nb\t11\n",
      {},
      'bad.tsv: line 3: expected a label of 9, 10, got "11"',
    ],
    [
      "an empty text",
      "text\tlabel\na\t9\n \t10\n",
      {},
      "bad.tsv: line 3: expected a text in column text, got an empty one",
    ],
    ["an empty label", "text\tlabel\na\t\n", {}, "bad.tsv: line 2: expected a label"],
    ["too few columns", "text\tlabel\na\n", {}, "bad.tsv: line 2: expected 2 columns, got 1"],
    ["columns of other names", "review\tstars\na\t9\n", {}, "bad.tsv: line 1: expected a column called label, labels"],
    [
      "no column of that name",
      "text\tlabel\na\t9\n",
      { label: "stars" },
      "expected a column called stars, got text, label",
    ],
  ];
  it.each(bad)("refuse %s by file and line, as a failure", (_, content, more, message) => {
    const dev = file("bad.tsv", content);
    const { task } = readTextFiles(files(good(), good()));
    const read = () => readLabelled(dev, { task: "classification", ...more }, task);
    expect(read).toThrow(message);
    expect(read).toThrow(expect.objectContaining({ exitCode: 1 }) as LayerwiseError);
  });

  it("refuse labels that are no numbers for regression, one label only, and files that are not there", () => {
    const words = file("words.tsv", "text\tlabel\na\t1\nb\tmuch\n");
    expect(() => readTextFiles(files(words, words, { task: "regression" }))).toThrow(
      'words.tsv: line 3: expected a number as label, got "much"',
    );
    const one = file("one.tsv", "text\tlabel\na\t1\n");
    expect(() => readTextFiles(files(one, one))).toThrow("expected texts of at least 2 different labels, got 1");
    expect(() => readTextFiles(files("none.tsv", one))).toThrow("none.tsv: expected a file of texts, got no such file");
    expect(() => readTextFiles(files(file("a.doc", "x"), one))).toThrow("a name that ends with .tsv, .csv or .jsonl");
  });
});
