import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addData } from "../src/cli/commands/data.ts";
import { ownFolder, printedBy } from "./command.ts";

const SHARED = "../shared/data";
const root = ownFolder("data");
const at = (...names: string[]) => join(root, ...names);

const data = (...args: string[]) => printedBy(addData, "data", ...args);
const small = ["--tokenizer", "sp250", "--data", SHARED, "--cache", at("cache"), "--batch", "4", "--length", "8"];

it("layerwise data build goes from a text to a tokenizer and batches in one go", async () => {
  const path = at("story.txt");
  writeFileSync(path, readFileSync("corpus/books/valid.txt", "utf8").slice(0, 30_000));
  const args = ["--corpus", path, "--pieces", "250", "--batch", "4", "--length", "8", "--cache", at("cache")];
  const { splits, pieces } = JSON.parse(await data("build", ...args, "--out", at("story"), "--json"));
  expect(pieces).toBe(250);
  expect(splits.map((report: { split: string }) => report.split)).toEqual(["train", "valid", "test"]);
  expect(await data("inspect", "--corpus", at("story"), "--batch", "4", "--length", "8")).toContain(
    "story with tokenizer (250 pieces)",
  );
});

it("layerwise data build --masked refuses --cased, for its text is lower-cased", async () => {
  const both = data("build", "--corpus", "books", "--masked", "--cased", "--out", at("cased"));
  await expect(both).rejects.toMatchObject({
    message: expect.stringMatching(/^--cased: expected text that is not masked, got --masked.*leave --cased out/),
    exitCode: 2,
  });
  expect(existsSync(at("cased"))).toBe(false);
});

it("layerwise data build --masked takes every flag of masking, which batches refuse", async () => {
  const path = at("tale.txt");
  writeFileSync(path, readFileSync("corpus/books/valid.txt", "utf8").slice(0, 20_000));
  const args = ["--corpus", path, "--pieces", "250", "--length", "32", "--cache", at("cache")];
  const masking =
    "--mask-share 0.4 --predictions 12 --max-ngram 1 --no-whole-word --favour-longer --short-texts 0 --random-next";
  const masked = async (out: string, ...flags: string[]) => {
    await data("build", ...args, "--masked", "--passes", "1", "--out", at(out), ...flags);
    const { files } = JSON.parse(await data("inspect", "--corpus", at(out), "--json"));
    const [{ examples, masked: count, tokens }] = files;
    return { each: count / examples, share: count / tokens };
  };
  const [usual, more] = [await masked("usual"), await masked("more", ...masking.split(" "))];
  expect(usual.share).toBeLessThan(0.2);
  expect(more.share).toBeGreaterThan(0.3);
  expect(more.each).toBeLessThanOrEqual(12);
  await expect(data("build", ...args, "--out", at("no"), "--max-ngram", "2")).rejects.toThrow(
    /--masked beside flags of masking/,
  );
  expect(existsSync(at("no"))).toBe(false);
});

