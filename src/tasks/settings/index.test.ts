import { describe, expect, it } from "vitest";
import { fromJSONSchema } from "zod";
import { parseSettings } from "../../runs/settings-file.ts";
import { languageSettings } from "../language/settings.ts";
import { filledIn, searchDefaults, searchSettings } from "../search/settings.ts";
import { translateSettings } from "../translate/settings.ts";
import { settingsNamed, taskNames } from "./index.ts";

describe.each(taskNames)("the settings of %s", async (task) => {
  const schema = await settingsNamed(task);

  it("have a description and a group each, and defaults that they accept", () => {
    for (const { key, description, group } of schema.describe())
      expect([key, description, group]).toEqual([key, expect.stringMatching(/^\S.*[^.\s]$/), expect.any(String)]);
    expect(schema.check({ ...schema.defaults }, task)).toEqual(schema.defaults);
  });

  it("print a JSON Schema that accepts all presets, and refuses unknown keys", () => {
    const read = fromJSONSchema(schema.jsonSchema());
    expect(Object.keys(schema.presets).length).toBeGreaterThan(1);
    for (const [name, values] of Object.entries(schema.presets)) {
      expect(read.safeParse(schema.resolve([schema.preset(name)])).success, name).toBe(true);
      expect(read.safeParse({ task, ...values }).success, name).toBe(true);
      expect(read.safeParse({ ...values, unheardOf: 1 }).success).toBe(false);
    }
  });

  it("have no name that a command line would take for a negation", () => {
    expect(schema.keys.filter((key) => /^no[A-Z]/.test(key))).toEqual([]);
  });

  it("name every property as the schema has it", () => {
    const { properties } = schema.jsonSchema();
    expect(Object.keys(properties!)).toEqual(["task", ...schema.keys]);
  });
});

describe("a retraining", async () => {
  const schema = await settingsNamed("retrain");

  it("takes of a search's file what a network has too, and refuses what no search has", () => {
    const yaml = "task: search\nblocks: 4\nwidth: 32\nbudget: 0.5\n";
    expect(parseSettings(schema, yaml, "f")).toEqual({ width: 32 });
    expect(parseSettings(schema, yaml.replace("search", "retrain"), "f")).toEqual({ width: 32 });
    expect(() => parseSettings(schema, `${yaml}widht: 3`, "f")).toThrow("got widht; did you mean width?");
    expect(() => parseSettings(schema, "blocks: 4", "f")).toThrow("expected a known key, got blocks");
  });

  it("lays settings over those of its search without filling in defaults", () => {
    const layers = [schema.preset("quick"), { source: "flags", values: { minutes: 2 } }];
    expect(schema.merge(layers)).toMatchObject({ width: 96, steps: null, epochs: null, minutes: 2 });
    expect(schema.merge([{ source: "flags", values: { width: 8 } }])).toEqual({ width: 8 });
  });
});

describe("language models and translation", () => {
  it("say of each other's settings whose they are", () => {
    const refused = (schema: typeof languageSettings | typeof translateSettings, other: readonly string[]) =>
      other
        .filter((key) => !schema.keys.includes(key))
        .map((key) => {
          expect(() => schema.check({ [key]: 1 }, "f")).toThrow(`got ${key}; it is for task`);
          return key;
        });
    expect(refused(languageSettings, translateSettings.keys)).toContain("parts");
    expect(refused(translateSettings, languageSettings.keys)).toContain("halt");
  });

  it("know the rate of an optimiser, and train for 1000 updates where no length is given", () => {
    const found = languageSettings.resolve([{ source: "flags", values: { optimiser: "sgd" } }]);
    expect(found).toMatchObject({ rate: 0.05, steps: 1000, epochs: null });
    expect(translateSettings.resolve([])).toMatchObject({ rate: 0.003, steps: null, epochs: 8, corpus: "multi30k" });
  });
});

describe("a search", () => {
  it("takes its budget as a number or a text, and keeps a text", () => {
    const budget = (value: number | string) =>
      searchSettings.resolve([{ source: "f", values: { budget: value } }]).budget;
    expect([budget(0.65), budget("3.2ms")]).toEqual(["0.65", "3.2ms"]);
    expect(() => budget("0ms")).toThrow("f / budget: expected milliseconds above 0, such as 3.2ms");
    expect(() => budget(0)).toThrow("f / budget: expected a number above 0, got 0");
  });

  it("has the usual defaults of its procedure where another is asked for, and no settling where nothing is cut", () => {
    const resolved = (values: object) => searchSettings.resolve([{ source: "f", values }]);
    expect(resolved({})).toMatchObject({ temperatureStart: 5, settle: [0.25, 0.6], freeze: 0.15 });
    expect(resolved({ compat: "original" })).toMatchObject({ temperatureStart: 1, settle: null, cut: null, freeze: 0 });
    expect(resolved({ procedure: "alternate", rate: 0.1 })).toMatchObject({ settle: null, freeze: null, rate: 0.1 });
    expect(resolved({ cut: null }).settle).toBe(null);
  });

  it("fills in what follows from vocabulary and length", () => {
    expect(filledIn(searchDefaults, 12_000, 6500)).toMatchObject({
      cutoffs: [250, 2500],
      warmup: 400,
      cutEvery: 100,
      architectureRate: 0.02,
    });
    expect(filledIn(searchDefaults, 1000, 600)).toMatchObject({
      cutoffs: [250],
      warmup: 60,
      cutEvery: 30,
      architectureRate: 0.1,
    });
    const asked = { ...searchDefaults, cutoffs: [], warmup: 0, cutEvery: 7, architectureRate: null };
    expect(filledIn(asked, 1000, 600)).toMatchObject({ cutoffs: [], warmup: 0, cutEvery: 7, architectureRate: null });
  });

  it("has the structure of its values in JSON Schema", () => {
    expect(searchSettings.jsonSchema().properties).toMatchObject({
      cutoffs: { anyOf: [{ type: "array", items: { type: "integer", minimum: 0 } }, { type: "null" }] },
      latency: {
        type: "object",
        required: ["batch", "length", "memory"],
        default: { batch: 1, length: 64, memory: 640 },
      },
      cut: { anyOf: [{ exclusiveMinimum: 0.5, exclusiveMaximum: 1 }, { type: "null" }] },
    });
  });
});
