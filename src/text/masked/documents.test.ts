import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readLines } from "../../files/lines.ts";
import { loadTokenizer } from "../tokenizer.ts";
import {
  articleLines,
  isStartPiece,
  normaliseForAlbert,
  readDocuments,
  sentenceEncoder,
  specialIds,
} from "./documents.ts";

const ALBERT = "../shared/data/tokenizers/albert-30k.model";
const albert = () => loadTokenizer(readFileSync(ALBERT), ALBERT);

describe("normalisation for masked-LM data", () => {
  it("collapses white space, decomposes, drops combining marks and lower-cases", () => {
    expect(normaliseForAlbert("  Crème\t Brûlée  Ⅷ ﬁn\u00a0Å ")).toBe("creme brulee viii fin a");
    expect(normaliseForAlbert("Été", { lowerCase: false })).toBe("Ete");
  });

  it("keeps marks of combining class 0, such as vowel signs", () => {
    expect(normaliseForAlbert("की")).toBe("की"); // U+0940, class 0
    expect(normaliseForAlbert("क्")).toBe("क"); // U+094D, class 9
    expect(normaliseForAlbert("a\u0334\u0315\u0591")).toBe("a"); // classes 1, 232, 220
  });
});

describe("documents", () => {
  const words = {
    size: 3,
    encode: (text: string) => Int32Array.from(text.split(" "), Number),
    encodePieces: () => [],
    pieceOf: () => "x",
    idOf: () => 0,
  };

  it("end at blank lines, and hold no empty ones", () => {
    const documents = readDocuments(["", "1 2", "2", "  ", "", "1", ""], words);
    expect(documents.map((document) => document.map((ids) => [...ids]))).toEqual([[[1, 2], [2]], [[1]]]);
  });

  it("of WikiText begin at first-level headings, one sentence a line", () => {
    const lines = [
      " ",
      " = Lobster = ",
      " ",
      " It is blue . It swims . ",
      " ",
      " = = Size = = ",
      " It is big . ",
      " = A = ",
      " ",
    ];
    const got = [...articleLines([...lines, " = Whale = "])];
    expect(got).toEqual([
      "",
      "= Lobster =",
      "It is blue .",
      "It swims .",
      "= = Size = =",
      "It is big .",
      "= A =",
      "",
      "= Whale =",
    ]);
  });
});

it.runIf(existsSync("../shared/data"))("WikiText-2 has 600, 60 and 60 articles", () => {
  const articles = (split: string) => [...articleLines(readLines(`../shared/data/wikitext-2/${split}.txt`))];
  const counts = ["train", "valid", "test"].map((split) => articles(split).filter((line) => line === "").length);
  expect(counts).toEqual([600, 60, 60]);
});

describe("pieces", () => {
  it("begin a word if marked, punctuation, or foreign", () => {
    expect(["▁the", "<unk>", ",", "'", "é", "ab9"].every(isStartPiece)).toBe(true);
    expect(["ing", "s.", "Ed"].some(isStartPiece)).toBe(false);
  });

  it("lose a comma after a digit, and the space mark they did not have", () => {
    const pieces = ["<unk>", "▁", "▁9,", "9,", "▁9", "9", ","];
    const fake = {
      size: pieces.length,
      encode: (text: string) => Int32Array.from(text.split(" "), Number),
      encodePieces: () => ["▁9"],
      pieceOf: (id: number) => pieces[id]!,
      idOf: (piece: string) => pieces.indexOf(piece),
    };
    expect([...sentenceEncoder(fake)("2 4 3")]).toEqual([4, 6, 4, 5, 6]);
    expect([...sentenceEncoder({ ...fake, encodePieces: () => ["▁", "9"] })("3")]).toEqual([5, 6]);
  });

  it.runIf(existsSync(ALBERT))("that end in digit and comma are cut, with or without a space mark", () => {
    const tokenizer = albert();
    const encode = sentenceEncoder(tokenizer);
    const cut = [...encode("1990,")].map((id) => tokenizer.pieceOf(id));
    expect(cut).toEqual(["▁1990", ","]);
    for (const text of ["in 1990, 2,500 men", "9,", "1,2,3,"]) {
      const ids = [...encode(text)];
      expect(ids.map((id) => tokenizer.pieceOf(id)).filter((piece) => /\d,$/.test(piece))).toEqual([]);
      expect(tokenizer.decode(ids)).toBe(text);
    }
  });

  it.runIf(existsSync(ALBERT))("frame and mask by their names", () => {
    expect(specialIds(albert())).toEqual({ pad: 0, cls: 2, sep: 3, mask: 4 });
  });

  it("that frame and mask must exist", () => {
    const bare = {
      size: 1,
      encode: () => new Int32Array(0),
      encodePieces: () => [],
      pieceOf: () => "<unk>",
      idOf: () => 0,
    };
    expect(() => specialIds(bare)).toThrow("expected a tokenizer with the piece <pad> or [PAD]");
  });
});
