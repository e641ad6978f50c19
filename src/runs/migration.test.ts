import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fromJSONSchema } from "zod";
import { refused } from "../../test/refusals.ts";
import { settingsNamed } from "../tasks/settings/index.ts";
import { migrate, migrateRun } from "./migration.ts";
import { parseSettings, parseYaml, storedSettings } from "./settings-file.ts";

/** Runs of layerwise 0.1.0, and the settings of which task they have. */
const runs = [
  ["language", "language"],
  ["halting", "language"],
  ["translate", "translate"],
  ["search", "search"],
  ["seeds/seed-1", "search"],
  ["retrain", "search"],
  ["retrain-baseline", "search"],
  ["albert", "pretrain"],
  ["pretrain", "pretrain"],
  ["glue", "finetune"],
] as const;
const yamlOf = (run: string) => readFileSync(`fixtures/runs/${run}/config.yaml`, "utf8");

describe("the config of a run of version 0.1.0", () => {
  it.each(runs)("in %s is read with the schema of %s, its values as they were", async (run, task) => {
    const schema = await settingsNamed(task);
    const found = storedSettings(schema, yamlOf(run), run);
    const keys = Object.keys(found).filter((key) => key !== "task"); // which settings tell where two tasks share a command
    expect(keys.sort()).toEqual([...schema.keys].sort());
    const { settings } = migrate(parseYaml(yamlOf(run), run));
    expect(found).toMatchObject(settings);
    expect(fromJSONSchema(schema.jsonSchema()).safeParse(settings).success).toBe(true);
    expect(storedSettings(schema, schema.yaml(found), run)).toEqual(found);
  });

  it("keeps what is no setting apart", () => {
    const notes = (run: string) => migrateRun(parseYaml(yamlOf(run), run)).notes;
    expect(notes("retrain")).toMatchObject({ retrain: { baseline: "../retrain-baseline" } });
    expect(notes("glue")).toMatchObject({ glueTask: "SST-2", fromStep: 4, model: { width: 16 } });
    expect(migrateRun(parseYaml(yamlOf("imported"), "imported"))).toMatchObject({ task: "albert", settings: {} });
  });

  it("gets the defaults of its time for settings that came later", () => {
    const { settings } = migrateRun({ task: "search", blocks: 2, compat: true });
    expect(settings).toEqual({
      blocks: 2,
      compat: "original",
      keep: 3,
      threads: null,
      device: "cpu",
      evaluateTokens: 0,
      decide: null,
    });
    expect(migrate({ task: "search", blocks: 2 }).settings).toEqual({ blocks: 2 });
  });

  it("goes on to be evaluated on all of its text, where new runs have a limit", async () => {
    for (const [run, task] of runs.filter(([, task]) => ["language", "translate", "search"].includes(task))) {
      const schema = await settingsNamed(task);
      expect(storedSettings(schema, yamlOf(run), run)).toMatchObject({ evaluateTokens: 0 });
      expect(schema.resolve([])).toMatchObject({ evaluateTokens: 1_000_000 });
    }
  });

  it("goes on to be evaluated in the batches of its training, where new runs take the fastest", async () => {
    const schema = await settingsNamed("language");
    expect(storedSettings(schema, yamlOf("language"), "language")).toMatchObject({ evaluationBatch: 0 });
    expect(schema.resolve([])).toMatchObject({ evaluationBatch: null });
  });

  it("loses settings of the other task, which had no effect; a file only where nobody changed them", async () => {
    const config = { task: "language", width: 8, parts: "layers", source: "fr" };
    expect(migrateRun(config).settings).toEqual({ width: 8, evaluateTokens: 0, evaluationBatch: 0 });
    expect(migrate(config).settings).toEqual({ width: 8, source: "fr" });
    const language = await settingsNamed("language");
    expect(() => parseSettings(language, "source: fr", "f")).toThrow("got source; it is for task translate");
  });

  it("trains translation with AdamW where it said Muon, as it did", () => {
    const config = { task: "translate", cased: false, optimiser: "muon" };
    expect(migrateRun(config).settings).toEqual({ optimiser: "adamw", evaluateTokens: 0 });
    expect(migrate(config).settings).toEqual({ optimiser: "adamw" });
    expect(migrateRun({ task: "translate", optimiser: "muon" }).settings).toMatchObject({ optimiser: "muon" });
  });

  it("may be given as a file of settings", async () => {
    const pretrain = await settingsNamed("pretrain");
    expect(parseSettings(pretrain, yamlOf("albert"), "f")).toMatchObject({ longLength: 32, optimiser: "lamb" });
    const search = await settingsNamed("search");
    expect(() => parseSettings(search, yamlOf("language"), "f")).toThrow('f / task: expected search, got "language"');
  });
});

describe("a file of settings", () => {
  refused(
    (yaml) => parseYaml(yaml, "f"),
    [
      ["[1, 2", "f: expected YAML settings"],
      ["- 1", "f: expected keys with values, got a list"],
      ["width", "f: expected keys with values, got string"],
    ],
  );

  it("may be empty", () => {
    expect(parseYaml("# nothing yet\n", "f")).toEqual({});
  });
});
