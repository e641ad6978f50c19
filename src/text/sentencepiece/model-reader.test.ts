import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ENGLISH, smallModel } from "../../../test/tokenizer.models.ts";
import { LayerwiseError } from "../../base/errors.ts";
import { loadTokenizer } from "../tokenizer.ts";
import { writeCharsmap } from "./charsmap.ts";
import { readModel } from "./model-reader.ts";
import { writeModel, writeVocabulary } from "./model-writer.ts";

const charsmap = writeCharsmap(
  new Map([
    ["A", "a"],
    ["½", "1/2"],
  ]),
);
const model = smallModel(ENGLISH, {
  symbols: ["@-@"],
  trainer: {
    byteFallback: true,
    padId: 7,
    padPiece: "[PAD]",
    characterCoverage: 0.5,
    whitespaceAsSuffix: true,
    controlSymbols: ["x"],
  },
  normaliser: { charsmap, removeExtraWhitespaces: false },
});
const bytes = writeModel(model);

/** Whatever the bytes: a tokenizer that works, or an error meant for the user. */
function useOrRefuse(input: Uint8Array): void {
  try {
    const tokenizer = loadTokenizer(input, "some.model");
    tokenizer.decode(tokenizer.encode("A cat ½ sat @-@ 日本\u0000"));
  } catch (error) {
    expect(error).toBeInstanceOf(LayerwiseError);
    expect((error as Error).message).toContain("some.model");
  }
}

describe("a model file", () => {
  it("is read as it was written", () => {
    const read = readModel(bytes, "some.model");
    expect(read.pieces).toEqual(model.pieces);
    expect(read.trainer).toEqual(model.trainer);
    expect(read.normaliser).toEqual({ ...model.normaliser, charsmap: expect.anything() });
    expect([...read.normaliser.charsmap]).toEqual([...charsmap]);
  });

  it("is refused when cut short, wherever", () => {
    for (let length = 0; length < bytes.length; length++) {
      expect(() => readModel(bytes.subarray(0, length), "some.model")).toThrow(LayerwiseError);
    }
  });

  /** Uses what some wrong bytes at random places of `whole` make of it. */
  const damage = (whole: Uint8Array, most: number, numRuns: number, use: (damaged: Uint8Array) => void) => {
    const change = fc.record({ at: fc.nat(whole.length - 1), byte: fc.nat(255) });
    const property = fc.property(fc.array(change, { minLength: 1, maxLength: most }), (changes) => {
      const damaged = whole.slice();
      for (const { at, byte } of changes) damaged[at] = byte;
      use(damaged);
    });
    fc.assert(property, { numRuns });
  };

  it("never crashes its reader when bytes are wrong", () => {
    damage(bytes, 8, 500, useOrRefuse);
  });

  it("never crashes its reader when the rules are wrong", () => {
    damage(charsmap, 20, 300, (damaged) => {
      useOrRefuse(writeModel({ ...model, normaliser: { ...model.normaliser, charsmap: damaged } }));
    });
  });

  it("never crashes its reader when it is noise", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), useOrRefuse), { numRuns: 1000 });
  });

  it.each([
    ["nothing", new Uint8Array(0), "some.model: expected a SentencePiece model, got an empty file"],
    [
      "no unknown piece",
      writeModel({ ...model, pieces: model.pieces.slice(1) }),
      "got 0 unknown pieces where one is needed",
    ],
    ["a piece twice", writeModel({ ...model, pieces: [...model.pieces, model.pieces.at(-1)!] }), 'got piece "g" twice'],
    [
      "too few bytes",
      writeModel({ ...model, pieces: model.pieces.filter((_, i) => i !== 20) }),
      "got 255 byte pieces of 256",
    ],
  ])("is refused with %s", (_, input, message) => {
    expect(() => readModel(input, "some.model")).toThrow(message);
  });

  it("has a vocabulary of pieces and scores", () => {
    expect(writeVocabulary(smallModel({ "▁a": -1.23456789 }))).toBe("<unk>\t0\n<s>\t0\n</s>\t0\n▁a\t-1.23457\n");
  });
});
