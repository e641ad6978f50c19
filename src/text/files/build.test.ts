import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { batchesFrom } from "../batches.contract.ts";
import { textCorpus } from "../corpus.ts";
import { trainTokenizer } from "../tokenizer-training.ts";
import { tokenize, tokensInMemory } from "../tokens.ts";
import { buildDataset, explainLosses, inspectBatches, reportSplit, reportSplits } from "./build.ts";
import { fileText, openCorpus } from "./corpus.ts";
import { openTokenizer } from "./tokenizer.ts";
import { openBatches } from "./tokens.ts";

const SHARED = "../shared/data";
const root = ownFolder("build");
const letters = { size: 256, encode: (text: string) => [...text].map((c) => c.charCodeAt(0)) };
const tokensOf = (lines: readonly string[]) => tokensInMemory(tokenize(lines, letters));

describe("a report", () => {
  it("accounts for every token", () => {
    const line = fc.string({ unit: fc.constantFrom("a", "b", " "), maxLength: 12 });
    const shape = fc.record({
      batch: fc.integer({ min: 1, max: 4 }),
      length: fc.integer({ min: 1, max: 5 }),
      shards: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), shape, (lines, options) => {
        const report = reportSplit("train", tokensOf(lines), 98, options);
        const dropped = report.droppedLines + report.droppedWindows + report.droppedRest;
        expect(report.batches * options.batch * (options.length + 1) + dropped).toBe(report.tokens);
        expect(report.unknown).toBe(lines.join("").split("b").length - 1);
      }),
    );
  });

  it("is made of a corpus in memory too", async () => {
    const corpus = textCorpus({
      train: "Alice was beginning to get very tired\nof sitting by her sister\n",
      valid: "the bank",
    });
    const opened = await trainTokenizer(corpus, { pieces: 30 });
    const reports = await reportSplits(corpus, opened, { batch: 1, length: 4, cache: join(root, "none") });
    expect(reports.map(({ split, lines, words }) => [split, lines, words])).toEqual([
      ["train", 2, 12],
      ["valid", 1, 2],
    ]);
    expect(existsSync(join(root, "none"))).toBe(false);
  });

  it("says why tokens are dropped", () => {
    const options = { batch: 2, length: 2, shards: 2 };
    const text = tokensOf(["abcdefgh", "abcdefghij", "xyz"]);
    expect(explainLosses(reportSplit("valid", text, 0, options), options)).toEqual([
      "valid: 3 tokens in lines left over after 2 equal shards",
      "valid: 3 tokens in windows that do not fill another batch of 2",
      "valid: 3 tokens at the end that do not fill a window of 3",
    ]);
    const none = reportSplit("test", tokensOf(["a"]), 0, { batch: 2, length: 2 });
    expect(explainLosses(none, { batch: 2, length: 2 })[0]).toBe(
      "test: 1 tokens do not fill one batch of 2 × 3 in each of 1 shard(s)",
    );
  });
});

describe.runIf(existsSync(SHARED))("a built dataset", () => {
  const cache = join(root, "cache");
  const tokenizer = () => openTokenizer("sp250", { data: SHARED });
  const shape = { batch: 4, length: 8, cache };

  it("is a corpus again, with its own tokenizer and the same batches", async () => {
    const out = join(root, "tokens");
    const [books, opened] = [await openCorpus("books"), await tokenizer()];
    const reports = await buildDataset(books, opened, { ...shape, out });
    expect(readdirSync(out).sort()).toEqual([
      ".layerwise.json",
      "data.json",
      "test.tokens",
      "tokenizer.model",
      "train.tokens",
      "valid.tokens",
    ]);
    const built = await openCorpus(out);
    expect(built.tokenizer).toBe(join(out, "tokenizer.model"));
    const [a, b] = [await openBatches(books, "valid", opened, shape), await openBatches(built, "valid", opened, shape)];
    expect([...batchesFrom(b)]).toEqual([...batchesFrom(a)]);
    expect(JSON.parse(readFileSync(join(out, "data.json"), "utf8")).splits).toEqual(reports);
  });

  it("of TFRecord batches is byte for byte the original's", async () => {
    const path = join(root, "sample.txt");
    writeFileSync(path, readFileSync(`${SHARED}/tfrecords/sample.txt`));
    const part = { kind: "text", texts: [fileText({ path })] } as const;
    const corpus = { name: "sample", parts: new Map([["train", part] as const]) };
    const out = join(root, "records");
    await buildDataset(corpus, await tokenizer(), {
      batch: 3,
      length: 3,
      shards: 2,
      compat: "original",
      cache,
      out,
      tfrecord: true,
    });
    for (const file of ["file1.tfrecords", "file2.tfrecords"]) {
      const ours = readFileSync(join(out, "sample_train", file));
      expect(ours.equals(readFileSync(`${SHARED}/tfrecords/sample-two-shards/${file}`))).toBe(true);
    }
    const files = await inspectBatches(await openCorpus(out));
    expect(files.map(({ split, batches, rows, length }) => [split, batches, rows, length])).toEqual([
      ["train", 114, 3, 3],
      ["train", 81, 3, 3],
    ]);
  });

  it("is not written at all when one split is too short", async () => {
    const out = join(root, "short");
    const building = buildDataset(await openCorpus("books"), await tokenizer(), {
      ...shape,
      batch: 5000,
      out,
      tfrecord: true,
    });
    await expect(building).rejects.toThrow(/^books valid: expected at least batch · \(length \+ 1\) = 45000 tokens/);
    expect(readdirSync(root).filter((name) => name.includes("short"))).toEqual([]);
  });
});
