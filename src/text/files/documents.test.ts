import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { type Corpus, textCorpus } from "../corpus.ts";
import { drawnBatches, type MaskedBatches } from "../masked/batches.ts";
import { documentWordBatches } from "../masked/document-words.ts";
import { type Document, documentsOf, type StoredDocuments } from "../masked/documents.ts";
import { PRETRAINING_DEFAULTS } from "../masked/examples.ts";
import { packedBatches } from "../masked/packed.ts";
import type { OpenTokenizer } from "../tokenizer.ts";
import { trainTokenizer } from "../tokenizer-training.ts";
import { fileText } from "./corpus.ts";
import { openDocuments } from "./documents.ts";

const root = ownFolder("documents");
const books = readFileSync("corpus/books/valid.txt", "utf8");
let opened: OpenTokenizer;
beforeAll(async () => {
  opened = await trainTokenizer(textCorpus({ train: books.slice(0, 40_000) }), { pieces: 300, masked: true });
});

function corpusOf(texts: readonly string[], articles = false): Corpus {
  const files = texts.map((text, i) => {
    const path = join(root, `text${i}.txt`);
    writeFileSync(path, text);
    return fileText({ path, articles });
  });
  return { name: "t", parts: new Map([["train", { kind: "text", texts: files }]]) };
}

async function stored(corpus: Corpus, options = {}): Promise<StoredDocuments> {
  const cache = join(root, "cache");
  const found = await openDocuments(corpus, "train", opened, { cache, storedFrom: 0, ...options });
  if (!("ends" in found)) expect.fail("in memory");
  return found;
}

const textOf = (document: Document | undefined) => document?.map((ids) => ids.join(" ")).join("\n");
const allOf = (documents: StoredDocuments) =>
  Array.from({ length: documents.length }, (_, i) => textOf(documents.at(i)));
const batchesOf = ({ count, at }: MaskedBatches) =>
  Array.from({ length: Math.min(count, 12) }, (_, i) => JSON.stringify(Object.values(at(i)).map(String)));

const options = { ...PRETRAINING_DEFAULTS, length: 32, maxPredictions: 5, rows: 3 };
const texts = [`\ufeff\n\n${books.slice(0, 9000)}`, " \n1,5 sails\n\u0301\nmore\n\n", books.slice(9000, 14_000)];

describe("documents in a file", () => {
  it.each([
    ["parted by blank lines", {}, false],
    ["of one line each", { lineDocuments: true }, false],
    ["that are articles", {}, true],
  ])("%s are those in memory, and give their batches", async (_, how, articles) => {
    const given = articles ? texts.map((text) => text.replaceAll("\n\n", "\n\n = Title = \n\n")) : texts;
    const corpus = corpusOf(given, articles);
    const memory = documentsOf(corpus, "train", opened, how);
    const file = await stored(corpus, how);
    expect(memory.length).toBeGreaterThan(4);
    expect(allOf(file)).toEqual(memory.map(textOf));
    expect(file.at(file.length)).toBeUndefined();
    for (const causal of [false, true]) {
      const packed = (from: readonly Document[] | StoredDocuments) =>
        batchesOf(packedBatches(from, opened.tokenizer, { ...options, causal }));
      expect(packed(file)).toEqual(packed(memory));
    }
    const { tokenizer } = opened;
    const cropped = [file, memory].map((from) => documentWordBatches(from, tokenizer, options));
    expect([cropped[0]!.count, cropped[0]!.tokens]).toEqual([cropped[1]!.count, cropped[1]!.tokens]);
    expect(batchesOf(cropped[0]!)).toEqual(batchesOf(cropped[1]!));
    expect(batchesOf(drawnBatches(file, tokenizer, options))).toEqual(
      batchesOf(drawnBatches(memory, tokenizer, options)),
    );
  });

  it("of a large text are cut on several threads", async () => {
    const large = Array.from({ length: Math.ceil(9e6 / books.length) }, (_, i) => `${books}\n${i}.`).join("\n\n");
    const corpus = corpusOf([large, "the end"]);
    const memory = documentsOf(corpus, "train", opened);
    const threads = { ...opened, tokenizer: Object.create(opened.tokenizer) as typeof opened.tokenizer };
    Object.assign(threads.tokenizer, { encode: () => expect.fail("not on a thread") });
    const file = await openDocuments(corpus, "train", threads, { cache: join(root, "threads"), storedFrom: 0 });
    expect(file.length).toBe(memory.length);
    for (const i of [0, 1, memory.length >> 1, memory.length - 1]) expect(textOf(file.at(i))).toBe(textOf(memory[i]));
    expect((file as StoredDocuments).ids.length).toBe(memory.flat().reduce((sum, { length }) => sum + length, 0));
  });

  it("have a damaged block made again", async () => {
    const [corpus, cache] = [corpusOf(texts), join(root, "hurt")];
    const whole = allOf(await stored(corpus, { cache }));
    const path = join(cache, readdirSync(cache)[0]!);
    const bytes = readFileSync(path);
    bytes[100]! ^= 2;
    writeFileSync(path, bytes);
    const said: string[] = [];
    expect(allOf(await stored(corpus, { cache, warn: (text: string) => said.push(text) }))).toEqual(whole);
    expect(said.join()).toContain("block 0 is damaged (made again from the text");
  });

  it("of a small text are in memory", async () => {
    expect(Array.isArray(await openDocuments(corpusOf(texts), "train", opened))).toBe(true);
  });
});
