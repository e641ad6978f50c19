import { describe, expect, it } from "vitest";
import { batchesFrom } from "./batches.contract.ts";
import { textCorpus } from "./corpus.ts";
import { type Encoder, shardsOf, textBatches, tokenize, tokensInMemory } from "./tokens.ts";

/** One id per character: enough to follow tokens through the pipeline. */
const letters: Encoder = { size: 256, encode: (text) => [...text].map((c) => c.charCodeAt(0)) };

describe("tokenising", () => {
  it("joins lines without separators and remembers where they end", () => {
    const text = tokenize(["ab c", "", "d"], letters);
    expect([...text.ids]).toEqual([97, 98, 32, 99, 100]);
    expect([...text.lineEnds]).toEqual([4, 4, 5]);
    expect([text.words, text.bytes]).toEqual([3, 5]);
    expect(shardsOf(tokensInMemory(text), 3).map((ids) => ids.length)).toEqual([4, 0, 1]);
  });

  it("takes four bytes per id only when the vocabulary needs them", () => {
    expect(tokenize(["a"], letters).ids).toBeInstanceOf(Uint16Array);
    expect(tokenize(["a"], { size: 70_000, encode: () => [69_999] }).ids).toEqual(Int32Array.of(69_999));
  });
});

describe("batches of text in memory", () => {
  const corpus = textCorpus({ train: ["abcdefg", "abcdefg", "abcdefg"], valid: "x" });

  it("predict the next token in each row", () => {
    const source = textBatches(corpus, "train", { tokenizer: letters }, { batch: 2, length: 2 });
    const text = (ids: Int32Array) => String.fromCharCode(...ids);
    const all = [...batchesFrom(source)].map(({ ids, targets }) => `${text(ids)} ${text(targets)}`);
    expect(all).toEqual(["abcd bcde", "defg efga", "gabc abcd"]);
  });

  it("refuse sizes that cannot be, and options that are not known", () => {
    const open = (options: object) => textBatches(corpus, "train", { tokenizer: letters }, options as never);
    expect(() => open({ batch: 0, length: 2 })).toThrow("textBatches / batch: expected a whole number from 1, got 0");
    expect(() => open({ batch: 1 })).toThrow("textBatches / length: expected a whole number from 1, got nothing");
    expect(() => open({ batchSize: 1, length: 2 })).toThrow("got batchSize; did you mean batch?");
  });

  it("warn when shards lose more than one stream would, and say when a text is too short", () => {
    const warnings: string[] = [];
    const options = { batch: 1, length: 2, shards: 2, warn: (message: string) => warnings.push(message) };
    expect(textBatches(corpus, "train", { tokenizer: letters }, options).count).toBe(4);
    expect(warnings).toEqual(["text train: 2 shards drop 9 of 21 tokens; one would drop 0"]);
    expect(() => textBatches(corpus, "valid", { tokenizer: letters }, { batch: 1, length: 2 })).toThrow(
      "text valid: expected at least batch · (length + 1) = 3 tokens, got 1",
    );
  });
});
