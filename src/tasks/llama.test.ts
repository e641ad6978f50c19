import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { layerwise, ownFolder } from "../../test/command.ts";
import { difference, runOnce } from "../engine/engine.contract.ts";
import { ortEngine } from "../engine/ort.ts";
import { writeSafetensors } from "../format/safetensors.ts";
import { input } from "../graph/index.ts";
import { wordModel } from "../text/plain-vocabulary.ts";
import { importLlamaModel } from "./llama.ts";
import { Run } from "./run.ts";

interface Case {
  readonly config: Record<string, unknown>;
  readonly tensors: Record<string, { shape: number[]; data: number[] }>;
  readonly ids: number[][];
  readonly logits: number[];
}
/** Made by fixtures/make_llama.py with Hugging Face's own models. */
const { cases } = JSON.parse(readFileSync("fixtures/llama/llama.json", "utf8")) as { cases: readonly Case[] };

const folder = ownFolder("llama");
const at = (name: string) => join(folder, name);
const words = "the of and to a in that was he it his i with as had for at".split(" ");

/** A folder as such models are published, with a tokenizer of so many pieces. */
function published(name: string, { config, tensors }: Case, pieces = 19): string {
  mkdirSync(at(name));
  const floats = Object.entries(tensors).map(([key, { shape, data }]) => {
    return [key, { dtype: "F32" as const, shape, data: Float32Array.from(data) }] as const;
  });
  writeFileSync(join(at(name), "model.safetensors"), writeSafetensors(new Map(floats)));
  writeFileSync(join(at(name), "config.json"), JSON.stringify(config));
  writeFileSync(join(at(name), "tokenizer.model"), wordModel([words.join(" ")], { pieces }));
  return at(name);
}

beforeAll(() => {
  cases.forEach((each, i) => {
    published(`published-${i}`, each);
  });
});

describe("a folder of a model of Llama's shape", () => {
  it.each([0, 1, 2])("becomes a run of a language model with the original's logits: case %i", async (i) => {
    await importLlamaModel(at(`published-${i}`), { into: await Run.create(at(`run-${i}`)) });
    const { model, weights } = await Run.open(at(`run-${i}`), "language");
    const { ids, logits } = cases[i]!;
    const outputs = { logits: model.logits(input("ids", [ids.length, ids[0]!.length], "int")) };
    const values = Object.fromEntries([...weights].map(([tensor, data]) => [tensor.attributes.name, data]));
    const feeds = { ...values, ids: Int32Array.from(ids.flat()) };
    const found = await runOnce(await ortEngine({ threads: 1 }), outputs, feeds);
    expect(difference(found.logits!.data, logits)).toBeLessThan(1e-5);
  });

  it("is imported by the command, evaluated, continued, and trained on as a looped model", () => {
    const { status, stdout } = layerwise("import", at("published-0"), "--out", at("imported"), "--json");
    expect([status, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ kind: "language", depth: 2, width: 16 }),
    ]);
    expect(layerwise("eval", at("imported"), "--evaluate-tokens", "200").status).toBe(0);
    expect(layerwise("generate", at("imported"), "--prompt", "the", "--tokens", "3").status).toBe(0);
    const how = ["--config", join(at("imported"), "config.yaml"), "--init", at("imported"), "--steps", "3"];
    const looped = layerwise("train", ...how, "--depth", "1 + 1 loop(3)", "--out", at("looped"));
    expect([looped.status, looped.stderr]).toEqual([0, expect.not.stringContaining("drawn from the seed: blocks")]);
    const halting = layerwise("train", ...how, "--depth", "1 + 1*2 halt", "--out", at("halting"));
    expect(halting.stderr).toMatch(/blocks\.1 +2 +blocks\.1 +0\.000/);
    expect(halting.stderr).toContain("drawn from the seed: halting.unit.weight, halting.unit.bias");
  });

  it("has the tokenizer.json beside it, also where a SentencePiece model lies there", async () => {
    const name = "model.embed_tokens.weight";
    const { config, tensors } = cases[0]!;
    const data = Array.from({ length: 420 * 16 }, (_, i) => tensors[name]!.data[i % (19 * 16)]!);
    const large = {
      ...cases[0]!,
      config: { ...config, vocab_size: 420 },
      tensors: { ...tensors, [name]: { shape: [420, 16], data } },
    };
    copyFileSync("fixtures/byte-level/smollm.json", join(published("json", large), "tokenizer.json"));
    const { tokenizer } = await importLlamaModel(at("json"), { into: await Run.create(at("json-run")) });
    expect(tokenizer.path).toBe(join(at("json"), "tokenizer.json"));
    const opened = await Run.open(at("json-run"), "language");
    expect(opened.tokenizer.tokenizer.decode(opened.tokenizer.tokenizer.encode("it was"))).toBe(" it was");
  });

  it("loses rows that no piece of its tokenizer has, and says so", async () => {
    published("round", cases[1]!, 15);
    const { warnings, weights, parameters } = await importLlamaModel(at("round"));
    expect(warnings).toEqual(["4 of 19 rows of the embedding belong to no piece of the tokenizer: left out"]);
    const of = (name: string) => weights.get(parameters.find((each) => each.name === name)!.tensor)!;
    expect([of("embedding.weight").length, of("head.weight").length]).toEqual([15 * 16, 15 * 16]);
  });

  it("needs a tokenizer, of no more pieces than the model has, and flags that are its own", () => {
    const { config } = cases[0]!;
    published("large", { ...cases[0]!, config: { ...config, vocab_size: 10 } });
    const large = layerwise("import", at("large"), "--out", at("never"));
    expect(large.stderr).toContain("at most the model's 10 pieces, got 19");
    const halt = layerwise("import", at("published-0"), "--halt", "--out", at("never"));
    expect([halt.status, halt.stderr]).toEqual([2, expect.stringContaining("--halt: expected an ALBERT")]);
  });
});
