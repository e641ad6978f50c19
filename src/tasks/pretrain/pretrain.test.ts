import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { referenceEngine } from "../../engine/reference.ts";
import { PAIR_WEIGHT } from "../../nn/index.ts";
import { documentCorpus } from "../../text/masked/documents.ts";
import { depthsOf } from "../depths.ts";
import { Run } from "../run.ts";
import { openAlbertRun } from "./albert-run.ts";
import { firstWeights } from "./first-weights.ts";
import { pretrain, pretrainSettingsOf } from "./pretrain.ts";

const folder = ownFolder("pretrain");

const model = { width: 16, heads: 2, embedding: 8, depth: 3, halting: { ponder: 0.01 } };
const options = {
  model,
  phases: [
    { steps: 4, length: 16, batch: 4 },
    { steps: 2, length: 32, batch: 2 },
  ],
  corpus: "fixtures/runs/data/text",
  tokenizer: "fixtures/runs/data/tokenizer.model",
  evaluateTexts: 8,
  evaluateEvery: 2,
  checkpointEvery: 2,
} as const;

const bitsOf = ({ weights }: { weights: ReadonlyMap<unknown, Float32Array> }) => [...weights.values()].map(String);

describe("pre-training from a program", () => {
  it("goes through both phases, stops on the way, and goes on to the same bits", { timeout: 60_000 }, async () => {
    const whole = await pretrain(options).result;
    expect([whole.reason, whole.steps, Object.keys(whole.heads)]).toEqual([
      "finished",
      6,
      ["maskedLanguage", "sentenceOrder"],
    ]);
    const path = join(folder, "stopped");
    const session = pretrain({ ...options, into: await Run.create(path) });
    for await (const event of session) if (event.type === "step" && event.step === 3) break;
    expect((await session.result).reason).toBe("stopped");
    const run = await Run.open(path, "pretrain", { checkpoint: "last" });
    expect([run.step, run.settings.longLength]).toEqual([3, 32]);
    expect(bitsOf(await run.resume().result)).toEqual(bitsOf(whole));
    const { maskedAccuracy, meanDepth } = await run.evaluate();
    expect([maskedAccuracy! <= 1, meanDepth >= 1 && meanDepth <= 3]).toEqual([true, true]);
  });

  it("predicts next words first where asked, and goes on from there to the same bits", {
    timeout: 60_000,
  }, async () => {
    const causal = { ...options, causalShare: 0.5, packed: true, sentenceOrder: false } as const;
    const figures: string[][] = [];
    const session = pretrain(causal);
    for await (const event of session)
      if (event.type === "evaluation") figures.push(Object.keys(event.scalars!).slice(0, 2));
    const whole = await session.result;
    const [next, masked] = [
      ["next_loss", "next_accuracy"],
      ["mlm_loss", "mlm_accuracy"],
    ];
    expect([figures, whole.best?.step]).toEqual([[next, masked, masked], expect.any(Number)]);
    expect(whole.best!.step).toBeGreaterThan(3);
    for (const at of [2, 4]) {
      const path = join(folder, `causal-${at}`);
      const stopped = pretrain({ ...causal, into: await Run.create(path) });
      for await (const event of stopped) if (event.type === "step" && event.step === at) break;
      await stopped.result;
      const run = await Run.open(path, "pretrain", { checkpoint: "last" });
      expect(bitsOf(await run.resume().result)).toEqual(bitsOf(whole));
    }
  });

  it("guesses words of documents first where asked, and goes on from there to the same bits", {
    timeout: 60_000,
  }, async () => {
    const { phases: _, ...short } = options;
    const asked = {
      ...short,
      steps: 6,
      length: 16,
      batch: 2,
      documentShare: 0.5,
      evaluateEvery: 2,
      frequencyBias: true,
    };
    const figures: string[] = [];
    const session = pretrain(asked);
    for await (const event of session) if (event.type === "evaluation") figures.push(Object.keys(event.scalars!)[0]!);
    const whole = await session.result;
    expect(figures).toEqual(["document_loss", "mlm_loss", "mlm_loss"]);
    expect(whole.best!.step).toBeGreaterThan(3);
    const path = join(folder, "document");
    const stopped = pretrain({ ...asked, into: await Run.create(path) });
    for await (const event of stopped) if (event.type === "step" && event.step === 2) break;
    await stopped.result;
    const run = await Run.open(path, "pretrain", { checkpoint: "last" });
    expect(bitsOf(await run.resume().result)).toEqual(bitsOf(whole));
  });

  it("moves nothing but word vectors and their norm while it guesses words of documents", async () => {
    const { phases: _, ...short } = options;
    const { parameters, weights } = await pretrain({ ...short, steps: 2, length: 16, batch: 2, documentShare: 0.9 })
      .result;
    const none = { count: 0, at: () => expect.unreachable() };
    const first = firstWeights({ seed: 1, frequencyBias: false, documentShare: 0.9 }, { parameters }, none);
    const moved = parameters.filter(({ tensor }) => weights.get(tensor)!.some((x, i) => x !== first.get(tensor)![i]));
    const names = moved.map(({ name }) => name).filter((name) => !/(position|token_type)_embeddings/.test(name)); // which decay
    const norm = ["weight", "bias"].map((name) => `embeddings.LayerNorm.${name}`);
    expect(names).toEqual(["embeddings.word_embeddings.weight", ...norm]);
  });

  it("lets tables rest after words of documents where asked, and refuses a rate of theirs without such words", async () => {
    const { phases: _, ...short } = options;
    const asked = { ...short, steps: 4, length: 16, batch: 2, documentShare: 0.5, tableRate: 0 };
    const session = pretrain({ ...asked, checkpointEvery: 2, into: await Run.create(join(folder, "tables rest")) });
    const { parameters, weights } = await session.result;
    const { weights: before } = await openAlbertRun(join(folder, "tables rest"), { checkpoint: 2 });
    const named = new Map([...before].map(([{ attributes }, data]) => [attributes.name, data]));
    const moved = parameters.filter(({ name, tensor }) => `${named.get(name)}` !== `${weights.get(tensor)}`);
    expect(new Set(moved.map(({ role }) => role))).toContain("matrix");
    expect(moved.filter(({ role }) => role === "table")).toEqual([]);
    await expect(pretrain({ ...asked, documentShare: 0 }).result).rejects.toThrow(
      "--table-rate after words of documents",
    );
  });

  it("learns vectors of pairs from words of documents, and refuses them without", { timeout: 60_000 }, async () => {
    const { phases: _, ...short } = options;
    const asked = { ...short, steps: 4, length: 16, batch: 2, documentShare: 0.5, pairs: 4096 };
    const whole = await pretrain(asked).result;
    const { parameters, weights } = whole;
    const table = weights.get(parameters.find(({ name }) => name === "embeddings.pair_embeddings.weight")!.tensor)!;
    const rows = Array.from({ length: 4096 }, (_, i) =>
      table.subarray((i * table.length) / 4096, ((i + 1) * table.length) / 4096),
    );
    const known = rows.filter((row) => row.some((x) => x !== 0)).length;
    expect(known).toBeGreaterThan(20);
    expect(known).toBeLessThan(4096);
    const path = join(folder, "pairs");
    const stopped = pretrain({ ...asked, into: await Run.create(path) });
    for await (const event of stopped) if (event.type === "step" && event.step === 1) break;
    await stopped.result;
    const run = await Run.open(path, "pretrain", { checkpoint: "last" });
    expect(bitsOf(await run.resume().result)).toEqual(bitsOf(whole));
    await expect(pretrain({ ...asked, documentShare: 0 }).result).rejects.toThrow("--pairs with words of documents");
    await expect(pretrain({ ...asked, pairs: 10 }).result).rejects.toThrow("at least as many rows of pairs as pieces");
  });

  it("takes a table of pairs over, begins one, or says that it is left out", { timeout: 60_000 }, async () => {
    const { phases: _, ...short } = options;
    const asked = { ...short, steps: 2, length: 16, batch: 2 };
    const learning = { ...asked, documentShare: 0.5, pairs: 4096 };
    type Albert = Awaited<ReturnType<typeof pretrain>["result"]>;
    const pairsOf = ({ parameters, weights }: Pick<Albert, "parameters" | "weights">) =>
      parameters.filter(({ name }) => name === PAIR_WEIGHT).map(({ tensor }) => String(weights.get(tensor)))[0];
    const from = await pretrain(learning).result;
    // Masked pieces alone do not move it.
    const kept = await pretrain({ ...asked, pairs: 4096, init: from }).result;
    expect(pairsOf(kept)).toBe(pairsOf(from));
    const notes: string[] = [];
    const session = pretrain({ ...asked, init: from });
    for await (const event of session) if (event.type === "note") notes.push(event.text);
    expect(pairsOf(await session.result)).toBeUndefined();
    expect(notes).toEqual(["the table of pairs of the model is left out: --pairs 4096 takes it over"]);
    const without = await pretrain(asked).result;
    expect(pairsOf(await pretrain({ ...learning, init: without }).result)).toMatch(/[1-9]/);
    await expect(pretrain({ ...asked, pairs: 4096, init: without }).result).rejects.toThrow(
      "--pairs with words of documents",
    );
  });

  it("refuses packed texts with a task of sentence order", async () => {
    await expect(pretrain({ ...options, packed: true }).result).rejects.toThrow(
      "--packed without a task of sentence order",
    );
  });

  it("refuses shares of next words and long texts that leave nothing between them", async () => {
    await expect(pretrain({ ...options, causalShare: 0.7 }).result).rejects.toThrow(
      "--causal-share and --long-share below 1 together, got 0.7 and 0.333",
    );
  });

  it("gives a model that shows how deep its tokens run, on any engine", async () => {
    const { phases: _, ...short } = options;
    const found = await pretrain({ ...short, steps: 1, length: 16, batch: 2 }).result;
    const tokens = await depthsOf(found, "it was", { engine: referenceEngine() });
    expect(tokens.length).toBeGreaterThan(2);
    for (const { depth } of tokens) expect(depth >= 1 && depth <= 3).toBe(true);
  });

  it("learns from documents in memory, which are given again to go on", async () => {
    const documents = readFileSync("fixtures/runs/data/text/train.txt", "utf8").split("\n\n");
    const { phases: _, corpus: __, tokenizer: ___, ...short } = options;
    const path = join(folder, "documents");
    const into = await Run.create(path);
    const settings = { ...short, documents, pieces: 150, steps: 2, length: 16, batch: 2, into };
    expect((await pretrain(settings).result).tokenizer.tokenizer.size).toBe(150);
    const run = await Run.open(path, "pretrain");
    await expect(run.evaluate()).rejects.toThrow("expected the text that a program gave when the run began");
    const { masked } = await run.evaluate({ corpus: documentCorpus(documents) });
    expect(masked).toBeGreaterThan(0);
  });

  it("takes the model's options by their own names, and none that it does not know", () => {
    const { haltBias, positions, depthPolicy } = pretrainSettingsOf({
      model: { length: 64, halting: { biasInitial: -3 } },
    });
    expect([haltBias, positions, depthPolicy]).toEqual([-3, 64, "adaptive"]);
    expect(pretrainSettingsOf({ model: { depth: 2 } }).depthPolicy).toBe("fixed");
    expect(() => pretrainSettingsOf({ model: { d_model: 8 } as never })).toThrow("pretrain / model: expected a known");
    expect(() => pretrainSettingsOf({ learningRate: 1 } as never)).toThrow("pretrain: expected a known key");
  });

  it("turns phases into updates in all and the share of the second", () => {
    const { steps, longShare, longLength } = pretrainSettingsOf({ phases: options.phases });
    expect([steps, longShare, longLength]).toEqual([6, 1 / 3, 32]);
  });
});
