import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../test/command.ts";
import type { SettingsSchema } from "../runs/settings.ts";
import { languageSettings } from "../tasks/language/settings.ts";
import { pretrainSettings } from "../tasks/pretrain/settings.ts";
import { searchSettings } from "../tasks/search/settings.ts";
import { translateSettings } from "../tasks/translate/settings.ts";
import { Command } from "./command.ts";
import { numberFrom, schemaFrom, settingsFrom, settingsIn, whole, wholeFrom } from "./flags.ts";

const folder = ownFolder("flags");
const file = (yaml: string) => {
  const path = join(folder, "settings.yaml");
  writeFileSync(path, yaml);
  return path;
};

/** The flags of a command with these settings. */
function parsed(schemas: readonly SettingsSchema[], ...args: string[]) {
  const command = new Command().settings(schemas);
  return command.option("--task <name>").parse(args, { from: "user" }).opts();
}
const search = (...args: string[]) => settingsIn(searchSettings, parsed([searchSettings], ...args));

describe("flags of settings", () => {
  it("are none where none is given", () => {
    expect(search()).toEqual({});
    expect(settingsIn(pretrainSettings, parsed([pretrainSettings]))).toEqual({});
  });

  it("have values of the settings' types, structured ones in their textual form", () => {
    expect(search("--width", "64", "--architecture-rate", "0.02", "--corpus", "12")).toEqual({
      width: 64,
      architectureRate: 0.02,
      corpus: "12",
    });
    expect(search("--cutoffs", "60,240", "--settle", "0.1,0.25", "--latency", "1x8+16", "--blocks", "(sf)x2")).toEqual({
      cutoffs: [60, 240],
      settle: [0.1, 0.25],
      latency: { batch: 1, length: 8, memory: 16 },
      blocks: "(sf)x2",
    });
    expect(search("--cutoffs", "none", "--cut", "none")).toEqual({ cutoffs: [], cut: null });
  });

  it("turn on and off, whatever is the default", () => {
    expect(search("--same-length", "--no-cut")).toEqual({ sameLength: true, cut: null });
    expect(search("--no-same-length")).toEqual({ sameLength: false });
    const pretrain = (...args: string[]) => settingsIn(pretrainSettings, parsed([pretrainSettings], ...args));
    expect([pretrain("--no-whole-word"), pretrain("--whole-word")]).toEqual([
      { wholeWord: false },
      { wholeWord: true },
    ]);
  });

  it.each([
    [["--width", "x"], '--width: expected a whole number from 1 to 65536, got "x"'],
    [["--cutoffs", "60,x"], '--cutoffs: expected a list of whole numbers, such as 250,2500, got "60,x"'],
    [["--latency", "1x8"], '--latency: expected batch x segment + memory, such as 1x64+640, got "1x8"'],
    [["--settle", "0.1"], "--settle: expected two fractions of the updates, such as 0.25,0.75, got 0.1"],
    [["--evaluate-every", "0"], "--evaluate-every: expected a whole number from 1, got 0"],
  ])("%j are refused by name", (args, message) => {
    expect(() => search(...args)).toThrow(message);
  });

  it("are listed under headings, with the defaults of each task", () => {
    const help = new Command().settings([languageSettings, translateSettings]).helpInformation();
    expect(help).toMatch(/\nData:\n {2}--corpus [\s\S]*\nModel:\n {2}--width <value> [\s\S]*\nHardware:\n/);
    expect(help.replace(/\s+/g, " ")).toContain("width of the hidden state (default: 192; translate: 128)");
    expect(help.replace(/\s+/g, " ")).toContain("label smoothing (translate only; default: 0.1)");
    expect(new Command().settings([searchSettings], { defaults: false }).helpInformation()).not.toContain("default: 6");
  });
});

describe("settings from flags", () => {
  it("lie over a file, which lies over a preset", async () => {
    const config = file("width: 48\nheads: 3\n");
    const flags = parsed([languageSettings], "--preset", "tiny", "--config", config, "--heads", "4");
    expect(await settingsFrom(languageSettings, flags)).toMatchObject({ width: 48, heads: 4, depth: 2, rate: 0.006 });
    await expect(settingsFrom(languageSettings, { config: "absent.yaml" })).rejects.toThrow("cannot read absent.yaml");
  });

  it("are those of the task that the flag, the file or the preset names", async () => {
    const schemas: readonly SettingsSchema[] = [languageSettings, translateSettings];
    const task = async (...args: string[]) => (await schemaFrom(schemas, parsed(schemas, ...args))).task;
    expect([await task(), await task("--preset", "tiny")]).toEqual(["language", "language"]);
    expect(await task("--task", "translate", "--preset", "tiny")).toBe("translate");
    expect(await task("--preset", "translate")).toBe("translate");
    expect(await task("--config", file("task: translate\n"))).toBe("translate");
    await expect(task("--parts", "attention")).rejects.toThrow("expected settings of task language, got parts");
    await expect(task("--task", "translate", "--halt")).rejects.toThrow("got halt; it is for task language");
  });
});

describe("a number as a flag", () => {
  it("is a whole one from 1 unless told otherwise", () => {
    expect([whole("3"), wholeFrom(0)("0"), numberFrom(0, 1)("0.5")]).toEqual([3, 0, 0.5]);
    for (const text of ["0", "1.5", "", " ", "x", "1e99"]) expect(() => whole(text)).toThrow("a whole number from 1");
    expect(() => numberFrom(0, 1)("2")).toThrow("It must be a number from 0 to 1.");
  });
});
