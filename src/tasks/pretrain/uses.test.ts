import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { runOnce } from "../../engine/engine.contract.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { readSafetensors } from "../../format/safetensors.ts";
import { describedAlbert } from "../../model/albert/description.ts";
import { textInputs } from "../../model/albert/heads.ts";
import { importAlbert } from "../../model/albert/import.ts";
import type { NamedTensor } from "../../model/state-dict.ts";
import { stateDict } from "../../model/state-dict.ts";
import { initialise } from "../../nn/index.ts";
import { RunFolder } from "../../runs/folder.ts";
import { openCorpus } from "../../text/files/corpus.ts";
import { chooseTokenizer } from "../../text/files/trained-tokenizer.ts";
import { Run } from "../run.ts";
import { albertContent, firstState } from "./albert-run.ts";
import { importAlbertRun } from "./import.ts";

const folder = ownFolder("albert");

const text = join(folder, "text.txt");
writeFileSync(text, readFileSync("corpus/books/valid.txt", "utf8").slice(0, 60_000));

const sizes = { vocabulary: 250, embedding: 4, width: 8, heads: 2, hidden: 16, depth: 3, length: 32 };
const halting = { ponder: 0.01, biasInitial: -1 };

async function written(name: string, heads: object, more: object = {}) {
  const path = join(folder, name);
  const description = { model: { ...sizes, halting, ...more }, heads };
  const tokenizer = await chooseTokenizer(undefined, await openCorpus(text), {
    pieces: 250,
    cache: folder,
    masked: true,
  });
  const run = await RunFolder.create(path, { ...albertContent({ description, tokenizer }), environment: {} });
  const { parameters } = describedAlbert(description);
  await run.writeCheckpoint(firstState(parameters, initialise(parameters, 7)));
  run.close();
  return path;
}

const open = (path: string) => Run.open(path, "imported");
const exported = async (path: string) => (await open(path)).exported();

describe("an ALBERT's run in use", () => {
  it("is measured on masked text, always alike; an untrained one guesses", async () => {
    const path = await written("measured", { maskedLanguage: {}, sentenceOrder: {} });
    const [first, again] = [0, 1].map(async () => (await open(path)).evaluate({ split: "train", corpus: text }));
    const found = await first!;
    expect(await again!).toEqual(found);
    expect(found.loss).toBeCloseTo(Math.log(250), 1);
    expect(found.maskedAccuracy).toBeLessThan(0.2);
    expect(found.orderLoss).toBeCloseTo(Math.log(2), 1);
    expect(found.meanDepth).toBeGreaterThan(2);
    expect(found.meanDepth).toBeLessThanOrEqual(3);
  });

  it("cannot be measured without a head for it, nor resumed where it was imported", async () => {
    const path = await written("bare", {});
    const run = await open(path);
    await expect(run.evaluate({ split: "train", corpus: text })).rejects.toThrow("expected a head for masked pieces");
    expect("resume" in run).toBe(false);
    await expect(Run.resume(path).result).rejects.toThrow("expected a run that was trained, got one that was imported");
  });

  it("shows how deep the tokens of a text run, and of each kind in masked text", async () => {
    const run = await open(await written("deep", {}));
    const tokens = await run.depths("it was a day");
    expect([tokens[0]!.piece, tokens.at(-1)!.piece]).toEqual(["[CLS]", "[SEP]"]);
    for (const { depth, cosines } of tokens) expect([depth >= 1 && depth <= 3, cosines.length]).toEqual([true, depth]);
    expect(await run.depths(["it was a day"])).toEqual([tokens]);
    const { kinds, texts } = await run.depthsByKind({ corpus: text, split: "train", texts: 16, length: 16 });
    expect([kinds[0]!.name, texts]).toEqual(["all", 16]);
  });

  it("comes back from its export, bit by bit, with how its tokens halt", async () => {
    const path = await written("exported", { maskedLanguage: {}, sentenceOrder: {} });
    const files = await exported(path);
    expect(Object.keys(files)).toEqual(["model.onnx", "model.safetensors", "config.json", "spiece.model"]);
    const { tensors } = readSafetensors(files["model.safetensors"]!, "exported");
    const config = JSON.parse(new TextDecoder().decode(files["config.json"]));
    const again = importAlbert(tensors as ReadonlyMap<string, NamedTensor>, config, "exported");
    const run = await open(path);
    expect(again.model.options).toEqual(run.model.options);
    expect(Object.keys(again.heads)).toEqual(Object.keys(run.heads));
    const stored = stateDict(run.parameters, run.weights);
    for (const { name, tensor } of again.parameters) {
      expect(again.weights.get(tensor)).toEqual(stored.get(name)!.data);
    }
  });

  it.each(["distinct", "pairs"] as const)("comes back with how its head pools: %s", async (pooling) => {
    const pairs = pooling === "pairs" ? { pairs: 300 } : {};
    const path = await written(`pooled-${pooling}`, { classification: { labels: 3, pooling } }, pairs);
    const into = join(folder, `files-${pooling}`);
    mkdirSync(into);
    for (const [name, bytes] of Object.entries(await exported(path))) writeFileSync(join(into, name), bytes);
    const [run, again] = [await open(path), await importAlbertRun(into)];
    expect(again.description.heads).toEqual({ classification: { labels: 3, pooling } });
    expect(again.model.options).toEqual(run.model.options);
    expect(stateDict(again.parameters, again.weights)).toEqual(stateDict(run.parameters, run.weights));
    const { architectures } = JSON.parse(readFileSync(join(into, "config.json"), "utf8"));
    expect(architectures).toEqual(["AlbertModel"]);
  });

  it("computes the same in ONNX, at any batch and length", async () => {
    const path = await written("onnx", {});
    const { model, weights } = await open(path);
    const [batch, length] = [2, 5];
    const feeds = {
      ids: Int32Array.from({ length: 10 }, (_, i) => 5 + 7 * i),
      mask: Int32Array.of(1, 1, 1, 1, 1, 1, 1, 1, 0, 0),
      types: Int32Array.of(0, 0, 1, 1, 1, 0, 0, 0, 0, 0),
    };
    const { sequence, pooled, probes } = model.encode(textInputs({ batch, length }));
    const named = [...weights].map(([{ attributes }, data]) => [attributes.name, data]);
    const outputs = { sequence, pooled: pooled!, updates: probes.updates! };
    const expected = await runOnce(referenceEngine(), outputs, { ...feeds, ...Object.fromEntries(named) });
    const session = await InferenceSession.create((await exported(path))["model.onnx"]!);
    const given = Object.entries(feeds).map(([name, data]) => [name, new Tensor("int32", data, [batch, length])]);
    const found = await session.run(Object.fromEntries(given));
    expect(found.sequence!.dims).toEqual([batch, length, sizes.width]);
    for (const [name, { data }] of Object.entries(expected)) {
      // Two engines' roundings over three depths.
      for (const [i, value] of [...(found[name]!.data as Float32Array)].entries())
        expect(value).toBeCloseTo(data[i]!, 5);
    }
  });
});
