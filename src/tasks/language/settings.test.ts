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
