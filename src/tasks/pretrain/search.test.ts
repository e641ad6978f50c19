import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/command.ts";
import type { MeasuredCosts } from "../../analysis/latency.ts";
import type { Engine } from "../../engine/engine.ts";
import { ortEngine } from "../../engine/ort.ts";
import { classification } from "../../text/labelled/text-task.ts";
import type { TrainState } from "../../train/events.ts";
import { finetune } from "../finetune/finetune.ts";
import { Run } from "../run.ts";
import { openPretrain, type PretrainResult, pretrain, pretrainJob } from "./index.ts";
import { pretrainSettingsOf } from "./pretrain.ts";
import type { PretrainingConfig } from "./settings.ts";

const folder = ownFolder("encoder-search");
const data = "fixtures/runs/data";
const tiny: Partial<PretrainingConfig> = {
  ...{ corpus: `${data}/text`, tokenizer: `${data}/tokenizer.model`, width: 16, heads: 2, embedding: 8, length: 16 },
  ...{ batch: 4, optimiser: "adamw", rate: 0.005, dropout: 0.1, sentenceOrder: false, packed: true },
  ...{ steps: 24, evaluateEvery: 8, evaluateTexts: 8, checkpointEvery: 1 },
};
/** Blocks settle one after another; π moves fast. */
const searched: Partial<PretrainingConfig> = {
  ...tiny,
  ...{ search: true, blocks: 3, architectureRate: 0.2, freeze: 0.1, settle: [0.2, 0.8], cutEvery: 3 },
};

let engine: Engine;
beforeAll(async () => {
  engine = await ortEngine({ threads: 1 });
});

interface Trace {
  losses: Map<number, number>;
  states: TrainState[];
  result: PretrainResult;
}

async function trace(settings: Partial<PretrainingConfig>, resume?: TrainState, costs?: MeasuredCosts): Promise<Trace> {
  const job = await pretrainJob(await openPretrain(pretrainSettingsOf(settings), { engine, costs }));
  const [losses, states] = [new Map<number, number>(), [] as TrainState[]];
  const events = job.events({ resume, signal: new AbortController().signal });
  for (;;) {
    const { value, done } = await events.next();
    if (done) return { losses, states, result: value };
    if (value.type === "step") losses.set(value.step, value.loss);
    if (value.type !== "checkpoint") continue;
    states.push({ ...value.state, progress: JSON.parse(JSON.stringify(value.state.progress)) });
  }
}

const aliveAt = ({ progress }: TrainState) => (progress.notes!.alive as number[][]).flat().length;

describe("the search of an encoder", () => {
  it("settles its blocks, goes on from before, between and after cuts to the same numbers, and finds a network", async () => {
    const whole = await trace(searched);
    const { found } = whole.result;
    expect(found!.cuts.length).toBeGreaterThanOrEqual(3);
    expect(aliveAt(whole.states.at(-1)!)).toBeLessThan(aliveAt(whole.states[0]!));
    const [first] = found!.cuts;
    for (const at of [first!.step - 1, first!.step, 20]) {
      const rest = await trace(
        searched,
        whole.states.find(({ progress }) => progress.step === at),
      );
      expect(rest.losses.size).toBe(24 - at);
      for (const [step, loss] of rest.losses) expect(loss).toBe(whole.losses.get(step));
      expect(rest.states.at(-1)!.weights).toEqual(whole.states.at(-1)!.weights);
      expect([rest.result.found!.pattern, rest.result.found!.cuts]).toEqual([found!.pattern, found!.cuts]);
    }
    expect(whole.result.description.model.blocks).toBe(found!.pattern);
    expect(whole.result.parameters.filter(({ role }) => role === "architecture")).toEqual([]);
  });

  it("moves π only after the freeze, and draws other candidates at every update", async () => {
    const { states } = await trace({ ...searched, freeze: 0.5, cut: null, settle: null });
    const pi = (step: number) => [...states[step - 1]!.weights.get("encoder.blocks.0.pi")!.data];
    expect(pi(12)).toEqual([0, 0, 0]);
    expect(pi(14)).not.toEqual([0, 0, 0]);
  });

  it("keeps to a budget of latency", async () => {
    const costs: MeasuredCosts = {
      ...{ shape: { batch: 1, length: 16, memory: 0 }, threads: 1, rest: { flops: 1, ms: 1 } },
      candidates: [
        { name: "attention", flops: 10, ms: 10 },
        { name: "feed-forward", flops: 2, ms: 2 },
        { name: "identity", flops: 0, ms: 0 },
      ],
    };
    const { result } = await trace({ ...searched, budget: "8ms" }, undefined, costs);
    expect(result.found!.targetMs).toBe(8);
    expect(result.found!.latency!.chosenMs).toBeLessThanOrEqual(8);
    expect(result.found!.pattern).not.toContain("s");
  });
});

