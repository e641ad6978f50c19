import { describe, expect, it } from "vitest";
import { RandomStream } from "../base/random.ts";
import { ortEngine } from "../engine/ort.ts";
import { languageModel } from "../model/language/language.ts";
import type { StepEvent, TrainEvent, TrainState } from "./events.ts";
import { type TrainModelOptions, trainModel } from "./train-model.ts";

const vocabulary = 11;
const source = (name: string) => {
  const random = new RandomStream(4, name);
  const tokens = Int32Array.from({ length: 7 * 2 * 6 }, () => random.integer(vocabulary));
  return {
    count: 7,
    rows: 2,
    length: 5,
    at: (i: number) => ({
      inputs: tokens.subarray(i * 12, i * 12 + 10),
      targets: tokens.subarray(i * 12 + 1, i * 12 + 11),
    }),
  };
};
const newModel = () => languageModel({ vocabulary, width: 8, heads: 2, plan: [0, 1, 0], length: 5, dropout: 0.2 });

async function eventsOf(options: Partial<TrainModelOptions> = {}): Promise<TrainEvent[]> {
  const events: TrainEvent[] = [];
  const engine = await ortEngine({ threads: 1 });
  const settings = {
    engine,
    batches: source("train"),
    steps: 20,
    rate: 0.01,
    warmup: 2,
    ...options,
  } as TrainModelOptions;
  for await (const event of trainModel(newModel(), settings)) {
    events.push(event.type === "checkpoint" ? { ...event, state: copied(event.state) } : event);
  }
  return events;
}

function copied({ progress, weights, moments }: TrainState): TrainState {
  const copy = (map: TrainState["weights"]) =>
    new Map([...map].map(([name, each]) => [name, { ...each, data: each.data.slice() }]));
  return { progress: structuredClone(progress), weights: copy(weights), moments: copy(moments) };
}

const losses = (events: readonly TrainEvent[]) =>
  events.filter((event): event is StepEvent => event.type === "step").map(({ loss }) => loss);

describe("trainModel", () => {
  it("yields steps, evaluations, checkpoints and an end", async () => {
    const events = await eventsOf({ valid: source("valid"), evaluateEvery: 10, checkpointEvery: 8 });
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

  it("ends after the step in which the signal comes, with the state at that step", async () => {
    const controller = new AbortController();
    const seen: TrainEvent[] = [];
    const engine = await ortEngine({ threads: 1 });
    for await (const event of trainModel(newModel(), {
      engine,
      batches: source("train"),
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
    expect(seen.at(-1)).toMatchObject({ reason: "aborted" });
  });

  it("averages accumulated batches: two of the same are one", async () => {
    const one = source("train");
    const same = { ...one, count: 1, at: () => one.at(0) };
    const settings = { batches: same, steps: 5 };
    const plain = languageModel({ vocabulary, width: 8, heads: 2, plan: [0], length: 5 });
    const run = async (accumulate: number) => {
      const events: TrainEvent[] = [];
      for await (const event of trainModel(plain, { engine: await ortEngine({ threads: 1 }), ...settings, accumulate }))
        events.push(event);
      return losses(events);
    };
    const [single, double] = [await run(1), await run(2)];
    single.forEach((loss, i) => {
      expect(double[i]).toBeCloseTo(loss, 5);
    });
  });

  it("stops early when patience ends", async () => {
    const events = await eventsOf({ valid: source("valid"), evaluateEvery: 1, patience: 2, rate: 0.3, steps: 100 });
    expect(events.at(-1)).toMatchObject({ type: "end", reason: "stopped early" });
  });
});
