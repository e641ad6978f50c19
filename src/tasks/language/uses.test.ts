import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import type { DepthUse } from "../../depth/use.ts";
import { Run, textCorpus } from "../../index.ts";
import type { Figures } from "../../train/events.ts";
import { newRun } from "../new-run.ts";
import { perform } from "../perform.ts";
import { languageJob, openLanguage } from "./job.ts";
import { languageSettings } from "./settings.ts";

const folder = ownFolder("uses");
const lines = (count: number) => Array.from({ length: count }, (_, i) => `the ${i % 7} ships sailed by ${i % 3} moons`);
const corpus = textCorpus({ train: lines(200), valid: lines(30) }, "ships");

let runs = 0;
/** A run of four updates, stopped after two and resumed where it was asked for. */
async function trained(values: object, stops = false): Promise<string> {
  const tiny = { ...languageSettings.presets.tiny, corpus: "memory:ships", pieces: 36, width: 16, length: 8, steps: 4 };
  const own = { ...tiny, warmup: 1, checkpointEvery: 2, evaluateEvery: 4, threads: 1, ...values };
  const settings = languageSettings.resolve([{ source: "test", values: own }]);
  const path = join(folder, `${++runs}`);
  const session = perform(await languageJob(await openLanguage(settings, { corpus })), { into: await newRun(path) });
  for await (const event of session) if (stops && event.type === "step" && event.step === 2) break;
  if (stops) await Run.resume(path, { corpus }).result;
  return path;
}

async function lossOf(path: string, use?: DepthUse): Promise<number> {
  const run = await Run.open(path, "language", { corpus, use });
  return (await run.evaluate()).loss!;
}

describe("a run of a written depth", () => {
  it("is resumed to the same weights, generates and shows its depths", async () => {
    const depth = "1 + (sf)*2 halt + 1";
    const [whole, stopped] = [await trained({ depth }), await trained({ depth }, true)];
    expect(await lossOf(stopped)).toBe(await lossOf(whole));
    const run = await Run.open(stopped, "language", { corpus });
    let text = "";
    for await (const part of run.generate({ prompt: "the", maxTokens: 3 })) text += part;
    expect(text).not.toBe("");
    const depths = (await run.depths("the ships")).map((token) => token.depth);
    expect(depths.every((each) => each >= 3 && each <= 6)).toBe(true);
  });

  it("is used with other loops and exit rules than in training", async () => {
    const path = await trained({ depth: "1 + 1 loop(3, mean=2, injection=add) + 1*2 exits(gate)" });
    const uses: DepthUse[] = [{}, { loops: 1 }, { loops: 5 }, { exit: { kind: "quantile", level: 0.1 } }];
    const losses = await Promise.all(uses.map((use) => lossOf(path, use)));
    expect(new Set(losses).size).toBe(4);
    expect(await lossOf(path, { loops: 2 })).toBe(losses[0]);
    await expect(lossOf(path, { cap: 1 })).rejects.toThrow("cap in use: expected a depth with halt, route, drop");
  });

  it("that says halting by flags has a cap too", async () => {
    const path = await trained({ depth: 4, unique: 2, halt: true, haltBias: -3 });
    expect(await lossOf(path, { cap: 4 })).toBe(await lossOf(path));
    expect(await lossOf(path, { cap: 1 })).not.toBe(await lossOf(path));
    await expect(lossOf(path, { cap: 5 })).rejects.toThrow("halting / cap: expected a whole number from 1 to 4, got 5");
  });
});

describe("an evaluation in other batches than those of training", () => {
  it("has the loss, the depth and the tokens of all the same rows", async () => {
    const figures: (Figures & { readonly depth?: number })[] = [];
    for (const evaluationBatch of [0, 1, null]) {
      const path = await trained({ depth: "1 + (sf)*2 halt + 1", batch: 4, evaluationBatch });
      figures.push(await (await Run.open(path, "language", { corpus })).evaluate());
    }
    const [before, ...others] = figures;
    for (const other of others) {
      expect(other.tokens).toBe(before!.tokens);
      expect(other.loss).toBeCloseTo(before!.loss!, 6); // sums of other groups, in 32 bits
      expect(other.depth).toBeCloseTo(before!.depth!, 6);
    }
    expect(new Set(figures.map(({ loss }) => loss)).size).toBeGreaterThan(1);
  });
});

describe("an evaluation on part of a text", () => {
  it("is said in the run's description and by its uses, and may be asked for or be left out", async () => {
    const settings = languageSettings.resolve([
      {
        source: "test",
        values: { ...languageSettings.presets.tiny, corpus: "memory:ships", pieces: 36, length: 8, evaluateTokens: 64 },
      },
    ]);
    const job = await languageJob(await openLanguage(settings, { corpus }));
    const fact = job.describe().find(({ what }) => what === "evaluated on");
    expect(fact?.value).toMatch(/^64 of the valid split's \d+ tokens \(all with --evaluate-tokens 0\)$/);
    const said: string[] = [];
    const run = await Run.open(await trained({}), "language", { corpus, say: (text) => said.push(text) });
    const [whole, part] = [await run.evaluate(), await run.evaluate({ evaluateTokens: 128 })];
    expect([whole.tokens > part.tokens, part.tokens, said]).toEqual([
      true,
      128,
      [expect.stringContaining("evaluated on 128")],
    ]);
  });
});
