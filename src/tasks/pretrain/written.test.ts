import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import { classification } from "../../text/labelled/text-task.ts";
import { finetune } from "../finetune/index.ts";
import { Run } from "../run.ts";
import { pretrain, pretrainSettingsOf } from "./pretrain.ts";

const folder = ownFolder("pretrain-written");

const options = {
  corpus: "fixtures/runs/data/text",
  tokenizer: "fixtures/runs/data/tokenizer.model",
  width: 16,
  heads: 2,
  embedding: 8,
  length: 16,
  batch: 4,
  steps: 4,
  evaluateTexts: 8,
  evaluateEvery: 2,
  checkpointEvery: 2,
} as const;

const bitsOf = ({ weights }: { weights: ReadonlyMap<unknown, Float32Array> }) => [...weights.values()].map(String);

/** Pre-trains into a folder, and stops after an update. */
async function stopped(name: string, asked: Parameters<typeof pretrain>[0], after: number) {
  const path = join(folder, name);
  const session = pretrain({ ...asked, into: await Run.create(path) });
  for await (const event of session) if (event.type === "step" && event.step === after) break;
  await session.result;
  return Run.open(path, "pretrain", { checkpoint: "last" });
}

describe("pre-training with a depth in words", () => {
  it("stops, goes on to the same bits, and is fine-tuned, looked into and exported", { timeout: 240_000 }, async () => {
    const asked = { ...options, depth: "2*2 relax(2, norms) halt(ponderWarmup=0.5) + 1 loop(2, mean=1.5)" };
    const whole = await pretrain(asked).result;
    const run = await stopped("halting", asked, 3);
    expect([run.step, run.settings.depth, run.model.policy.depth]).toEqual([3, asked.depth, 6]);
    expect(bitsOf(await run.resume().result)).toEqual(bitsOf(whole));
    const { meanDepth } = await run.evaluate();
    expect(meanDepth).toBeGreaterThan(2);
    const tokens = await run.depths("it was");
    for (const { depth } of tokens) expect(depth >= 2 && depth <= 6).toBe(true);
    const files = await run.exported();
    expect(JSON.parse(new TextDecoder().decode(files["config.json"]))).toMatchObject({ depth: asked.depth });
    await expect(run.exported({ format: "huggingface" })).rejects.toThrow("export it as ONNX");
    const examples = ["a good day", "it was bad", "so good", "a bad one"].map((text, i) => ({
      text,
      label: i % 2 === 0 ? "good" : "bad",
    }));
    const task = classification({ labels: ["bad", "good"] });
    const path = join(folder, "tuned");
    const into = await Run.create(path);
    const tuning = { task, train: examples, dev: examples, epochs: 1, batch: 2, length: 16, ponder: 0.02, into };
    await finetune(run, tuning).result;
    const tuned = await Run.open(path, "finetune");
    expect(tuned.description.model.depth).toBe("2*2 relax(2, norms) halt(ponder=0.02) + 1 loop(2, mean=1.5)");
    const [answer] = await tuned.predict(["a lovely film"]);
    expect(Object.keys(answer!.scores)).toEqual(["bad", "good"]);
    const [capped] = await tuned.predict(["a lovely film"], { cap: 1 });
    for (const { depth } of capped!.depths!) expect(depth).toBe(3); // one of halt, two of loop (1.5 in the mean)
    await expect(tuned.predict(["a lovely film"], { cap: 9 })).rejects.toThrow("expected a whole number from 1 to 4");
  });

  it("has newer blocks, and goes on to the same bits", { timeout: 120_000 }, async () => {
    const style = { norm: "rms", gated: true, rotary: true, keyHeads: 1, queryKeyNorm: true } as const;
    const asked = {
      ...options,
      ...style,
      activation: "silu",
      depth: "1 + (sf)x1*2 route(expert)",
      accumulate: 2,
    } as const;
    const whole = await pretrain(asked).result;
    const run = await stopped("newer", asked, 2);
    expect(bitsOf(await run.resume().result)).toEqual(bitsOf(whole));
    expect(run.description.model).toMatchObject({ norm: "rms", gated: true, rotary: true, keyHeads: 1 });
  });

  it("is the training of a number where it says the same", { timeout: 120_000 }, async () => {
    const [said, counted] = [
      await pretrain({ ...options, steps: 2, depth: "1*3" }).result,
      await pretrain({ ...options, steps: 2, depth: 3, depthPolicy: "fixed" }).result,
    ];
    expect(bitsOf(said)).toEqual(bitsOf(counted));
  });

  it("keeps numbers as they were, and layers with weights of their own apart from them", () => {
    const depthOf = (depth: string | number) => pretrainSettingsOf({ depth }).depth;
    expect(["6", 6, "6*1", "2 *3 halt"].map(depthOf)).toEqual([6, 6, "6*1", "2*3 halt"]);
    const { depth, depthPolicy } = pretrainSettingsOf({ model: { depth: "1*4 halt" } });
    expect([depth, depthPolicy]).toEqual(["1*4 halt", "adaptive"]);
  });

  it("takes the place of a preset's halting", () => {
    const { depth, haltBias, width } = pretrainSettingsOf({ preset: "trial", depth: "2*2 halt" });
    expect([depth, haltBias, width]).toEqual(["2*2 halt", 0, 64]);
  });

  it.each([
    [{ depth: "2x3 halt" }, "write 2*3 to run them 3 times"],
    [{ depth: "1*4 halt", ponder: 0.5 }, 'expected all of it in one text, got ponder beside "1*4 halt"'],
    [{ depth: "1*4 halt", blocks: "(sf)x2" }, 'got blocks beside "1*4 halt"'],
    [{ depth: "1*4 exits(gate)" }, "expected a depth without exits that predict"],
    [{ depth: "1*4 exits(rule=entropy)" }, "expected a model with a head that scores tokens"],
    [{ depth: 4, gated: true }, 'write --depth "1*4" for one block that is shared'],
  ])("refuses %j before anything is opened", async (wrong, said) => {
    const path = join(folder, "refused");
    const asked = async () =>
      pretrain({ ...options, corpus: "no/such/corpus", ...wrong, into: await Run.create(path) }).result;
    await expect(asked()).rejects.toThrow(said);
    expect(existsSync(path)).toBe(false);
  });
});
