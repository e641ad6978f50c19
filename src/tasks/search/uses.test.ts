import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { tinySearch } from "../../../test/tiny-search.ts";
import type { Engine } from "../../engine/engine.ts";
import { ortEngine } from "../../engine/ort.ts";
import { readSafetensors } from "../../format/safetensors.ts";
import { parModel } from "../../model/par/par.ts";
import { RunFolder } from "../../runs/folder.ts";
import { openBatches } from "../../text/files/tokens.ts";
import { Run } from "../run.ts";
import { type SearchConfig, search } from "./index.ts";
import { openSearch } from "./parts.ts";

const folder = ownFolder("par");

const tiny: Partial<SearchConfig> = { ...tinySearch, steps: 20, evaluationMemory: 80 };

let engine: Engine;
beforeAll(async () => {
  engine = await ortEngine({ threads: 1 });
});

const at = (name: string) => join(folder, name);
const begin = async (name: string, settings: Partial<SearchConfig>) =>
  search({ ...tiny, ...settings, engine, into: await Run.create(at(name)) }).result;
const open = (name: string) => Run.open(at(name), "search", { checkpoint: "last" });

const text = (bytes: Uint8Array | undefined) => JSON.parse(new TextDecoder().decode(bytes));

describe("a search's run in use", () => {
  it("is measured as it was at its end: every figure, to the last bit", async () => {
    await begin("measured", { blocks: 2, decide: null });
    const events = await (await RunFolder.read(at("measured"))).events();
    const last = events.findLast(({ type }) => type === "evaluation");
    const again = await (await open("measured")).evaluate({ split: "valid" });
    const { loss, perplexity, perplexityPerWord, bitsPerByte, meanBatchPerplexity } = again;
    expect(last).toMatchObject({ loss, perplexity, perplexityPerWord, bitsPerByte, meanBatchPerplexity });
  });

  it("has no memory longer than a row of its text", async () => {
    const run = await open("measured");
    await expect(run.evaluate({ split: "valid", evaluationMemory: 60_000 })).rejects.toThrow(
      /evaluation memory: expected at most \d+ steps: the text has \d+ pieces in 32 rows, got 60000/,
    );
    await expect(openSearch({ ...tiny, evaluationMemory: 60_000 }, { engine })).rejects.toThrow(
      "evaluation memory: expected at most",
    );
  });

  it("is not exported for transformers while blocks have a choice", async () => {
    const run = await open("measured");
    await expect(run.exported({ format: "huggingface" })).rejects.toThrow(
      /expected blocks that are decided, got 2 of 2 .* retrain .*measured/,
    );
  });
});

type Files = Readonly<Record<string, Uint8Array>>;

/** Runs a program over text, one column of ids after another, and hands its memory on. */
async function* readWith(files: Files, file: string, segments: Iterable<ArrayLike<number>>, batch: number) {
  const session = await InferenceSession.create(files[file]!);
  const { length, memory } = text(files["config.json"]).programs[file];
  const empty: Record<string, Tensor> = { missing: new Tensor("int32", Int32Array.of(memory), []) };
  for (const name of session.inputNames.filter((each) => each.startsWith("memory."))) {
    empty[name] = new Tensor("float32", new Float32Array(batch * memory * 16), [batch, memory, 16]);
  }
  let state = empty;
  for (const segment of segments) {
    const ids = new Tensor("int32", Int32Array.from(segment), [batch, length]);
    const results = await session.run({ ids, ...state });
    state = Object.fromEntries(Object.keys(state).map((name) => [name, results[`next_${name}`]!]));
    yield results.log_probabilities!.data as Float32Array;
  }
  await session.release();
}

/** The loss of the valid text that model.onnx gives, for ids of its tokenizer. */
async function lossOf(files: Files): Promise<number> {
  const { corpus, tokenizer } = await openSearch(tiny, { engine });
  const source = await openBatches(corpus, "valid", tokenizer, { batch: 32, length: 64 });
  const batches = Array.from({ length: source.count }, (_, i) => source.at(i));
  const losses: number[] = [];
  const logs = readWith(
    files,
    "model.onnx",
    batches.map(({ ids }) => ids),
    32,
  );
  for (const { targets } of batches) {
    const { value } = (await logs.next()) as { value: Float32Array };
    losses.push(targets.reduce((sum, target, i) => sum - value[300 * i + target]!, 0) / targets.length);
  }
  return losses.reduce((a, b) => a + b, 0) / losses.length;
}

