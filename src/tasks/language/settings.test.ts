import { describe, expect, it } from "vitest";
import { modelOf } from "./job.ts";
import { languageSettings } from "./settings.ts";

const modelWith = (values: Parameters<typeof languageSettings.check>[0]) =>
  modelOf(languageSettings.resolve([languageSettings.preset("tiny"), { source: "test", values }]), 50);

describe("settings of a language model", () => {
  it("make the first style of blocks unless told otherwise", () => {
    expect(Object.keys(modelWith({}).options)).not.toContain("norm");
  });

  it("make newer blocks, each part by itself", () => {
    const style = { positions: "rotary", norm: "rms", keyHeads: 1, queryKeyNorm: true, gated: true } as const;
    const { options } = modelWith({ ...style, withoutBias: true, untied: true });
    expect(options).toMatchObject({ ...style, bias: false, tied: false });
  });
});

describe("the depth of a language model", () => {
  const depthOf = (values: Parameters<typeof languageSettings.check>[0]) =>
    languageSettings.resolve([{ source: "test", values }]).depth;

  it("is a number of blocks, or a text that is kept as it is printed", () => {
    expect([6, "6", "2+4*3  halt +1", "baseline/6"].map((depth) => depthOf({ depth }))).toEqual([
      6,
      6,
      "2 + 4*3 halt + 1",
      "(sf)x3",
    ]);
  });

  it("as text is the model's depth", () => {
    const { options, policy } = modelWith({ depth: "1 + 1*2 halt" });
    expect([options.depth, options.plan, policy.depth]).toEqual(["1 + 1*2 halt", undefined, 3]);
  });

  it("as text ends what a preset says of depth, as a number does not", () => {
    const over = (depth: string) =>
      languageSettings.resolve([languageSettings.preset("halting"), { source: "test", values: { depth } }]);
    expect(over("2*3 relax(4)")).toMatchObject({ depth: "2*3 relax(4)", unique: null, halt: false, width: 64 });
    expect(over("3")).toMatchObject({ depth: 3, unique: 1, halt: true });
  });

  it.each([
    [{ depth: "2 + 4x3" }, "write 4*3"],
    [{ depth: "4*3", unique: 2 }, 'got unique beside "4*3"; say it in the depth'],
    [{ depth: "4*3 halt", ponder: 0.1 }, "halt(ponder=0.01)"],
    [{ depth: 0 }, "expected a whole number from 1 to 4096, got 0"],
    [{ depth: [6] }, "or a text such as 2 + 4*3 halt + 1"],
  ])("%j is refused", (values, message) => {
    expect(() => depthOf(values as never)).toThrow(message);
  });
});
