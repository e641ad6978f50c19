import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { type Corpus, linesOf, linesOfText, partOf, withLineEnds } from "../corpus.ts";
import { fileText, openCorpus } from "./corpus.ts";

const SHARED = "../shared/data";
const root = ownFolder("corpus");

function file(path: string, content = ""): string {
  const full = join(root, path);
  mkdirSync(join(full, ".."), { recursive: true });
  writeFileSync(full, content);
  return full;
}
const numbered = (n: number) => Array.from({ length: n }, (_, i) => `line ${i}\n`).join("");

describe("a corpus", () => {
  it("has the same lines from a file as from memory", () => {
    const texts = fc.string({ unit: fc.constantFrom("a", "ß", " ", "\n", "\r", "\ufeff"), maxLength: 12 });
    fc.assert(
      fc.property(texts, (text) => {
        expect([...fileText({ path: file("any.txt", text) }).lines()]).toEqual(linesOfText(text));
      }),
    );
  });

  it("is the embedded books when none is named", async () => {
    const books = await openCorpus();
    expect([...books.parts.keys()]).toEqual(["train", "valid", "test"]);
    const first = [...linesOf(books, "train")];
    expect(first[0]).toBe("Down the Rabbit-Hole");
    expect(first).toHaveLength(6642);
  });

  it("may be one file, split 90/5/5 by lines", async () => {
    const corpus = await openCorpus(file("own.txt", numbered(40)));
    const lines = (["train", "valid", "test"] as const).map((split) => [...linesOf(corpus, split)]);
    expect(lines.map((part) => part.length)).toEqual([36, 2, 2]);
    expect(lines.flat().join("\n")).toBe(numbered(40).trimEnd());
    expect(corpus.name).toBe("own");
  });

  it("gives every part a line when the file is short, and refuses fewer than three", async () => {
    const corpus = await openCorpus(file("short.txt", numbered(3)));
    expect((["train", "valid", "test"] as const).map((split) => [...linesOf(corpus, split)].length)).toEqual([1, 1, 1]);
    await expect(openCorpus(file("empty.txt"))).rejects.toThrow("at least 3 lines of text to split, got 0");
  });

  it("may be a folder with some of the three files", async () => {
    file("folder/train.txt", "a\n");
    const corpus = await openCorpus(join(root, "folder"));
    expect(() => partOf(corpus, "test")).toThrow("corpus folder: expected a test part, got only train");
  });

  it("may be folders of TFRecord batches, in the order of their numbers", async () => {
    for (const i of [1, 2, 10]) file(`batches/wiki_train/file${i}.tfrecords`);
    file("batches/wiki_valid/file1.tfrecords");
    file("batches/tokenizer.model");
    const corpus = await openCorpus(join(root, "batches"));
    const train = partOf(corpus, "train");
    expect(train.kind === "records" && train.paths.map((path) => path.slice(-17))).toEqual([
      "n/file1.tfrecords",
      "n/file2.tfrecords",
      "/file10.tfrecords",
    ]);
    expect(corpus).toMatchObject({ name: "wiki", tokenizer: join(root, "batches/tokenizer.model") });
    expect(() => linesOf(corpus, "valid")).toThrow("expected text, got TFRecord batches");
    expect((await openCorpus(join(root, "batches/wiki"))).parts).toEqual(corpus.parts);
  });

  it("may be one folder or one file of batches, whose name says the split", async () => {
    const path = file("alone/wiki-valid/file1.tfrecords");
    for (const place of [path, join(path, "..")]) {
      const corpus = await openCorpus(place);
      expect([corpus.name, ...corpus.parts]).toEqual(["wiki", ["valid", { kind: "records", paths: [path] }]]);
    }
  });

  it("asks which batches when a folder holds two kinds", async () => {
    file("two/a_train/file1.tfrecords");
    file("two/b_train/file1.tfrecords");
    await expect(openCorpus(join(root, "two"))).rejects.toThrow(/got batches of a, b; choose one: .*two.a$/);
  });

  it("may be several, whose splits follow one another", async () => {
    file("short/train.txt", "a\nb\n");
    const corpus = await openCorpus(`${file("ten.txt", numbered(10))}, ${join(root, "short")}`);
    expect(corpus.name).toBe("ten+short");
    expect([...linesOf(corpus, "train")].slice(-3)).toEqual(["line 7", "a", "b"]);
    expect([...linesOf(corpus, "valid")]).toEqual(["line 8"]);
  });

  it("of several has to be text throughout", async () => {
    file("mixed/a_train/file1.tfrecords");
    await expect(openCorpus(`books,${join(root, "mixed")}`)).rejects.toThrow("expected text, got TFRecord batches");
  });

  it("may be the training texts of a GLUE task, without header, labels and dev set", async () => {
    const rows = Array.from({ length: 10 }, (_, i) => `first ${i} \tsecond ${i}\t0\n`).join("");
    file("glue/RTE/dev.tsv", "index\tsentence1\tsentence2\tlabel\n0\tunseen\tunseen\tentailment\n");
    file("glue/RTE/train.tsv", `index\tsentence1\tsentence2\tlabel\n${rows.replace(/^/gm, "0\t").slice(0, -2)}`);
    const corpus = await openCorpus("glue/RTE", { data: root });
    const lines = (["train", "valid", "test"] as const).map((split) => [...linesOf(corpus, split)]);
    expect(lines[0]!.slice(0, 2)).toEqual(["first 0", "second 0"]);
    expect(lines.slice(1)).toEqual([
      ["first 8", "second 8"],
      ["first 9", "second 9"],
    ]);
    expect(corpus.name).toBe("RTE");
  });

  it("names the line of a GLUE file whose texts are missing", async () => {
    const path = file("glue/SST-2/train.tsv", "sentence\tlabel\na\t1\n");
    expect(() => [
      ...linesOf(
        { name: "x", parts: new Map([["train", { kind: "text", texts: [fileText({ path, task: "RTE", from: 1 })] }]]) },
        "train",
      ),
    ]).toThrow(/train.tsv: line 2: expected at least 3 columns, got 2/);
  });

  it.runIf(existsSync(SHARED))("wikitext-2 is found by name under the data folder", async () => {
    const corpus = await openCorpus("wikitext-2", { data: SHARED });
    expect([...linesOf(corpus, "valid")]).toHaveLength(3760);
  });

  it("wikitext-2 that is neither here nor to be fetched says where it is looked for and what else there is", async () => {
    await expect(openCorpus("wikitext-2", { data: join(root, "none"), from: "http://127.0.0.1:1" })).rejects.toThrow(
      /^wikitext-2 is not in .*none.wikitext-2 and could not be fetched: .*--data DIR or LAYERWISE_DATA.*--corpus books$/,
    );
  });

  it("that is unknown is refused with what could be meant", async () => {
    await expect(openCorpus("wikitext2", { data: root })).rejects.toThrow(
      /^corpus: expected books, wikitext-2, a text file.*got wikitext2, which is neither here nor under/,
    );
    await expect(openCorpus(root)).rejects.toThrow("NAME_train");
  });
});

