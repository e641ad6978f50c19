import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { type Corpus, textCorpus } from "../corpus.ts";
import { specialIds } from "../masked/documents.ts";
import { trainTokenizer } from "../tokenizer-training.ts";
import { openCorpus } from "./corpus.ts";
import { chooseTokenizer } from "./trained-tokenizer.ts";

const SHARED = "../shared/data";
const root = ownFolder("trained");

describe("a trained tokenizer", () => {
  it("has a piece for every 150 characters of a short text, is trained once, then found in the cache", async () => {
    const path = join(root, "short.txt");
    writeFileSync(path, readFileSync("corpus/books/valid.txt", "utf8").slice(0, 52_000));
    const said: string[] = [];
    const options = { cache: root, say: (message: string) => said.push(message) };
    const first = await chooseTokenizer(undefined, await openCorpus(path), options);
    const again = await chooseTokenizer(undefined, await openCorpus(path), options);
    expect(again.sha256).toBe(first.sha256);
    expect(said).toEqual(["training a tokenizer of 300 pieces on short"]); // on 90 % of the lines
    expect([first.tokenizer.size, first.name]).toEqual([300, "short-300"]);
    expect(first.tokenizer.decode(first.tokenizer.encode("Alice was"))).toBe("alice was");
    expect(readdirSync(join(root, "tokenizers"))).toHaveLength(1);
  });

  it("that is damaged in the cache is said to be, and trained again", async () => {
    const cache = join(root, "damaged");
    const options = { cache, pieces: 200, say: (message: string) => said.push(message) };
    const said: string[] = [];
    const books = await openCorpus("corpus/books/valid.txt");
    const { sha256 } = await chooseTokenizer(undefined, books, options);
    const path = join(cache, "tokenizers", readdirSync(join(cache, "tokenizers"))[0]!);
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1]! ^= 4;
    writeFileSync(path, bytes);
    expect((await chooseTokenizer(undefined, books, options)).sha256).toBe(sha256);
    expect(said[1]).toBe(`${path} is damaged; trained again`);
  });

  it("of a large text is trained on stretches of lines from all over it, and says so", async () => {
    const path = join(root, "large.txt");
    const line = (i: number) =>
      `${"a".repeat(1 + (i % 7))} ${"b".repeat(1 + (Math.floor(i / 64) % 5))} ${"c".repeat(900)}`;
    const lines = Array.from({ length: 75_000 }, (_, i) => line(i));
    writeFileSync(path, lines.join("\n"));
    const said: string[] = [];
    const options = { pieces: 30, cache: join(root, "large"), say: (message: string) => said.push(message) };
    const { sha256 } = await chooseTokenizer(undefined, await openCorpus(path), options);
    expect(said).toEqual(["training a tokenizer of 30 pieces on large, from one line in 3 of so large a text"]);
    const part = lines.slice(0, 67_500).filter((_, i) => Math.floor(i / 64) % 3 === 0);
    expect((await trainTokenizer(textCorpus({ train: part, valid: "a" }), { pieces: 30 })).sha256).toBe(sha256);
  });

  it("for masked-LM data has ALBERT's special pieces, and can keep upper case", async () => {
    const options = { pieces: 250, cache: root, masked: true, cased: true };
    const { tokenizer } = await chooseTokenizer(undefined, await openCorpus("books"), options);
    expect(specialIds(tokenizer)).toEqual({ pad: 0, cls: 2, sep: 3, mask: 4 });
    expect(tokenizer.decode(tokenizer.encode("Alice was"))).toBe("Alice was");
  });

  it.each([{}, { pieces: 250, masked: true, cased: true }])(
    "has the very bytes that one trained in memory has: %j",
    async (wanted) => {
      const path = join(root, "same.txt");
      const text = readFileSync("corpus/books/valid.txt", "utf8");
      writeFileSync(path, text);
      const corpus = await openCorpus(path);
      const kept = await chooseTokenizer(undefined, corpus, { cache: root, ...wanted });
      const before = readdirSync(join(root, "tokenizers"));
      for (const source of [corpus, textCorpus({ train: text }, "same")]) {
        const { bytes, sha256, name, tokenizer } = await trainTokenizer(source, wanted);
        expect(Buffer.compare(bytes, kept.bytes)).toBe(0);
        expect([sha256, name, tokenizer.size]).toEqual([kept.sha256, kept.name, kept.tokenizer.size]);
      }
      const chosen = await chooseTokenizer(undefined, textCorpus({ train: text }), { cache: root, ...wanted });
      expect(chosen.sha256).toBe(kept.sha256);
      expect(readdirSync(join(root, "tokenizers"))).toEqual(before);
    },
  );

  it.runIf(existsSync(SHARED))("does not come before the one asked for or the data's own", async () => {
    const books = { ...(await openCorpus("books")), tokenizer: `${SHARED}/tokenizers/sp250.model` };
    expect((await chooseTokenizer(undefined, books, { pieces: 500 })).name).toBe("sp250");
    const asked = await chooseTokenizer("wiki2_12k", books, { pieces: 500, data: SHARED });
    expect(asked.name).toBe("wiki2_12k");
  });

  it("cannot be made from batches", async () => {
    const corpus: Corpus = { name: "wiki", parts: new Map([["train", { kind: "records", paths: [] }]]) };
    await expect(chooseTokenizer(undefined, corpus, { pieces: 500 })).rejects.toThrow(
      "corpus wiki: expected the tokenizer it was made with, got none; name it with --tokenizer",
    );
  });
});
