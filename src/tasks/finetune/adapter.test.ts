import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder, printedBy } from "../../../test/command.ts";
import { addExport } from "../../cli/commands/export.ts";
import { addPredict } from "../../cli/commands/predict.ts";
import { mergedAlbert } from "../../model/albert/lora.ts";
import { stateDict } from "../../model/state-dict.ts";
import { classification, type LabelledText } from "../../text/labelled/text-task.ts";
import { openAlbertRun } from "../pretrain/albert-run.ts";
import { Run } from "../run.ts";
import { withAdapter } from "./adapted.ts";
import { writeAdapter } from "./adapter.ts";
import { finetune } from "./finetune.ts";
import type { FinetuneResult } from "./job.ts";
import { predictTexts } from "./predictions.ts";

const folder = ownFolder("adapter");
const at = (name: string) => join(folder, name);
const albert = "fixtures/runs/albert";

/** One word decides. */
const made = (count: number): LabelledText[] =>
  Array.from({ length: count }, (_, i) => ({
    text: `${["the", "a", "my"][i % 3]} ${i % 2 ? "good" : "bad"} ${["day", "house", "man", "time"][i % 4]}`,
    label: i % 2 ? "good" : "bad",
  }));

const options = {
  task: classification({ labels: ["bad", "good"] }),
  train: made(96),
  dev: made(24),
  epochs: 4,
  batch: 8,
  rate: 0.03,
  pooling: "mean",
  lora: 4,
  checkpointEvery: 5,
} as const;
const texts = ["a good house", "my bad day", "the good time"];

let tuned: FinetuneResult;
beforeAll(async () => {
  tuned = await finetune(albert, { ...options, into: await Run.create(at("run")) }).result;
}, 60_000);

describe("fine-tuning with adapters", () => {
  it("learns while the model below stays as it was, bit for bit", async () => {
    expect(tuned.epochs.at(-1)!.figures.accuracy).toBe(1);
    const base = await openAlbertRun(albert);
    const [before, after] = [stateDict(base.parameters, base.weights), stateDict(tuned.parameters, tuned.weights)];
    for (const { name } of base.model.parameters) expect(after.get(name)!.data).toEqual(before.get(name)!.data);
    const factors = [...after].filter(([name]) => name.includes(".lora_B."));
    expect(factors.map(([, { data }]) => data.some((x) => x !== 0))).toEqual(Array(6).fill(true));
  });

  it("says the same when merged", async () => {
    const merged = mergedAlbert({ ...tuned, weights: tuned.best?.weights ?? tuned.weights });
    expect(merged.parameters.some(({ name }) => name.includes("lora"))).toBe(false);
    const { description, weights } = merged;
    const { tokenizer, task } = tuned;
    const engine = await (await import("../engine.ts")).defaultEngine();
    const found = await predictTexts(
      { engine, description, described: merged, weights, tokenizer, length: 32 },
      task,
      texts,
    );
    for (const [i, { scores }] of (await tuned.predict(texts)).entries()) {
      for (const [label, score] of Object.entries(scores))
        expect(Math.abs(found[i]!.scores[label]! - score)).toBeLessThan(1e-5);
    }
  });

  it("is resumed to the same bits out of small checkpoints", { timeout: 60_000 }, async () => {
    const session = finetune(albert, { ...options, into: await Run.create(at("stopped")) });
    for await (const event of session) if (event.type === "step" && event.step === 17) break;
    const run = await Run.open(at("stopped"), "finetune");
    const { weights, epochs } = await run.resume({ train: options.train, dev: options.dev }).result;
    expect([...weights.values()].map(String)).toEqual([...tuned.weights.values()].map(String));
    expect(epochs).toEqual(tuned.epochs);
    const whole = statSync(join(at("stopped"), "base.safetensors")).size;
    const kept = readdirSync(join(at("stopped"), "checkpoints")).find((name) => name.startsWith("step"));
    expect(statSync(join(at("stopped"), "checkpoints", kept!, "weights.safetensors")).size).toBeLessThan(whole);
  });

  it("gives small files that are swapped at use, and refuses them on another model", { timeout: 60_000 }, async () => {
    await printedBy(addExport, "export", at("run"), "--format", "adapter", "--out", at("small"));
    const [small, whole] = ["small/adapter.safetensors", "run/base.safetensors"].map((file) => statSync(at(file)).size);
    // Rank 4 of six matrices of a model of width 16, and a head: (4·(4·32) + 2·(4·80) + 34) numbers behind a header.
    expect(small! - headerOf(at("small/adapter.safetensors"))).toBe(4 * (4 * 128 + 2 * 320 + 34));
    expect(small).toBeLessThan(whole!);
    const base = await Run.open(albert, "pretrain");
    const adapted = await withAdapter(base, at("small"));
    expect(await adapted.predict(texts)).toEqual(await tuned.predict(texts));
    const printed = await printedBy(
      addPredict,
      "predict",
      albert,
      "--adapter",
      at("small"),
      "--text",
      texts[0]!,
      "--json",
    );
    expect(JSON.parse(printed)).toMatchObject([{ text: texts[0], label: "good" }]);
    await expect(withAdapter(await Run.open("fixtures/runs/glue", "finetune"), at("small"))).rejects.toThrow(
      /needed|expected the model it was trained on/,
    );
    writeFileSync(join(at("small"), "adapter.json"), "{}");
    await expect(withAdapter(base, at("small"))).rejects.toThrow(/adapter.json: expected an adapter of layout 1/);
    await expect(withAdapter(base, at("none"))).rejects.toThrow(/a file of an adapter, got no such file/);
  });

  it("is exported as whole weights, and further tuning begins with them", { timeout: 60_000 }, async () => {
    const run = await Run.open(at("run"), "finetune");
    const files = await run.exported();
    expect(JSON.parse(new TextDecoder().decode(files["config.json"]!)).lora).toBeUndefined();
    const further = await finetune(at("run"), { ...options, lora: null, epochs: 1 }).result;
    expect(further.description.model.lora).toBeUndefined();
    await expect((await Run.open("fixtures/runs/glue", "finetune")).adapter()).rejects.toThrow(/fine-tune with --lora/);
    await writeAdapter(at("again"), await run.adapter());
    const own = await withAdapter(run, at("again"));
    expect(await own.predict(texts)).toEqual(await run.predict(texts));
  });

  it("refuses adapters on new weights, and with tables that are rescaled", async () => {
    const scratch = { ...options, tokenizer: "fixtures/runs/data/tokenizer.model" };
    await expect(finetune(null, scratch).result).rejects.toThrow(/a pre-trained model below the adapters/);
    await expect(finetune(albert, { ...options, embeddingDeviation: 0.02 }).result).rejects.toThrow(
      /weights that rest/,
    );
  });
});

const headerOf = (file: string) => 8 + Number(readFileSync(file).readBigUInt64LE(0));
