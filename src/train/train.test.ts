import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { ortEngine } from "../engine/ort.ts";
import { languageModel } from "../model/language/language.ts";
import type { StepEvent, TrainEvent } from "./events.ts";
import { type Metric, type TrainOptions, train } from "./train.ts";

const vocabulary = 11;
const source = (name: string) => {
  const random = new RandomStream(4, name);
  const tokens = Int32Array.from({ length: 7 * 2 * 6 }, () => random.integer(vocabulary));
  return {
    count: 7,
    rows: 2,
    length: 5,
    tokens: 10,
    at: (i: number) => ({
      ids: tokens.subarray(i * 12, i * 12 + 10),
      targets: tokens.subarray(i * 12 + 1, i * 12 + 11),
    }),
  };
};
const newModel = () => languageModel({ vocabulary, width: 8, heads: 2, plan: [0, 1, 0], length: 5, dropout: 0.2 });

async function eventsOf(options: Partial<TrainOptions> = {}): Promise<TrainEvent[]> {
  const events: TrainEvent[] = [];
  const engine = await ortEngine({ threads: 1 });
  const settings = {
    engine,
    data: { train: source("train") },
    steps: 20,
    rate: 0.01,
    warmup: 2,
    ...options,
  } as TrainOptions;
  for await (const event of train(newModel(), settings)) {
    events.push(event);
  }
  return events;
}

const losses = (events: readonly TrainEvent[]) =>
  events.filter((event): event is StepEvent => event.type === "step").map(({ loss }) => loss);

describe("train", () => {
  it("yields steps, evaluations, checkpoints and an end", async () => {
    const events = await eventsOf({
      data: { train: source("train"), valid: source("valid") },
      evaluateEvery: 10,
      checkpointEvery: 8,
    });
    const kinds = (type: string) => events.filter((event) => event.type === type).length;
    expect([kinds("step"), kinds("evaluation"), kinds("end")]).toEqual([20, 2, 1]);
    expect(events.filter((event) => event.type === "checkpoint").map(({ step }) => step)).toContain(8);
    expect(events.at(-1)).toMatchObject({ type: "end", step: 20, reason: "finished" });
  });

  it("goes on from any checkpoint to the same losses, dropout included", async () => {
    const whole = await eventsOf({ checkpointEvery: 7 });
    for (const event of whole) {
      if (event.type !== "checkpoint" || event.step === 20) continue;
      expect(losses(await eventsOf({ resume: event.state }))).toEqual(losses(whole).slice(event.step));
    }
  });

  it("makes groups from the roles of parameters", async () => {
    const events = await eventsOf({ steps: 2, groups: { optimiser: "muon", weightDecay: 0.1 } });
    const last = events.findLast((event) => event.type === "checkpoint")!;
    const moments = [...last.state.moments.keys()].filter((name) => name.startsWith("momentum "));
    const matrices = newModel().parameters.filter(({ role }) => role === "matrix");
    expect(moments).toEqual(matrices.map(({ name }) => `momentum ${name}`));
  });

  it("ends after the step in which the signal comes, with the state at that step", async () => {
    const controller = new AbortController();
    const seen: TrainEvent[] = [];
    const engine = await ortEngine({ threads: 1 });
    for await (const event of train(newModel(), {
      engine,
      data: { train: source("train") },
      steps: 50,
      signal: controller.signal,
    })) {
      seen.push(event);
      if (event.type === "step" && event.step === 4) controller.abort();
    }
    expect(seen.slice(-2).map(({ type, step }) => [type, step])).toEqual([
      ["checkpoint", 4],
      ["end", 4],
    ]);
    expect(seen.at(-1)).toMatchObject({ reason: "stopped" });
  });

  it("averages accumulated batches: two of the same are one", async () => {
    const one = source("train");
    const same = { ...one, count: 1, at: () => one.at(0) };
    const settings = { data: { train: same }, steps: 5 };
    const plain = languageModel({ vocabulary, width: 8, heads: 2, plan: [0], length: 5 });
    const run = async (accumulate: number) => {
      const events: TrainEvent[] = [];
      for await (const event of train(plain, { engine: await ortEngine({ threads: 1 }), ...settings, accumulate }))
        events.push(event);
      return losses(events);
    };
    const [single, double] = [await run(1), await run(2)];
    single.forEach((loss, i) => {
      expect(double[i]).toBeCloseTo(loss, 5);
    });
  });

  it("stops early when patience ends", async () => {
    const events = await eventsOf({
      data: { train: source("train"), valid: source("valid") },
      evaluateEvery: 1,
      patience: 2,
      rate: 0.3,
      steps: 100,
    });
    expect(events.at(-1)).toMatchObject({ type: "end", reason: "stopped early" });
  });
});

describe("the result of training", () => {
  const settings = async (more: object = {}) => ({
    engine: await ortEngine({ threads: 1 }),
    data: { train: source("train"), valid: source("valid") },
    steps: 12,
    rate: 0.05,
    warmup: 2,
    evaluateEvery: 4,
    ...more,
  });

  it("holds copies: the best weights stay what they were while training goes on", async () => {
    const session = train(newModel(), await settings({ steps: 40, rate: 0.2 }));
    let kept: Float32Array | undefined;
    let bits = "";
    for await (const event of session) {
      if (event.type !== "checkpoint" || !event.best || kept) continue;
      kept = event.state.weights.get("embedding.weight")!.data;
      bits = kept.join(" ");
    }
    expect(kept!.join(" ")).toBe(bits);
    const { best, weights } = await session.result;
    expect(best!.step).toBeLessThanOrEqual(40);
    expect([...weights.values()].every((data) => data.every(Number.isFinite))).toBe(true);
  });

  it("says that it was stopped when the loop is left", async () => {
    const session = train(newModel(), await settings());
    for await (const event of session) if (event.type === "step" && event.step === 5) break;
    const { reason, steps } = await session.result;
    expect([reason, steps]).toEqual(["stopped", 5]);
  });

  it("takes metrics of the objective's outputs, and the one that decides", async () => {
    const model = newModel();
    const withLogits = {
      parameters: model.parameters,
      objective: (size: { batch: number; length: number; training: boolean }) => {
        const objective = model.objective(size);
        return { ...objective, outputs: { logits: model.logits(objective.inputs.ids!) } };
      },
    };
    const spread: Metric = ({ logits }) => Math.max(...logits!.data) - Math.min(...logits!.data);
    const { evaluation, best } = await train(withLogits, await settings({ metrics: { spread }, decisive: "spread" }))
      .result;
    expect(evaluation!.scalars!.spread).toBeGreaterThan(0);
    expect(best!.step).toBe(12); // scores spread as weights grow
  });

  it("refuses two lengths, none, and a decisive figure that nobody measures", async () => {
    const [two, none] = [await settings({ epochs: 1 }), await settings({ steps: undefined })];
    expect(() => train(newModel(), two)).toThrow("got steps 12 and epochs 1");
    expect(() => train(newModel(), none)).toThrow("got none");
    await expect(train(newModel(), await settings({ decisive: "accuracy" })).result).rejects.toThrow(
      "train / decisive: expected one of the metrics",
    );
  });
});
