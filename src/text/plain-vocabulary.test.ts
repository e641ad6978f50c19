import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textCorpus, withLineEnds } from "./corpus.ts";
import { byteModel, isByteTokenizer, wordModel } from "./plain-vocabulary.ts";
import { loadTokenizer } from "./tokenizer.ts";

describe("a vocabulary of bytes", () => {
  const tokenizer = loadTokenizer(byteModel(), "bytes");

  it("has an id per byte behind four special pieces, whatever the text", () => {
    expect([tokenizer.size, tokenizer.padId, tokenizer.unknownId]).toEqual([260, 0, 3]);
    expect([...tokenizer.encode("aé \n")]).toEqual([0x61, 0xc3, 0xa9, 0x20, 0x0a].map((byte) => byte + 4));
  });

  it("gives every text back", () => {
    const texts = fc.string({
      unit: fc.constantFrom("a", "ß", " ", "\n", "漢", "  ", "▁", "<0x41>", "\t"),
      maxLength: 20,
    });
    fc.assert(
      fc.property(texts, (text) => {
        const ids = tokenizer.encode(text);
        expect(ids.length).toBe(Buffer.byteLength(text));
        expect(tokenizer.decode(ids)).toBe(text);
      }),
    );
  });

  it("is known as one, and other vocabularies are not", () => {
    expect(isByteTokenizer(tokenizer)).toBe(true);
    expect(isByteTokenizer(loadTokenizer(byteModel({ masked: true }), "bytes"))).toBe(true);
    expect(isByteTokenizer(loadTokenizer(wordModel(["a b"], { pieces: 8 }), "words"))).toBe(false);
  });

  it("has ALBERT's special pieces for masked text", () => {
    const masked = loadTokenizer(byteModel({ masked: true }), "bytes");
    expect([masked.size, masked.idOf("[MASK]"), masked.idOf("[CLS]")]).toEqual([261, 4, 2]);
  });
});

describe("a vocabulary of words", () => {
  const lines = ["the Cat sat", "the dog sat on the mat", "  the   Cat "];

  it("has the most frequent words as they are written; others are unknown", () => {
    const tokenizer = loadTokenizer(wordModel(lines, { pieces: 7 }), "words");
    expect(Array.from({ length: 7 }, (_, id) => tokenizer.pieceOf(id))).toEqual([
      ...["[PAD]", "[BOS]", "[EOS]", "[UNK]"],
      ...["▁the", "▁Cat", "▁sat"],
    ]);
    expect([...tokenizer.encode("the Cat saw the mat")]).toEqual([4, 5, 3, 4, 3]);
    expect(tokenizer.decode(tokenizer.encode("the Cat sat"))).toBe("the Cat sat");
  });

  it("has no more pieces than there are words, and refuses text without any", () => {
    expect(loadTokenizer(wordModel(lines, { pieces: 100 }), "words").size).toBe(4 + 6);
    expect(() => wordModel(["  "], {})).toThrow("words: expected text with words in it, got none");
    expect(() => wordModel(lines, { pieces: 4 })).toThrow("words: expected pieces for words beside the special ones");
  });
});

describe("a corpus with its line ends", () => {
  it("is the text as it stands, under an identity of its own", async () => {
    const plain = textCorpus({ train: "a\nb", valid: "c", test: "d" });
    const ended = withLineEnds(plain);
    const part = (corpus: typeof plain) => {
      const found = corpus.parts.get("train")!;
      return found.kind === "text" ? found.texts[0]! : undefined;
    };
    expect([...part(ended)!.lines()]).toEqual(["a\n", "b\n"]);
    expect(await part(ended)!.identity()).not.toEqual(await part(plain)!.identity());
  });
});
