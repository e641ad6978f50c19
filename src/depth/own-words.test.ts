import { describe, expect, it } from "vitest";
import { base, weightsOf } from "../../test/steep-model.ts";
import { referenceEngine } from "../engine/reference.ts";
import { generateIds } from "../model/generation.ts";
import { languageModel } from "../model/language/language.ts";
import { fixed } from "./fixed.ts";
import { meanFraction, parseDepth, printDepth } from "./notation.ts";
import { defineWord, type WrittenOptions } from "./own-words.ts";

describe("words of one's own", () => {
  const seen: WrittenOptions[] = [];
  defineWord("mine", {
    first: "rate",
    options: { rate: "number", quick: "flag", kind: ["a", "b"] },
    policy: (blocks, plan, options) => {
      seen.push(options);
      return fixed(blocks, plan);
    },
  });

  it("are read, printed, and become their policies", async () => {
    expect(printDepth(parseDepth("1+2*3 mine( 0.5,quick,kind=b )"))).toBe("1 + 2*3 mine(0.5, quick, kind=b)");
    expect(meanFraction(parseDepth("2*3 mine")[0]!)).toBeUndefined();
    const model = languageModel({ ...base, depth: "1 + 2*2 mine(0.5, kind=b) + 1 mine" });
    expect(seen).toEqual([
      { rate: 0.5, kind: "b", width: 16, name: "mine" },
      { width: 16, name: "mine2" },
    ]);
    const ids: number[] = [];
    const options = { prompt: [1, 2], maxTokens: 4, temperature: 0 };
    for await (const id of generateIds(referenceEngine(), model, weightsOf(model), options)) ids.push(id);
    expect(ids).toHaveLength(4);
  });

  it("are answered where they are misspelt, and unknown ones told of --import", () => {
    expect(() => parseDepth("2 mime")).toThrow('relax, mine, got "mime" at character 3; write mine');
    expect(() => parseDepth("2 elsewhere(3)")).toThrow("words of your own are loaded by --import FILE");
    expect(() => parseDepth("2 mine(kind=c)")).toThrow("expected one of a, b");
  });

  it("need a name of their own, and a policy", () => {
    const word = { policy: fixed };
    expect(() => defineWord("halt", word)).toThrow('word "halt": expected a name that no word has');
    expect(() => defineWord("mine", word)).toThrow("expected a name that no word has");
    expect(() => defineWord("sf", word)).toThrow("letters s, f and i stand for blocks");
    expect(() => defineWord("bare", {} as typeof word)).toThrow("policy");
    expect(() => defineWord("other", { ...word, first: "x" })).toThrow("the name of one of its options");
  });
});
