import { describe, expect, it } from "vitest";
import { loadTokenizer } from "../../tokenizer.ts";
import type { Model } from "../model.ts";
import { writeModel } from "../model-writer.ts";
import { TRAINING_DEFAULTS, type TrainingOptions } from "./options.ts";
import { Trainer } from "./trainer.ts";

const STEMS = ["walk", "talk", "jump", "play", "look", "call"];
const ENDINGS = ["", "s", "ed", "ing", "er"];
const LINES = Array.from(
  { length: 300 },
  (_, i) => `the ${STEMS[i % 6]}${ENDINGS[i % 5]} of ${STEMS[(i * 5) % 6]}${ENDINGS[(i * 3) % 5]}`,
);

function train(options: Partial<TrainingOptions> = {}, lines: readonly string[] = LINES): Model {
  const trainer = new Trainer({ ...TRAINING_DEFAULTS, normalisation: "identity", vocabularySize: 50, ...options });
  for (const line of lines) trainer.add(line);
  return trainer.finish();
}

describe("training", () => {
  it("gives exactly the pieces asked for, special ones at their ids", () => {
    const { pieces } = train({ userSymbols: ["@-@"], controlSymbols: ["[CLS]"] });
    expect(pieces).toHaveLength(50);
    expect(pieces.slice(0, 6).map((piece) => piece.text)).toEqual(["[PAD]", "[BOS]", "[EOS]", "[UNK]", "[CLS]", "@-@"]);
    expect(new Set(pieces.map((piece) => piece.text)).size).toBe(50);
  });

  it("finds the words and endings that the text is made of", () => {
    const texts = train().pieces.map((piece) => piece.text);
    expect(texts).toEqual(expect.arrayContaining(["▁the", "▁of", "▁walk"]));
  });

  it("covers every character, and gives back what it was trained on", () => {
    const tokenizer = loadTokenizer(writeModel(train()), "trained");
    for (const line of LINES) expect(tokenizer.decode(tokenizer.encode(line))).toBe(line);
  });

  it("loses nothing with byte fallback", () => {
    const tokenizer = loadTokenizer(writeModel(train({ byteFallback: true, vocabularySize: 306 })), "trained");
    expect(tokenizer.decode(tokenizer.encode("the 日本 \u0007é"))).toBe("the 日本 \u0007é");
  });

  it("needs fewer pieces the larger the vocabulary", () => {
    const lengthWith = (vocabularySize: number) => {
      const tokenizer = loadTokenizer(writeModel(train({ vocabularySize })), "trained");
      return LINES.reduce((sum, line) => sum + tokenizer.encode(line).length, 0);
    };
    expect(lengthWith(56)).toBeLessThan(lengthWith(40));
    expect(lengthWith(40)).toBeLessThan(lengthWith(30));
  });

  it("gives the same model each time", () => {
    expect(writeModel(train())).toEqual(writeModel(train()));
  });

  it("says how many pieces the text supports", () => {
    expect(() => train({ vocabularySize: 5000 })).toThrow(
      /expected a vocabulary of at most \d+ for this text, got 5000/u,
    );
  });

  it("says how many pieces the alphabet needs", () => {
    expect(() => train({ vocabularySize: 10 })).toThrow(
      /expected a vocabulary of at least \d+ \(\d+ characters, 4 symbols\)/u,
    );
  });

  it("refuses text without words, and odd requests", () => {
    expect(() => train({}, ["", "  "])).toThrow("expected text, got 2 lines without a word");
    expect(() => train({ bosId: 0 })).toThrow("distinct");
    expect(() => train({ characterCoverage: 2 })).toThrow("coverage above 0, at most 1, got 2");
    expect(() => train({ userSymbols: ["a", "a"] })).toThrow("expected distinct symbols, got a twice");
    expect(() => train({ unknownId: -1 })).toThrow("an id for the unknown piece");
  });
});
