import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { sha256 } from "../../files/checksum.ts";
import { batchesFrom } from "../batches.contract.ts";
import type { BatchSource } from "../batches.ts";
import { type Corpus, type CorpusPart, textCorpus } from "../corpus.ts";
import { loadTokenizer } from "../tokenizer.ts";
import { type Encoder, type TextTokens, textBatches, wholeText } from "../tokens.ts";
import { fileText, openCorpus } from "./corpus.ts";
import { batchRecords } from "./records.ts";
import { openBatches, openTokens, tokensOf } from "./tokens.ts";

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

/** Text of some megabytes in which every line differs from the others. */
function largeText(path: string, megabytes: number): void {
  const lines = readFileSync("corpus/books/train.txt", "utf8")
    .split("\n")
    .filter((line) => line.length > 20);
  let [text, length] = ["", 0];
  for (let i = 0; length < megabytes * 1e6; i++) {
    const line = `${lines[i % lines.length]} ${i.toString(36)} é${i % 7 === 0 ? "\r" : ""}\n`;
    text += line;
    length += line.length;
  }
  writeFileSync(path, text);
}

describe("the token cache", () => {
  const path = join(root, "kept.txt");
  const valid = (cache: string, warn?: (message: string) => void) =>
    tokensOf(fileCorpus(path), "valid", identified, { cache, ...(warn ? { warn } : {}) });
  const fileIn = (cache: string) => join(cache, readdirSync(cache).find((name) => name.endsWith(".tokens"))!);

  it.each([
    ["its end", -9, "whole numbers at its end"],
    ["its beginning", 5, "version 2"],
  ])("is built again where %s is damaged, and says so", async (_, at, message) => {
    const cache = join(root, `hurt${at}`);
    writeFileSync(path, "abc\nd\n");
    const first = await valid(cache);
    const whole = readFileSync(fileIn(cache));
    const hurt = Uint8Array.from(whole);
    hurt.set([77], at < 0 ? hurt.length + at : at);
    writeFileSync(fileIn(cache), hurt);
    const said: string[] = [];
    expect(await valid(cache, (text) => said.push(text))).toEqual(first);
    expect(said.join()).toContain(message);
    expect(readFileSync(fileIn(cache)).equals(whole)).toBe(true);
  });

  it("makes a damaged block again from the text, and the file at the next start", async () => {
    const cache = join(root, "block");
    writeFileSync(path, "abc\nd\n");
    const first = await valid(cache);
    const whole = readFileSync(fileIn(cache));
    const hurt = Uint8Array.from(whole);
    hurt[16]! ^= 1;
    writeFileSync(fileIn(cache), hurt);
    const said: string[] = [];
    expect(await valid(cache, (text) => said.push(text))).toEqual(first);
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("block 0 is damaged (made again from the text");
    expect(readdirSync(cache)).toEqual([]);
    expect(await valid(cache)).toEqual(first);
    expect(readFileSync(fileIn(cache)).equals(whole)).toBe(true);
  });

  it("keeps nothing of a text that changes while it is read", async () => {
    const cache = join(root, "changing");
    writeFileSync(path, "abc\nd\n");
    const encode = (text: string) => {
      writeFileSync(path, "abc\ne\n");
      return letters.encode(text);
    };
    const changing = { tokenizer: { size: 256, encode }, sha256: "letters" };
    await expect(tokensOf(fileCorpus(path), "valid", changing, { cache })).rejects.toThrow(
      `${path}: expected a text that stays as it is while it is read, got one that changed`,
    );
    expect(readdirSync(cache)).toEqual([]);
  });

  it.runIf(process.platform === "linux")("leaves nothing of a file that has no room", () => {
    const [cache, text] = [join(root, "full"), join(root, "full.txt")];
    largeText(text, 1);
    const script = `import { tokensOf } from ${JSON.stringify(new URL("tokens.ts", import.meta.url).href)};
      import { fileText } from ${JSON.stringify(new URL("corpus.ts", import.meta.url).href)};
      const corpus = { name: "t", parts: new Map([["train", { kind: "text", texts: [fileText({ path: ${JSON.stringify(text)} })] }]]) };
      const tokenizer = { size: 300, encode: (text) => [...text].map((c) => c.charCodeAt(0)) };
      await tokensOf(corpus, "train", { tokenizer, sha256: "" }, { cache: ${JSON.stringify(cache)} }).catch(({ code }) => console.log(code));`;
    const args = ["-c", 'ulimit -f 400; exec "$@"', "-", process.execPath, "--import", "tsx", "--input-type=module"];
    const { stdout, stderr } = spawnSync("bash", [...args, "-e", script], { encoding: "utf8" });
    expect(stdout, stderr).toBe("EFBIG\n");
    expect(readdirSync(cache)).toEqual([]);
  });
});

describe.runIf(existsSync(SHARED))("a large text", () => {
  const path = join(root, "large.txt");

  it("is tokenised on several threads to the same ids, lines and sizes", async () => {
    largeText(path, 9);
    const [here, there] = [join(root, "one-thread"), join(root, "threads")];
    const encoder = shared("wiki2_12k");
    const model = readFileSync(`${SHARED}/tokenizers/wiki2_12k.model`);
    let heard = 0;
    const onLine = (lines: number) => {
      heard = lines;
    };
    const alone = await openTokens(fileCorpus(path), "valid", encoder, { cache: here });
    const elsewhere = { ...shared("wiki2_12k"), bytes: model };
    Object.assign(elsewhere.tokenizer, { encode: () => expect.fail("not on a thread") });
    const tokens = await openTokens(fileCorpus(path), "valid", elsewhere, { cache: there, onLine });
    expect(heard).toBe(tokens.lines);
    expect(readdirSync(there)).toEqual(readdirSync(here));
    const hashOf = (text: TextTokens) => {
      const { ids, lineEnds } = wholeText(text, 12_000);
      return [sha256(Buffer.from(ids.buffer)), sha256(Buffer.from(lineEnds.buffer)), text.words, text.bytes];
    };
    expect(hashOf(tokens)).toEqual(hashOf(alone));
  });

  it("that is not UTF-8 is refused by line, whoever reads it", async () => {
    largeText(path, 9);
    const bytes = readFileSync(path);
    const at = bytes.length >> 1;
    bytes[at] = 0xff;
    writeFileSync(path, bytes);
    const line = bytes.subarray(0, at).filter((byte) => byte === 10).length + 1;
    const cache = join(root, "bad");
    const encoder = { ...shared("wiki2_12k"), bytes: readFileSync(`${SHARED}/tokenizers/wiki2_12k.model`) };
    const opening = openTokens(fileCorpus(path), "valid", encoder, { cache });
    await expect(opening).rejects.toThrow(`${path}: line ${line}: expected UTF-8 text`);
    expect(readdirSync(cache)).toEqual([]);
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
    writeFileSync(path, Buffer.concat([...batchRecords([1, 2, 3, 4, 5, 300], { batch: 2, window: 3 })]));
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
