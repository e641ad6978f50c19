import { describe, expect, it } from "vitest";
import { referenceEngine } from "../engine/reference.ts";
import { languageModel } from "../model/language/language.ts";
import { initialise } from "../nn/parameter.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { depthsOfLanguage } from "./language-depths.ts";

/** A letter a piece. */
const tokenizer = {
  encode: (text: string) => Int32Array.from(text, (letter) => letter.charCodeAt(0) - 97),
  pieceOf: (id: number) => String.fromCharCode(97 + id),
} as Tokenizer;

const sizes = { vocabulary: 26, width: 8, heads: 2, length: 6, plan: [0, 0, 0] };

function read(texts: readonly string[], halting?: { biasInitial: number }) {
  const model = languageModel({ ...sizes, halting });
  const weights = initialise(model.parameters, 1);
  return depthsOfLanguage(referenceEngine(), { model, weights }, tokenizer, texts);
}

const depths = (lines: Awaited<ReturnType<typeof read>>) => lines.map((line) => line.map(({ depth }) => depth));

describe("the depths of a language model", () => {
  it("are all of the plan where nothing halts", async () => {
    expect(depths(await read(["ab", "c"]))).toEqual([[3, 3], [3]]);
  });

  it("follow the halting unit", async () => {
    expect(depths(await read(["abc"], { biasInitial: 9 }))).toEqual([[1, 1, 1]]);
    expect(depths(await read(["abc"], { biasInitial: 0.1 }))).toEqual([[2, 2, 2]]);
    expect(depths(await read(["abc"], { biasInitial: -9 }))).toEqual([[3, 3, 3]]);
  });

  it("do not depend on the lines beside them, and end with the model's length", async () => {
    const [alone] = await read(["ba"], { biasInitial: -1 });
    const [beside, long] = await read(["ba", "abcdefgh"], { biasInitial: -1 });
    expect(beside!.map(({ entropy }) => entropy)).toEqual(alone!.map(({ entropy }) => entropy));
    expect(long!.map(({ piece }) => piece).join("")).toBe("abcdef");
  });

  it("come with the surprise of what follows, but for the last", async () => {
    const [line] = await read(["hello"]);
    expect(line!.map(({ surprise }) => surprise !== undefined)).toEqual([true, true, true, true, false]);
    for (const { surprise } of line!.slice(0, -1)) expect(Math.abs(surprise! - Math.log(26))).toBeLessThan(0.5);
  });

  it("come with an entropy of at most that of pure chance", async () => {
    const [line] = await read(["hello"]);
    for (const { entropy } of line!) {
      expect(entropy).toBeGreaterThan(1);
      expect(entropy).toBeLessThan(Math.log(26));
    }
  });
});
