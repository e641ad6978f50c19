import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { textCorpus } from "./corpus.ts";
import { documentsOf, specialIds } from "./masked/documents.ts";
import { tokenizerFromBytes } from "./tokenizer.ts";
import { trainTokenizer } from "./tokenizer-training.ts";

const books = readFileSync(new URL("../../corpus/books/valid.txt", import.meta.url), "utf8");
const corpus = textCorpus({ train: books, valid: ["Alice was here.", "", "So was the Rabbit."] }, "mine");

describe("a tokenizer trained in memory", () => {
  it("has the pieces asked for, tells what it does, and comes back from its bytes", async () => {
    const said: string[] = [];
    let steps = 0;
    const onStep = (done: number) => {
      steps = done;
    };
    const opened = await trainTokenizer(corpus, { pieces: 300, say: (message) => said.push(message), onStep });
    expect(said).toEqual(["training a tokenizer of 300 pieces on mine"]);
    expect(steps).toBeGreaterThan(books.split("\n").length - 1);
    expect([opened.name, opened.tokenizer.size]).toEqual(["mine-300", 300]);
    const again = await tokenizerFromBytes(opened.bytes, "again");
    expect(again.sha256).toBe(opened.sha256);
    expect(again.tokenizer.decode(again.tokenizer.encode("Alice was"))).toBe("alice was");
  });

  it("keeps symbols whole, and serves masked text in memory", async () => {
    const opened = await trainTokenizer(corpus, { pieces: 300, masked: true, cased: true, symbols: ["<q>"] });
    expect(opened.tokenizer.encodePieces("a<q>b")).toContain("<q>");
    expect(specialIds(opened.tokenizer)).toEqual({ pad: 0, cls: 2, sep: 3, mask: 4 });
    expect(documentsOf(corpus, "valid", opened).map(({ length }) => length)).toEqual([1, 1]);
  });

  it("refuses options that it does not know or that cannot be", async () => {
    const wrong = (options: object) => trainTokenizer(corpus, options);
    await expect(wrong({ vocabularySize: 9 })).rejects.toThrow("trainTokenizer: expected options among pieces, cased");
    await expect(wrong({ pieces: 2.5 })).rejects.toThrow(
      "trainTokenizer / pieces: expected a whole number from 2, got 2.5",
    );
    await expect(wrong({ coverage: 0 })).rejects.toThrow("expected a number above 0 to 1, got 0");
  });

  it("has a piece for every letter where all are to be covered", async () => {
    const rare = textCorpus({ train: `${books}\nþ`, valid: "v" });
    const unknown = async (coverage: number) => {
      const { tokenizer } = await trainTokenizer(rare, { pieces: 300, coverage });
      return [...tokenizer.encode("þ")].includes(tokenizer.unknownId);
    };
    expect([await unknown(1), await unknown(0.999)]).toEqual([false, true]);
  });
});