describe("a run of such a search", () => {
  let searching: PretrainResult;
  const path = join(folder, "search");
  beforeAll(async () => {
    searching = await pretrain({
      ...searched,
      corpus: `${data}/text`,
      tokenizer: `${data}/tokenizer.model`,
      engine,
      into: await Run.create(path),
    }).result;
  });

  it("keeps what it found and how π moved, and is opened as the network that it found", async () => {
    expect(existsSync(join(path, "architecture.json"))).toBe(true);
    expect(existsSync(join(path, "pictures/pi.gif"))).toBe(true);
    const run = await Run.open(path, "pretrain", { checkpoint: "last" });
    expect(run.description.model.blocks).toBe(searching.found!.pattern);
    expect((await run.evaluate({ corpus: `${data}/text`, split: "valid" })).perplexity).toBeGreaterThan(1);
    expect((await run.fill("the [MASK]")).length).toBe(1);
    const files = await run.exported();
    expect(Object.keys(files)).toContain("model.onnx");
    expect(JSON.parse(new TextDecoder().decode(files["config.json"]!)).blocks).toBe(searching.found!.pattern);
    await expect(run.exported({ format: "huggingface" })).rejects.toThrow("export: expected a layer that runs again");
  });

  it("was killed half-way and resumed: the same network, weight by weight", async () => {
    const stopped = join(folder, "stopped");
    const controller = new AbortController();
    const session = pretrain({
      ...searched,
      corpus: `${data}/text`,
      tokenizer: `${data}/tokenizer.model`,
      engine,
      into: await Run.create(stopped),
      signal: controller.signal,
    });
    for await (const event of session) if (event.type === "step" && event.step === 11) controller.abort();
    const { result } = (await Run.open(stopped, "pretrain", { checkpoint: "last" })).resume({ engine });
    const again = await result;
    expect(again.found).toMatchObject({ pattern: searching.found!.pattern, cuts: searching.found!.cuts });
    const values = ({ parameters, weights }: PretrainResult) => parameters.map(({ tensor }) => weights.get(tensor));
    expect(values(again)).toEqual(values(searching));
  });

  it("gives the pattern that is pre-trained from scratch, and an encoder that is fine-tuned", async () => {
    const { pattern } = searching.found!;
    const trained = await pretrain({
      ...tiny,
      corpus: `${data}/text`,
      tokenizer: `${data}/tokenizer.model`,
      blocks: pattern,
      steps: 4,
      engine,
    }).result;
    expect([trained.found, trained.model.options.blocks]).toEqual([undefined, pattern]);
    const rows = ["a good day", "a bad day", "good", "bad"].map((text, i) => ({ text, label: i % 2 ? "bad" : "good" }));
    const task = classification({ labels: ["bad", "good"] });
    const tuned = await finetune(trained, { task, train: rows, dev: rows, epochs: 1, batch: 2, engine }).result;
    expect(tuned.description.model.blocks).toBe(pattern);
  });
});

describe("mistakes in the search of an encoder", () => {
  it.each<[string, Partial<PretrainingConfig>, string]>([
    ["a pattern", { ...searched, blocks: "sf" }, "expected blocks to choose, one phase, a number of updates"],
    ["a second phase", { ...searched, longLength: 32 }, "got long texts"],
    ["minutes", { ...searched, steps: null, minutes: 1 }, "got minutes"],
    ["halting", { ...searched, depthPolicy: "adaptive" }, "blocks: expected a fixed depth: blocks run once"],
    ["a number without a search", { ...tiny, blocks: 4 }, "blocks: expected a pattern such as (sff)x2, got 4"],
    ["a budget without a search", { ...tiny, budget: "0.5" }, "pretrain: expected budget with search, got no search"],
    [
      "latency of longer texts",
      { ...searched, budget: "0.5", latency: "1x99" },
      "latency: expected texts of at most 16",
    ],
    ["letters that no block has", { ...tiny, blocks: "szf" }, "pattern: expected letters"],
  ])("%s is refused", async (_, settings, message) => {
    await expect(openPretrain(pretrainSettingsOf(settings), { engine })).rejects.toThrow(message);
  });
});
