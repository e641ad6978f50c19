import { existsSync, readFileSync } from "node:fs";
import { cp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { layerwise, ownFolder } from "../../test/command.ts";
import { tinySearch } from "../../test/tiny-search.ts";
import { readSafetensors, writeSafetensors } from "../format/safetensors.ts";
import { importAlbertRun, Run, search, textCorpus } from "../index.ts";
import { stateDict } from "../model/state-dict.ts";
import { importModel } from "./import.ts";
import { languageJob, openLanguage } from "./language/job.ts";
import { languageSettings } from "./language/settings.ts";
import { perform } from "./perform.ts";

const folder = ownFolder("import-model");
const at = (name: string) => join(folder, name);
const lines = (count: number) => Array.from({ length: count }, (_, i) => `the ${i % 7} ships sailed by ${i % 3} moons`);
const corpus = textCorpus({ train: lines(200), valid: lines(30) }, "ships");

async function trained(name: string, values: object): Promise<void> {
  const tiny = { ...languageSettings.presets.tiny, corpus: "memory:ships", pieces: 36, width: 16, length: 8, steps: 3 };
  const own = { ...tiny, warmup: 1, threads: 1, ...values };
  const settings = languageSettings.resolve([{ source: "test", values: own }]);
  const job = await languageJob(await openLanguage(settings, { corpus }));
  await perform(job, { into: await Run.create(at(name)) }).result;
}

type Weighed = { parameters: Parameters<typeof stateDict>[0]; weights: Parameters<typeof stateDict>[1] };
const weightsOf = ({ parameters, weights }: Weighed) => stateDict(parameters, weights);

/** The numbers of a folder's weight file, changed. */
async function changed(path: string, change: (x: number) => number): Promise<void> {
  const file = join(path, "model.safetensors");
  const { tensors, metadata } = readSafetensors(readFileSync(file), file);
  const moved = [...tensors].map(([name, { dtype, shape, data }]) => {
    return [name, { dtype, shape, data: data instanceof Float32Array ? data.map(change) : data }] as const;
  });
  await writeFile(file, writeSafetensors(new Map(moved), metadata));
}

describe("a language model that comes back", () => {
  beforeAll(async () => {
    await trained("halting", { depth: 3, unique: 1, halt: true });
    await (await Run.open(at("halting"), "language", { corpus })).export(at("folder"), { format: "huggingface" });
  });

  it("has the same weights to the bit, and evaluates and generates as before", async () => {
    await importModel(at("folder"), { into: await Run.create(at("back")) });
    const [before, after] = [
      await Run.open(at("halting"), "language", { corpus }),
      await Run.open(at("back"), "language", { corpus }),
    ];
    expect(stateDict(after.model.parameters, after.weights)).toEqual(
      stateDict(before.model.parameters, before.weights),
    );
    expect((await after.evaluate()).loss).toBe((await before.evaluate()).loss);
    let text = "";
    for await (const part of after.generate({ prompt: "the", maxTokens: 3 })) text += part;
    expect(text).not.toBe("");
  });

  it("has the weights that were trained elsewhere, and goes on from them", async () => {
    await cp(at("folder"), at("elsewhere"), { recursive: true });
    await changed(at("elsewhere"), (x) => x * 1.5);
    await importModel(at("elsewhere"), { into: await Run.create(at("further")) });
    const losses: number[] = [];
    for await (const event of Run.resume(at("further"), { corpus, steps: 2 })) {
      if (event.type === "step") losses.push(event.loss);
    }
    expect(losses).toHaveLength(2);
    const { step } = await Run.open(at("further"), "language", { corpus, checkpoint: "last" });
    expect(step).toBe(2);
  });

  it("is refused where parts of it are missing or do not fit, and nothing is written", async () => {
    await cp(at("folder"), at("bare"), { recursive: true });
    await rm(join(at("bare"), "tokenizer.model"));
    const bare = layerwise("import", at("bare"), "--out", at("x"));
    expect(bare).toMatchObject({ status: 2, stdout: "" });
    expect(bare.stderr).toContain("expected tokenizer.model, got none; put it there, or name it as --tokenizer");
    const flagged = layerwise("import", at("folder"), "--halt", "--out", at("x"));
    expect([flagged.status, flagged.stderr]).toEqual([2, expect.stringContaining("--halt: expected an ALBERT")]);
    const config = JSON.parse(readFileSync(join(at("folder"), "config.json"), "utf8"));
    const other = { ...config, layerwise: { ...config.layerwise, layout: 9 } };
    await writeFile(join(at("bare"), "config.json"), JSON.stringify(other));
    await expect(importModel(at("bare"))).rejects.toThrow("got layout 9, kind language");
    expect(existsSync(at("x"))).toBe(false);
  });
});

describe("a found network that comes back", () => {
  it("is a run of retrain with the same weights, which evaluates as before and goes on", async () => {
    const settings = { ...tinySearch, blocks: "sfsf", steps: 4, threads: 1 };
    await search({ ...settings, into: await Run.create(at("search")) }).result;
    const exported = layerwise("export", at("search"), "--format", "huggingface", "--out", at("network"));
    expect([exported.status, exported.stderr]).toEqual([0, ""]);
    const { status, stdout } = layerwise("import", at("network"), "--out", at("retrain"), "--json");
    expect([status, JSON.parse(stdout)]).toMatchObject([0, { kind: "retrain", width: 16, depth: 4 }]);
    const before = await Run.open(at("search"), "search", { checkpoint: "last" });
    const after = await Run.open(at("retrain"), "retrain");
    expect(stateDict(after.model.parameters, after.weights)).toEqual(
      stateDict(before.model.parameters, before.weights),
    );
    expect((await after.evaluate()).loss).toBe((await before.evaluate()).loss);
    await after.resume({ steps: 2 }).result;
    expect((await Run.open(at("retrain"), "retrain", { checkpoint: "last" })).step).toBe(2);
  });
});

describe("an ALBERT that comes back", () => {
  it.each(["act", "stock"])("has the same model, heads and weights: %s", async (name) => {
    const first = await importAlbertRun(`fixtures/albert/${name}`, { into: await Run.create(at(name)) });
    await (await Run.open(at(name), "imported")).export(at(`${name}-folder`), { format: "huggingface" });
    const back = await importAlbertRun(at(`${name}-folder`));
    expect(back.description).toEqual(first.description);
    expect(weightsOf(back)).toEqual(weightsOf(first));
  });
});
