import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { batchesFrom } from "../batches.contract.ts";
import type { BatchSource } from "../batches.ts";
import { type Corpus, type CorpusPart, textCorpus } from "../corpus.ts";
import { loadTokenizer } from "../tokenizer.ts";
import { type Encoder, textBatches } from "../tokens.ts";
import { fileText, openCorpus } from "./corpus.ts";
import { encodeBatchFile } from "./records.ts";
import { openBatches, tokensOf } from "./tokens.ts";

const SHARED = "../shared/data";
const root = ownFolder("tokens");

/** One id a character: enough to follow tokens through the pipeline. */
const letters: Encoder = { size: 256, encode: (text) => [...text].map((c) => c.charCodeAt(0)) };
const identified = { tokenizer: letters, sha256: "letters" };
const shared = (name: string) => {
  const path = `${SHARED}/tokenizers/${name}.model`;
  return { tokenizer: loadTokenizer(readFileSync(path), path), sha256: name };
};
const fileCorpus = (path: string): Corpus => ({
  name: "text",
  parts: new Map([["valid", { kind: "text", texts: [fileText({ path })] }]]),
});
const recordCorpus = (...paths: string[]): Corpus => {
  const part: CorpusPart = { kind: "records", paths: paths.map((path) => `${SHARED}/tfrecords/${path}`) };
  return { name: "records", parts: new Map([["valid", part]]) };
};

/** Batches as text: comparing them element by element would take seconds. */
const allOf = (source: BatchSource) =>
  [...batchesFrom(source)].map(({ ids, targets }, i) => `${source.isFirst(i)} ${ids} ${targets}`);

describe("tokens of a split", () => {
  it("reads the cache the second time, and notices a changed text", async () => {
    const path = join(root, "text.txt");
    const cache = join(root, "cache");
    writeFileSync(path, "abc\n");
    const first = await tokensOf(fileCorpus(path), "valid", identified, { cache });
    const never = { size: 256, encode: () => expect.fail("not from the cache") };
    const again = { tokenizer: never, sha256: "letters" };
    expect(await tokensOf(fileCorpus(path), "valid", again, { cache })).toEqual(first);
    writeFileSync(path, "abd\n");
    expect([...(await tokensOf(fileCorpus(path), "valid", identified, { cache })).ids]).toEqual([97, 98, 100]);
    expect(readdirSync(cache)).toHaveLength(2);
  });
});

describe("batches of a split", () => {
  it("are the same from a file, through the cache, and from memory, where nothing is kept", async () => {
    const [text, cache] = ["abcdefg\nabcdefg\nabcdefg\n", join(root, "memory")];
    writeFileSync(join(root, "shards.txt"), text);
    const memory = textCorpus({ train: "a", valid: text });
    const shape = { batch: 2, length: 2 };
    const kept = await openBatches(memory, "valid", identified, { ...shape, cache });
    expect(existsSync(cache)).toBe(false);
    const file = await openBatches(fileCorpus(join(root, "shards.txt")), "valid", identified, { ...shape, cache });
    expect(allOf(kept)).toEqual(allOf(file));
    expect(allOf(textBatches(memory, "valid", identified, shape))).toEqual(allOf(file));
  });

  it("refuse TFRecord batches of another shape or another tokenizer", async () => {
    const path = join(root, "file1.tfrecords");
    writeFileSync(path, encodeBatchFile([1, 2, 3, 4, 5, 300], { batch: 2, window: 3 }));
    const corpus: Corpus = { name: "r", parts: new Map([["train", { kind: "records", paths: [path] }]]) };
    const open = (size: number, length: number) =>
      openBatches(corpus, "train", { tokenizer: { ...letters, size }, sha256: "" }, { batch: 2, length });
    await expect(open(301, 3)).rejects.toThrow("expected batches of 2 × 3, got TFRecord batches of 2 × 2");
    await expect(open(300, 2)).rejects.toThrow("expected ids below the tokenizer's 300 pieces, got 300");
    expect((await open(301, 2)).count).toBe(1);
  });
});

describe.runIf(existsSync(SHARED))("against the original's files", () => {
  const compat = { compat: "original", cache: join(root, "cache") } as const;

  it("gives the 304 batches of WikiText-2 valid in compat mode, and 298 by default", async () => {
    const corpus = await openCorpus("wikitext-2", { data: SHARED });
    const tokenizer = shared("wiki2_12k");
    const shape = { batch: 32, length: 32 };
    const theirs = allOf(await openBatches(recordCorpus("wikitext2-valid/file1.tfrecords"), "valid", tokenizer, shape));
    const ours = allOf(await openBatches(corpus, "valid", tokenizer, { ...shape, ...compat }));
    expect(ours).toHaveLength(304);
    expect(ours).toEqual(theirs);
    const plain = allOf(await openBatches(corpus, "valid", tokenizer, { ...shape, cache: compat.cache }));
    expect(plain).toEqual(theirs.slice(0, 298));
  });

  it.each([
    ["sample-bsz4-seqlen8", 4, 8, 1],
    ["sample-one-shard", 3, 3, 1],
    ["sample-two-shards", 3, 3, 2],
  ])("gives the batches of %s", async (folder, batch, length, shards) => {
    const files = Array.from({ length: shards }, (_, i) => `${folder}/file${i + 1}.tfrecords`);
    const theirs = await openBatches(recordCorpus(...files), "valid", shared("sp250"), { batch, length });
    const sample = fileCorpus(`${SHARED}/tfrecords/sample.txt`);
    const ours = await openBatches(sample, "valid", shared("sp250"), { batch, length, shards, ...compat });
    expect(allOf(ours)).toEqual(allOf(theirs));
  });
});