describe("an exported supernet", () => {
  let files: Files;
  beforeAll(async () => {
    await begin("undecided", { blocks: 2, candidates: "s,f:24,i", architectureRate: 0.1, tied: true, decide: null });
    files = await (await open("undecided")).exported();
  });

  it("mixes its undecided blocks by π: the loss of evaluation, and not that of the likeliest candidates", async () => {
    const run = await open("undecided");
    const [mixed, likeliest] = [await run.evaluate({}), await run.evaluate({ mixture: "arg-max" })];
    const loss = await lossOf(files);
    expect(loss).toBeCloseTo(Number(mixed.loss), 5);
    expect(Math.abs(loss - Number(likeliest.loss))).toBeGreaterThan(1e-3);
  });

  it("has all its weights by name, π too, for the model that its description makes", () => {
    const { tensors } = readSafetensors(files["model.safetensors"]!, "exported");
    const again = parModel(text(files["config.json"]));
    const shapes = again.parameters.map(({ name, tensor }) => [name, tensor.shape] as const);
    expect(shapes.map(([name]) => [name, tensors.get(name)?.shape])).toEqual(shapes);
    expect(tensors.get("blocks.1.pi")!.shape).toEqual([2]); // settled for one beside identity
  });
});

describe("an exported Transformer-XL", () => {
  let files: Files;
  beforeAll(async () => {
    await begin("decided", { blocks: "s f:24 i s" });
    files = await (await open("decided")).exported();
  });
  const read = (file: string, segments: Iterable<ArrayLike<number>>, batch: number) =>
    readWith(files, file, segments, batch);

  it("gives the loss that the run has, segment by segment, for ids of its tokenizer", async () => {
    const { loss } = await (await open("decided")).evaluate({ split: "valid" });
    // Sums of single-precision logarithms in another order.
    expect(await lossOf(files)).toBeCloseTo(Number(loss), 5);
  });

  it("gives whole distributions, token by token as in segments while all is remembered", async () => {
    const ids = Int32Array.from({ length: 64 }, (_, i) => (7 * i * i + 3) % 300);
    const whole = (await read("model.onnx", [ids], 1).next()).value!;
    let place = 0;
    for await (const logs of read(
      "token.onnx",
      [...ids].map((id) => [id]),
      1,
    )) {
      expect(logs.reduce((sum, log) => sum + Math.exp(log), 0)).toBeCloseTo(1, 5);
      // The 80 steps of memory hold all 64 tokens, so both see the same; single precision.
      for (const [i, log] of logs.entries()) expect(Math.abs(log - whole[300 * place + i]!)).toBeLessThan(1e-4);
      place++;
    }
    expect(place).toBe(64);
  });

  it("has its weights once by name, for the model that its description makes", async () => {
    const names = ["model.onnx", "token.onnx", "model.safetensors", "config.json", "ranks.json", "tokenizer.model"];
    expect(Object.keys(files)).toEqual(names);
    const { tensors } = readSafetensors(files["model.safetensors"]!, "exported");
    const again = parModel(text(files["config.json"]));
    const shapes = again.parameters.map(({ name, tensor }) => [name, tensor.shape] as const);
    expect(shapes.map(([name]) => [name, tensors.get(name)?.shape])).toEqual(shapes);
    expect(again.options.blocks).toBe("s f:24 i s");
    expect(text(files["ranks.json"]).toSorted((a: number, b: number) => a - b)[299]).toBe(299);
  });

  it("may come from a search that has decided all, under the names of a network of its own", async () => {
    const hasty = { blocks: 2, candidates: "f:24,f:40", architectureRate: 0.3, cut: 0.51, cutEvery: 2, steps: 12 };
    const found = await begin("searched", hasty);
    const { tensors } = readSafetensors((await (await open("searched")).exported())["model.safetensors"]!, "");
    expect(found.cuts).toHaveLength(2);
    expect([...tensors.keys()].filter((name) => /dense\d|pi/.test(name))).toEqual([]);
  });
});