describe("a stream of text", () => {
  const piecesOf = (corpus: Corpus, split: "train" | "valid" | "test") => [...linesOf(corpus, split)].join("");

  it("of one long line is cut by bytes: 90 %, 5 %, 5 %, and read in pieces that break no word", async () => {
    const words = Array.from({ length: 40_000 }, (_, i) => `word${i % 977}`).join(" ");
    const corpus = await openCorpus(file("long.txt", words));
    const splits = (["train", "valid", "test"] as const).map((split) => piecesOf(corpus, split));
    expect(splits.join("")).toBe(words);
    expect(splits.map(({ length }) => (length / words.length).toFixed(3))).toEqual(["0.900", "0.050", "0.050"]);
    const [first] = linesOf(corpus, "train");
    expect(first!.length).toBeLessThanOrEqual(65_536);
    expect(first!.endsWith(" ")).toBe(true);
  });

  it("called text8 or enwik8 is cut so too, with its line ends where bytes are read, and never inside a character", async () => {
    const text = Array.from({ length: 2000 }, (_, i) => `<page>é${"ß".repeat(i % 7)}</page>\n`).join("");
    const corpus = await openCorpus(file("enwik8", text));
    const ended = withLineEnds(corpus);
    const splits = (["train", "valid", "test"] as const).map((split) => piecesOf(ended, split));
    expect(splits.join("")).toBe(text);
    expect(Buffer.byteLength(splits[0]!) / Buffer.byteLength(text)).toBeCloseTo(0.9, 3);
    expect(splits.join("")).not.toContain("\ufffd");
    expect(piecesOf(corpus, "train")).not.toContain("\n");
  });

  it("that is short is still refused", async () => {
    await expect(openCorpus(file("stub.txt", "one line"))).rejects.toThrow("at least 3 lines of text to split, got 1");
  });
});
