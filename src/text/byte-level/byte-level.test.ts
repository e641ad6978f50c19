import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readTokenizer, tokenizerFileName, tokenizerFromBytes } from "../tokenizer.ts";
import { byteLevelTokenizer } from "./byte-level.ts";

interface Expected {
  readonly text: string;
  readonly ids: number[];
  readonly decoded: string;
}
const fixture = (name: string) => readFileSync(new URL(`../../../fixtures/byte-level/${name}.json`, import.meta.url));
/** Made by fixtures/make_byte_level.py with Hugging Face's tokenizers. */
const expected = JSON.parse(fixture("expected").toString()) as Readonly<Record<string, readonly Expected[]>>;
const tokenizerOf = (name: string) => byteLevelTokenizer(fixture(name), `${name}.json`);
/** The gpt2 fixture with another value at a path such as `model.type`; undefined takes it out. */
const changed = (path: string, value: unknown) => {
  const stated = JSON.parse(fixture("gpt2").toString());
  const keys = path.split(".");
  const parent = keys.slice(0, -1).reduce((inner, key) => inner[key], stated);
  parent[keys.at(-1)!] = value;
  return byteLevelTokenizer(new TextEncoder().encode(JSON.stringify(stated)), "x.json");
};
const possessive = { type: "Split", pattern: { Regex: "\\p{L}++" }, behavior: "Isolated", invert: false };
const cuts = { type: "Sequence", pretokenizers: [possessive, { type: "ByteLevel", use_regex: false }] };

describe("a byte-level tokenizer", () => {
  describe.each(["gpt2", "llama3", "smollm"])("like %s", (name) => {
    const tokenizer = tokenizerOf(name);

    it.each(expected[name]!.map((each, i) => [i, each.text.slice(0, 30), each] as const))(
      "gives the ids and the text of the original: %i %j",
      (_, __, { text, ids, decoded }) => {
        expect([...tokenizer.encode(text)]).toEqual(ids);
        expect(tokenizer.decode(ids)).toBe(decoded);
      },
    );
  });

  it("gives text back as it was, whatever its bytes", () => {
    const tokenizer = tokenizerOf("gpt2");
    const text = Array.from({ length: 3000 }, (_, i) => String.fromCodePoint((i * 7919) % 0xd7ff)).join("");
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    expect(tokenizer.decodePieces(tokenizer.encodePieces("it was\n"))).toBe("it was\n");
    expect(tokenizer.decode([tokenizer.idOf("Ã")])).toBe("\ufffd"); // half a character
  });

  it("knows its pieces and special ids", () => {
    const tokenizer = tokenizerOf("llama3");
    expect([tokenizer.pieceOf(tokenizer.bosId), tokenizer.pieceOf(tokenizer.eosId), tokenizer.padId]).toEqual([
      "<|begin_of_text|>",
      "<|end_of_text|>",
      -1,
    ]);
    expect([tokenizer.size, tokenizer.unknownId, tokenizer.keepsLineEnds]).toEqual([424, -1, true]);
    expect(() => tokenizer.pieceOf(424)).toThrow("llama3.json: expected an id from 0 to 423, got 424");
  });

  it("is told from a SentencePiece model by its bytes", async () => {
    const bytes = fixture("smollm");
    expect([tokenizerFileName(bytes), (await readTokenizer(bytes, "x")).size]).toEqual(["tokenizer.json", 420]);
    expect((await tokenizerFromBytes(bytes)).tokenizer.encode("it was").length).toBeGreaterThan(0);
  });

  it("merges long words without spaces in n log n steps", () => {
    const tokenizer = tokenizerOf("gpt2");
    const time = (length: number) => {
      const text = "theand".repeat(length / 6);
      const began = performance.now();
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      return performance.now() - began;
    };
    time(6_000);
    // 30 times as long: a quadratic merge would take 900 times as long. 200 leaves room for a busy machine.
    expect(time(360_000)).toBeLessThan(200 * Math.max(1, time(12_000)));
  });

  it.each<[string, string, unknown, string]>([
    ["another model", "model.type", "Unigram", "x.json / model: expected byte-level byte-pair encoding"],
    ["byte fallback", "model.byte_fallback", true, "got byte_fallback; for SentencePiece"],
    ["another cut", "pre_tokenizer", { type: "Metaspace" }, "ByteLevel last), got Metaspace"],
    ["a merge of nothing", "model.merges.3", "Ġq zz", "merges 3: expected two pieces"],
    ["a lost byte", "model.vocab.Ā", undefined, "a piece for every byte, got none for byte 0"],
    ["an id too large", "model.vocab.a", 1e9, 'x.json / "a": expected whole ids below'],
    ["a strange normaliser", "normalizer", { type: "Strip" }, "got Strip"],
    ["a possessive expression", "pre_tokenizer", cuts, "a regular expression that JavaScript has too"],
  ])("refuses %s", (_, path, value, message) => {
    expect(() => changed(path, value)).toThrow(message);
  });

  it("refuses JSON of another kind and damaged JSON", () => {
    expect(() => byteLevelTokenizer(new TextEncoder().encode("{}"), "y.json")).toThrow("JSON without a model");
    expect(() => byteLevelTokenizer(new TextEncoder().encode('{"model'), "y.json")).toThrow("y.json: expected JSON");
  });
});