describe.runIf(existsSync(SHARED))("layerwise data", () => {
  it("inspect gives the published counts of WikiText-2", async () => {
    const args = ["--corpus", "wikitext-2", "--tokenizer", "wiki2_12k", "--data", SHARED, "--cache", at("cache")];
    const ours = JSON.parse(await data("inspect", ...args, "--json"));
    expect(ours.splits.map((s: { tokens: number; batches: number }) => [s.tokens, s.batches])).toEqual([
      [2982265, 2824],
      [314913, 298],
      [357981, 338],
    ]);
    const original = await data("inspect", ...args, "--compat", "original");
    expect(original).toMatch(/valid +3,760 +213,886 +314,913 +1\.472 +351 +304 +6 +27/);
    expect(original).toContain("valid: 6 batches repeat tokens of others");
  });

  it("inspect reads the original's files", async () => {
    const { files } = JSON.parse(await data("inspect", "--corpus", `${SHARED}/tfrecords/sample-two-shards`, "--json"));
    expect(files.map((file: { batches: number }) => file.batches)).toEqual([114, 81]);
  });

  it("build writes a folder once, and replaces it only when forced", async () => {
    const out = at("books");
    expect(await data("build", ...small, "--out", out)).toContain(`wrote ${out}`);
    await expect(data("build", ...small, "--out", out)).rejects.toThrow("add --force");
    await data("build", ...small, "--out", out, "--tfrecord", "--force");
    expect(readdirSync(out).sort()).toEqual([
      ".layerwise.json",
      "books_test",
      "books_train",
      "books_valid",
      "data.json",
      "tokenizer.model",
    ]);
    expect(await data("inspect", "--corpus", out)).toContain("file1.tfrecords");
  });

  it("build --masked writes examples of every split", async () => {
    const out = at("masked");
    const args = [
      "--corpus",
      "books",
      "--tokenizer",
      "albert-30k",
      "--data",
      SHARED,
      "--masked",
      "--passes",
      "1",
      "--shards",
      "2",
    ];
    const { splits } = JSON.parse(await data("build", ...args, "--out", out, "--json"));
    expect(splits.map((split: { documents: number }) => split.documents)).toEqual([20, 2, 2]);
    expect(readdirSync(join(out, "books_train"))).toEqual(["file1.tfrecords", "file2.tfrecords"]);
    expect(await data("inspect", "--corpus", out)).toMatch(/^split +file +examples +length +tokens +masked +swapped\n/);
  });

  it.each([
    ["an empty file", "", "at least 3 lines of text to split, got 0"],
    ["invalid UTF-8", Buffer.from([97, 10, 98, 10, 0xc3, 0x28, 10, 99, 10]), "line 3: expected UTF-8 text"],
    ["too little text", "a\nb\nc\n", "do not fill one batch"],
    ["a NUL byte", "a\0b c\n".repeat(400), "valid"],
    ["a line of 10 MB", `${"0123456789 ".repeat(950_000)}\nb\nc\n`, "950,000"],
  ])("inspect answers %s with a clear message or the right result", async (name, content, expected) => {
    const path = at(`${name}.txt`);
    writeFileSync(path, content);
    const answer = await data("inspect", ...small, "--corpus", path).catch((error: Error) => error.message);
    expect(answer).toContain(expected);
  });

  it.each([
    [
      "cut",
      (bytes: Buffer) => bytes.subarray(0, -5),
      /file1\.tfrecords: record 64 at byte \d+: expected \d+ bytes, got \d+: it is cut/,
    ],
    ["random", () => Buffer.from("0123456789abcdef0123456789"), /record 0 at byte 0: expected length with checksum/],
    ["empty", () => Buffer.alloc(0), /expected at least one batch, got an empty file/],
  ])("inspect names the damage in a %s batch file", async (name, hurt, expected) => {
    const folder = mkdtempSync(at(`${name}-`));
    const path = join(folder, "file1.tfrecords");
    writeFileSync(path, hurt(readFileSync(`${SHARED}/tfrecords/sample-bsz4-seqlen8/file1.tfrecords`)));
    await expect(data("inspect", "--corpus", path)).rejects.toThrow(expected);
  });

  it("refuses options that make no sense", async () => {
    await expect(data("build", "--batch", "0")).rejects.toThrow("It must be a whole number from 1.");
    await expect(data("build", "--compat", "mine")).rejects.toThrow("Allowed choices are original");
    await expect(data("inspect", "--corpus", "nowhere")).rejects.toThrow("corpus: expected books");
    await expect(data("inspect", "--tokenizer", "nowhere")).rejects.toThrow("tokenizer: expected a model file");
  });
});

describe.runIf(existsSync(SHARED))("layerwise data download", () => {
  const server = createServer((request, response) => {
    const path = `${SHARED}/multi30k${request.url}`;
    if (existsSync(path)) response.end(readFileSync(path));
    else response.writeHead(404).end();
  });
  let base = "";
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  it("fetches a dataset from another address and says that it was checked", async () => {
    const printed = await data("download", "multi30k", "--data", at("fetched"), "--from", base);
    expect(printed.match(/yes$/gm)).toHaveLength(6);
    expect(readdirSync(at("fetched", "multi30k"))).toHaveLength(6);
  });

  it("says what to do when an address does not answer", async () => {
    await expect(data("download", "glue", "--data", at("fetched"), "--from", base)).rejects.toThrow("HTTP status 404");
    const closed = data("download", "wikitext-2", "--data", at("fetched"), "--from", "http://127.0.0.1:1");
    await expect(closed).rejects.toThrow("check the internet connection");
    await expect(data("download", "imagenet")).rejects.toThrow("one of wikitext-2, glue, multi30k, got imagenet");
  });
});
