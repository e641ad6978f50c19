import { describe, expect, it } from "vitest";
import { layerwise, ownFolder } from "../../test/command.ts";
import { importFlags, splitImports } from "./imports.ts";

const folder = ownFolder("imports");

describe("--import", () => {
  it("is taken out of the arguments wherever it stands", () => {
    const args = ["train", "--import", "a.mjs", "--steps", "2", "--import=b.mjs"];
    expect(splitImports(args)).toEqual({ files: ["a.mjs", "b.mjs"], rest: ["train", "--steps", "2"] });
    expect(() => splitImports(["train", "--import"])).toThrow("--import: expected a file, got nothing");
  });

  it("is written again for a shell", () => {
    expect(importFlags(["train", "--steps", "2"])).toBe("");
    expect(importFlags(["--import", "a.mjs", "--import", "my own.mjs"])).toBe(" --import a.mjs --import 'my own.mjs'");
  });

  it("stands in the lines that say what to do next", () => {
    const sizes = ["--width", "16", "--heads", "2", "--length", "8", "--pieces", "300", "--steps", "1", "--batch", "2"];
    const word = ["--import", "examples/own-word.mjs", "--depth", "1*2 damped(0.5)"];
    const { status, stdout } = layerwise("train", ...word, ...sizes, "--out", `${folder}/run`);
    expect(status).toBe(0);
    expect(stdout).toContain(`layerwise --import examples/own-word.mjs generate ${folder}/run`);
  });
});
