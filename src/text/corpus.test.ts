import { describe, expect, it } from "vitest";
import { identityOf, liesInFiles, linesOf, linesOfText, partOf, SPLITS, textCorpus } from "./corpus.ts";

const numbered = (n: number) => Array.from({ length: n }, (_, i) => `line ${i}`);

describe("a corpus in memory", () => {
  it("has the parts it is given, as lines or as one string", () => {
    const corpus = textCorpus({ train: ["a b", "c"], valid: "d\r\ne\n\nf" }, "mine");
    expect(corpus.name).toBe("mine");
    expect([...corpus.parts.keys()]).toEqual(["train", "valid"]);
    expect([...linesOf(corpus, "train")]).toEqual(["a b", "c"]);
    expect([...linesOf(corpus, "valid")]).toEqual(["d", "e", "", "f"]);
    expect(() => partOf(corpus, "test")).toThrow("corpus mine: expected a test part, got only train, valid");
  });

  it("is cut 90/5/5 by lines where only train is given", () => {
    const corpus = textCorpus({ train: numbered(40) });
    const parts = SPLITS.map((split) => [...linesOf(corpus, split)]);
    expect(parts.map(({ length }) => length)).toEqual([36, 2, 2]);
    expect(parts.flat()).toEqual(numbered(40));
    expect(() => textCorpus({ train: "one\ntwo" })).toThrow(
      "corpus text: expected at least 3 lines of text to split, got 2",
    );
  });

  it("can be read again, also when it came from a generator, and cuts lines that hold several", () => {
    function* once() {
      yield "a\nb\n";
      yield "";
      yield "c";
    }
    const corpus = textCorpus({ train: once(), valid: "v" });
    for (let i = 0; i < 2; i++) expect([...linesOf(corpus, "train")]).toEqual(["a", "b", "", "c"]);
  });

  it("is identified by its content and lies in no file", async () => {
    const identity = (train: string) => identityOf(partOf(textCorpus({ train, valid: "v" }), "train"));
    expect(await identity("a\nb")).toEqual(await identity("a\r\nb\n"));
    expect(await identity("a\nb")).not.toEqual(await identity("a\nc"));
    expect(liesInFiles(partOf(textCorpus({ train: "a", valid: "v" }), "train"))).toBe(false);
  });

  it("refuses parts of other names, no training text, and lines that are none", () => {
    const wrong = { train: "a", validation: "b" };
    expect(() => textCorpus(wrong)).toThrow(
      "corpus text: expected options among train, valid, test, got validation; did you mean valid?",
    );
    expect(() => textCorpus({ valid: "b" } as never)).toThrow("corpus text: expected a train part, got none");
    expect(() => textCorpus({ train: [], valid: "b" })).toThrow(
      "corpus text / train: expected at least one line, got none",
    );
    expect(() => textCorpus({ train: [1] as never })).toThrow("expected lines that are strings, got number");
  });
});

describe("the lines of a text", () => {
  it.each([
    ["", []],
    ["\n", [""]],
    ["a", ["a"]],
    ["\ufeffa\r\n\r\nb\r", ["a", "", "b"]],
    ["a\rb\n", ["a\rb"]],
  ])("%j are %j", (text, lines) => {
    expect(linesOfText(text)).toEqual(lines);
  });
});
